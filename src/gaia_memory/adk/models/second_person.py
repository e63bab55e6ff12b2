"""Turns an English statement of a person, or a fact about "User", into the second person: "I live" → "You live"."""

from __future__ import annotations

import re

from gaia_memory.adk.models.statement_subjects import Referent, find_referent

_WORDS = {
    **{"i": "you", "me": "you", "we": "you", "us": "you", "my": "your", "our": "your", "mine": "yours"},
    **{"ours": "yours", "myself": "yourself", "ourselves": "yourselves"},
    **{"i'm": "you are", "im": "you are", "we're": "you are", "i've": "you have", "we've": "you have"},
    **{"i'll": "you will", "we'll": "you will", "i'd": "you would", "we'd": "you would"},
}
_FACT_WORDS = {"their": "your", "theirs": "yours", "themselves": "yourself", "them": "you", "they": "you"}
_SECOND_PERSON_FORMS = {
    **{"is": "are", "isn't": "aren't", "was": "were", "wasn't": "weren't", "has": "have", "hasn't": "haven't"},
    **{"does": "do", "doesn't": "don't", "goes": "go", "am": "are"},
}
_LATER_VERBS_TEXT = """
is has does doesn't was goes likes loves hates works lives wants needs prefers plays eats drinks speaks studies owns
enjoys plans drives knows uses
"""
_LATER_VERBS = frozenset(_LATER_VERBS_TEXT.split())
"""Verbs that, after "and" or "but", have the person as their subject too."""

_NON_VERBS = frozenset(("always", "sometimes", "nowadays", "as", "perhaps", "others", "this", "besides", "afterwards"))
_ADVERB = r"(?:(?:no longer|not|never|always|really|also|just|usually|often|still|currently|recently|now|only|mostly|\
hardly ever|hardly|rarely|sometimes|already|mainly|\w+ly) )*"
_SUBJECT_VERB = re.compile(rf"\bUser (?P<adverbs>{_ADVERB})(?P<verb>[A-Za-z]+(?:'t)?)\b")
_CLAUSE_START = re.compile(
    r"(?:\A|[,;(:]|\b(?:and|but|or|so|that|who|which|what|where|when|while|how|why|if|as|than|then|since|until|after|before|"
    r"because|although|though|once|unless|now|sometimes))\s*\Z"
)
"""What stands before a subject: in "Wine gives User headaches" no verb follows."""

_LATER_VERB = re.compile(r"(?P<before>\b(?:and|but|or) (?:also |then )?)(?P<verb>[a-z]+(?:'t)?)\b")
_FIRST_PERSON_BE = re.compile(rf"\b(?P<subject>I) (?P<adverbs>{_ADVERB})(?P<verb>am|was)\b")
_POSSESSIVE = re.compile(r"\bUser's\b")
_USER_AND_OTHERS = re.compile(r"\bUser and others(?P<contraction>'(?:ve|re|ll|d))?(?!\w)")
_CONTRACTIONS = {"'ve": " have", "'re": " are", "'ll": " will", "'d": " would"}
_RELATIVE_CLAUSE = re.compile(r"\b(?:who|whose|whom|which)\b")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_LEAD_IN = re.compile(
    r"\A(?:(?:and|but|so|also|actually|btw|by the way|fyi|hi|hey|hello|please|scratch that)[,:!\s–—-]+|"  # noqa: RUF001
    r"(?:oh|well|yes|yeah|no|ok|okay|wait|sorry|anyway|honestly|to be honest|remember|note)(?: that\s|[,:!–—-]+\s*))+"  # noqa: RUF001
    r"(?=\w)",
    re.IGNORECASE,
)
_ABOUT_THE_PERSON = re.compile(r"\b(?:I|I'm|my|me|mine|we|our|us|User)\b|\bUser's|\bi'?m\b|\bi\b", re.IGNORECASE)
_ABOUT_THE_MODEL = re.compile(r"\b(?:you|your|yours|yourself|you're|u)\b", re.IGNORECASE)


def to_second_person(statement: str) -> str | None:
    """Return an English statement as a sentence to the person; None where turning it around is not reliable.

    That is a statement about nobody, one that speaks of the model, whose "you" would change sides, or one whose "they"
    may be the person or others.
    """
    text = _LEAD_IN.sub("", statement.replace("’", "'").strip(), count=1)  # noqa: RUF001
    if not text or _ABOUT_THE_MODEL.search(text) or not _ABOUT_THE_PERSON.search(text):
        return None
    if re.search(r"\bUser\b", text):
        text = _USER_AND_OTHERS.sub(lambda found: f"you{_CONTRACTIONS.get(found['contraction'], '')}", text)
        referent = find_referent(text)
        if referent is Referent.UNKNOWN:
            return None
        text = _turn_fact(text, pronouns_are_user=referent is Referent.USER)
    text = _FIRST_PERSON_BE.sub(
        lambda found: f"I {found['adverbs']}{_SECOND_PERSON_FORMS.get(found['verb'], 'were')}", text
    )
    text = _WORD.sub(_turn_word, text)
    text = text[:1].upper() + text[1:].rstrip()
    return text if text.endswith((".", "!", "…", ")")) else f"{text}."


def _turn_fact(text: str, *, pronouns_are_user: bool) -> str:
    text = _POSSESSIVE.sub(lambda found: "Your" if found.start() == 0 else "your", text)
    begins_with_user = text.startswith("User ")
    text = _SUBJECT_VERB.sub(_turn_subject_verb, text)
    text = re.sub(r"\bUser\b", "you", text)
    if begins_with_user and not _RELATIVE_CLAUSE.search(text):
        text = _LATER_VERB.sub(_turn_later_verb, text)
    return _WORD.sub(lambda found: _FACT_WORDS.get(found[0], found[0]), text) if pronouns_are_user else text


def _turn_subject_verb(found: re.Match[str]) -> str:
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.grammar import english_verbs

    is_subject = _CLAUSE_START.search(found.string[: found.start()]) or english_verbs.is_verb(found["verb"])
    return f"you {found['adverbs']}{_base_form(found['verb'])}" if is_subject else found[0]


def _turn_later_verb(found: re.Match[str]) -> str:
    return f"{found['before']}{_base_form(found['verb'])}" if found["verb"] in _LATER_VERBS else found[0]


def _turn_word(found: re.Match[str]) -> str:
    return _WORDS.get(found[0].lower(), found[0])


def _base_form(verb: str) -> str:
    """Return the form of a verb after "you": lives → live, studies → study, watches → watch."""
    if verb in _SECOND_PERSON_FORMS:
        return _SECOND_PERSON_FORMS[verb]
    if verb in _NON_VERBS or not verb.endswith("s") or verb.endswith(("ss", "us")):
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1]
