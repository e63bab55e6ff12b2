"""Puts English sentences from the first person into the third."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_ENGLISH_TEXT = """
i i'm i've i'd i'll my we we're we've our the is are was were have has had and with of to from for not don't
doesn't didn't can't live lives love loves like likes work works hate hates prefer named called am call me
"""
_ENGLISH = frozenset(_ENGLISH_TEXT.split())
_OTHER_LANGUAGES_TEXT = """
der die das und ist ich bin mein meine nicht ein eine habe el la los las es soy mi mis que un una tengo vivo le
les je suis mon ma et il une une j'ai j'habite eu sou meu minha io sono mio mia ho abito het een ik ben mijn en
jag är min och nie jestem mam ve ben bir
"""
_OTHER_LANGUAGES = frozenset(_OTHER_LANGUAGES_TEXT.split())

_LEAD_IN = re.compile(
    r"(?:(?:and|but|so|also|oh|well|actually|anyway|btw|by the way|fyi|yes|yeah|no|ok|okay|hi|hey|hello|sure|thanks|"
    r"just so you know|for the record|to be honest|honestly|you know|note|please note|remember|please remember|"
    r"don't forget|keep in mind|i should mention|i forgot to mention|i wanted to tell you|did i mention)"
    r"(?:\s+(?:that|there|gaia))?[,:!\s–—-]+)+",  # noqa: RUF001
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"i(?:'d| would)? (?:want|need|like|love) (?:you|to know|to ask|to see)\b|i(?: was|'m| am)? (?:wonder\w*|asking)\b|"
    r"i need (?:\w+ )?(?:help|advice|ideas)\b|i have (?:a|another|one|some) (?:\w+ )?questions?\b|"
    r"you (?:can|could|should|must|are|were|have|did|said|know)\b",
    re.IGNORECASE,
)
_EMPTY_STATEMENT = re.compile(
    r"(?:i|i'm|i am|we) (?:(?:really|also|just|totally) )?(?:think so|hope so|guess(?: so)?|see|know|understand|agree|"
    r"mean|mean it|got it|fine|good|great|ok|okay|well|sure|not sure|sorry|back|here|don't know|don't think so|"
    r"don't care|do|don't|did|will|can|am|love it|like it|appreciate it)"
    r"(?: (?:too|then|now|what you mean|that))?[.!\s]*\Z|"
    r"(?:it|that|this|there|these|those|they|here)(?:'s|'re| | is )",
    re.IGNORECASE,
)
_CALL_ME = re.compile(r"(?:you can |please |just )?call me (?P<name>[^,.;!]+)", re.IGNORECASE)

_ADVERB = (
    r"(?:(?:never|always|really|also|just|usually|often|still|currently|recently|now|only|mostly|absolutely|totally|"
    r"actually|definitely|sometimes|rarely|hardly|both|already|generally|normally|kind of|sort of|mainly|strongly|"
    r"truly|simply|finally|secretly|occasionally|then|once|even)\s+)*"
)
_FIRST_PERSON_VERB = re.compile(
    rf"\bI (?P<adverbs>(?i:{_ADVERB}))(?P<verb>[a-z]+(?:'t)?|[A-Z]{{2,}}(?:'T)?)\b(?P<rest> not\b)?"
)
_UNCHANGED_VERBS_TEXT = """
can can't cannot could couldn't will won't would wouldn't should shouldn't must mustn't may might did didn't was
wasn't had hadn't used ought shall is has does went came got made took said told saw ate drank bought brought
built caught chose drove fell felt flew forgot found gave grew heard held kept knew learnt left lent lost met
paid ran rode rose sang sat sent sold slept spent spoke stood swam taught thought threw understood won wore
wrote began became broke did drew woke dreamt burnt spelt hurt quit lay meant led fed fought froze hid hung
"""
_UNCHANGED_VERBS_SET = frozenset(_UNCHANGED_VERBS_TEXT.split())
_IRREGULAR_FORMS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "go": "goes",
    "haven't": "hasn't",
    "don't": "doesn't",
    "were": "was",
    "weren't": "wasn't",
}
_PRESENT_ED_VERBS_TEXT = "need feed breed bleed speed exceed succeed proceed embed shed wed"
_PRESENT_ED_VERBS = frozenset(_PRESENT_ED_VERBS_TEXT.split())

_BASE_FORM_EXCEPTIONS = frozenset(
    ("fly", "rely", "apply", "reply", "supply", "multiply", "bring", "sing", "ring", "swing")
)
_NON_VERBS = frozenset(("and", "or", "with", "in", "at", "on", "who", "but", "as", "for"))

_CONTRACTIONS = (
    (re.compile(r"\bI'm\b|\bIm\b|\bI'M\b"), "I am"),
    (re.compile(r"\bI've\b|\bIve\b|\bI'VE\b"), "I have"),
    (re.compile(r"\bI'(?:ll|LL)\b"), "I will"),
    (re.compile(r"\bI'[dD] (?=(?:better|been)\b)", re.IGNORECASE), "I had "),
    (re.compile(r"\bI'[dD]\b"), "I would"),
    (re.compile(r"\bwe're\b", re.IGNORECASE), "we are"),
    (re.compile(r"\bwe've\b", re.IGNORECASE), "we have"),
    (re.compile(r"\bwe'll\b", re.IGNORECASE), "we will"),
    (re.compile(r"\bwe'd\b", re.IGNORECASE), "we would"),
)
_POSSESSIVE = re.compile(r"\b(?:[Mm]y|MY|[Oo]ur|OUR)\b")
_APOSTROPHE = re.compile(r"(?<=\w)[\u02bc\u00b4`\u2032\uff07](?=\w)")
_PRONOUNS = (
    (re.compile(r"\b[Mm]ine\b"), "User's"),
    (re.compile(r"\b[Mm]e and (?=\w)"), "User and "),
    (re.compile(r"\b[Mm]yself\b"), "themselves"),
    (re.compile(r"\b[Mm]e\b"), "User"),
    (re.compile(r"\b[Ww]e\b"), "User and others"),
    (re.compile(r"\bus\b"), "User and others"),
    (re.compile(r"\b[Oo]urs\b"), "User's"),
    (re.compile(r"\b[Oo]urselves\b"), "themselves"),
    (re.compile(r"\bI\b"), "User"),
)


def is_english(sentence: str) -> bool:
    """Return whether a sentence is English, judged by frequent words."""
    normalized = _normalize_apostrophes(sentence)
    words = _WORD.findall(normalized.lower())
    score = sum(word in _ENGLISH for word in words) - sum(word in _OTHER_LANGUAGES for word in words)
    return score >= 0 if normalized.isascii() else score > 0


def to_third_person(sentence: str) -> str | None:
    """Return an English statement in the third person; None when it states nothing."""
    text = strip_lead_in(sentence)
    text = re.sub(r"\bi(?='|\b)", "I", text.strip())
    name_match = _CALL_ME.match(text)
    if name_match:
        return f"User wants to be called {name_match['name'].strip()}"
    if not text or _REQUEST.match(text) or _EMPTY_STATEMENT.match(text):
        return None
    for pattern, expansion in _CONTRACTIONS:
        text = pattern.sub(expansion, text)
    text = _FIRST_PERSON_VERB.sub(_third_person_verb, text)
    text = _POSSESSIVE.sub(_third_person_possessive, text)
    for pattern, replacement in _PRONOUNS:
        text = pattern.sub(replacement, text)
    return text[:1].upper() + text[1:].rstrip()


def strip_lead_in(sentence: str) -> str:
    """Return a sentence without its lead-in, such as "by the way" or "please remember that"."""
    normalized = _normalize_apostrophes(sentence)
    lead = _LEAD_IN.match(normalized)
    rest = normalized[lead.end() :] if lead else normalized
    # "remember to buy milk" is a command, not a lead-in with a statement.
    return normalized if rest.lower().startswith("to ") else rest


def _normalize_apostrophes(sentence: str) -> str:
    return " ".join(_APOSTROPHE.sub("'", sentence).replace("’", "'").replace("‘", "'").split())  # noqa: RUF001


def _third_person_possessive(found: re.Match[str]) -> str:
    """Return "User's" the first time, and "their" after that."""
    return "their" if "User" in found.string[: found.start()] else "User's"


def _third_person_verb(found: re.Match[str]) -> str:
    before = found.string[: found.start()]
    if before.endswith(("and ", "or ", "but ")):
        if re.search(r"\bI\b", before):
            # "I cook and I sing" has one subject, which is named once.
            return f"{found['adverbs']}{_conjugate(found['verb'])}{found['rest'] or ''}"
        if found["verb"].lower() != "am":
            # "Noa and I live here" has a plural subject, so the verb stays; "am" is singular.
            return f"User {found['adverbs']}{found['verb']}{found['rest'] or ''}"
    return f"User {found['adverbs']}{_conjugate(found['verb'])}{found['rest'] or ''}"


def _conjugate(verb: str) -> str:
    verb = verb.lower()
    if verb in _IRREGULAR_FORMS:
        return _IRREGULAR_FORMS[verb]
    if verb in _UNCHANGED_VERBS_SET or (verb.endswith("ed") and verb not in _PRESENT_ED_VERBS):
        return verb
    if verb in _NON_VERBS or (verb.endswith(("'t", "ing", "ly")) and verb not in _BASE_FORM_EXCEPTIONS):
        return verb
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb}s"
