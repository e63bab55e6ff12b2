"""Turns a statement of a person, or a fact about "User", into the second person: "I live" → "You live"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gaia_memory.adk.models.offline.pronouns import Referent, find_referent
from gaia_memory.language.function_words import Language

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
_ADVERB = (
    r"(?:(?:no longer|not|never|always|really|also|just|usually|often|still|currently|recently|now|"
    r"quite|rather|even|both|once|only|mostly|"
    r"hardly ever|hardly|rarely|sometimes|already|mainly|\w+ly) )*"
)
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
_TOLD_USER = re.compile(r"[Nn]utzer|utilisat|usuari")
_RELATIVE_CLAUSE = re.compile(r"\b(?:who|whose|whom|which)\b")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_ABOUT_THE_PERSON = re.compile(r"\b(?:I|I'm|my|me|mine|we|our|us|User)\b|\bUser's|\bi'?m\b|\bi\b", re.IGNORECASE)
_ABOUT_THE_MODEL = re.compile(r"\b(?:you|your|yours|yourself|you're|u)\b", re.IGNORECASE)


class _Forms(NamedTuple):
    """How a language turns its facts around."""

    subject: str
    """The user as the subject, with `verb` after it, or before it (`inverted`); `between` stands before the verb."""

    you: str
    irregular: Mapping[str, str]
    endings: Sequence[tuple[str, str]]
    """The endings of verbs in the third person and in the second; the first that fits."""

    owned: Sequence[tuple[str, str]]
    others: str
    """What may stand for the user or for somebody else."""

    pronouns: Mapping[str, str]


_FORMS: Mapping[Language, _Forms] = {
    "de": _Forms(
        subject=r"\ADer Nutzer (?P<verb>(?!und\b)\w+)|\b(?P<inverted>(?!und\b|dass\b)[a-zäöüß]+) der Nutzer\b",
        you="du",
        irregular={
            **{"ist": "bist", "hat": "hast", "wird": "wirst", "weiß": "weißt", "hält": "hältst", "hielt": "hieltst"},
            **{"muss": "musst", "rät": "rätst", "tritt": "trittst", "fand": "fandest", "stand": "standest"},
        },
        endings=[(r"te", "test"), (r"([sßxz])t", r"\1t"), (r"t", "st"), (r"([sß])", r"\1t"), (r"(\w)", r"\1st")],
        owned=[
            (r"\b[Dd]ie ([\w -]+?) des Nutzers\b", r"deine \1"),
            (r"\b(?:[Dd]er|[Dd]as) ([\w-]+?) des Nutzers\b", r"dein \1"),
        ],
        others=r"\b(?:er|sich|ihn|ihm|sein\w*|weil|dass|wenn|ob|obwohl)\b|\b(?:und|aber) [a-zäöüß]+t\b|„",
        pronouns={},
    ),
    "fr": _Forms(
        subject=r"\AL'utilisateur (?P<between>(?:ne |n'|se |s'|y |en )*)(?P<verb>(?!et\b)\w+)",
        you="tu",
        irregular={"est": "es", "a": "as", "va": "vas", "veut": "veux", "peut": "peux", "vainc": "vaincs"},
        endings=[(r"(e|ra|d)", r"\1s"), (r"t", "s")],
        owned=[
            (r"\b[Ll](?:e |')([\w -]+?) de l'utilisateur\b", r"ton \1"),
            (r"\b[Ll]a ([\w -]+?) de l'utilisateur\b", r"ta \1"),
            (r"\b[Ll]es ([\w -]+?) de l'utilisateur\b", r"tes \1"),
        ],
        others=r"\b(?:il|lui|son|sa|ses|leurs?)\b|\b(?:et|mais|qu[ei]|quand) (?:[a-zé]+[et]|a)\b|«",
        pronouns={"se ": "te ", "s'": "t'"},
    ),
    "es": _Forms(
        subject=r"\AEl usuario "
        r"(?P<between>(?:(?:no|ya|ahora|nunca|casi|siempre|también|todavía|aún|solo|se|l[eoa]s?) )*)"
        r"(?P<verb>(?!y\b|\w+mente\b)\w+)",
        you="",
        irregular={
            **{
                "es": "eres",
                "fue": "fuiste",
                "tuvo": "tuviste",
                "hizo": "hiciste",
                "vino": "viniste",
                "dijo": "dijiste",
            },
            **{
                "puso": "pusiste",
                "estuvo": "estuviste",
                "pudo": "pudiste",
                "quiso": "quisiste",
                "vio": "viste",
                "dio": "diste",
            },
        },
        endings=[
            (r"(cambi|divorci|estudi|limpi|renunci|envi|inici)ó", r"\1aste"),
            (r"ió", "iste"),
            (r"ó", "aste"),
            (r"([aeáé])", r"\1s"),
        ],
        owned=[
            (r"\AAl usuario ((?:no )?)le ", r"\1te "),
            (r"\b(?:[Ee]l|[Ll]a) ([\w -]+?) del usuario\b", r"tu \1"),
            (r"\b[Ll][ao]s ([\w -]+?) del usuario\b", r"tus \1"),
        ],
        others=r"\b(?:él|su|sus|consigo|les?|que l[oa]s?)\b|\b(?:y|pero|que|cuando|porque) (?:[a-z]+[ae]|es|no)\b|«",
        pronouns={"se ": "te "},
    ),
}


def to_second_person(statement: str, language: Language = "en") -> str | None:
    """Return a statement as a sentence to the person; None where turning it around is not reliable.

    That is a statement about nobody, one that speaks of the model, whose "you" would change sides, or one whose "they"
    may be the person or others.
    """
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.conversation_reader import GRAMMARS

    text = statement.replace("’", "'").strip()  # noqa: RUF001
    text = text[lead.end() :] if (lead := GRAMMARS[language].patterns["lead_in"].match(text)) else text
    if language != "en":
        # In a fact, the grammar would take a name for a verb: "Lucía" is one in "El usuario lucía".
        told = text if _TOLD_USER.search(text) else GRAMMARS[language].to_third_person(text)
        return _turn_told(told or "", _FORMS[language])
    if any(GRAMMARS["en"].patterns[each].match(text) for each in ("call_me", "refusal")):
        # With "you" in the place of "me", a request would be another one: "Call you Liz."
        text = GRAMMARS["en"].to_third_person(text) or ""
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
    return _as_sentence(text)


def _as_sentence(text: str) -> str:
    text = text[:1].upper() + text[1:].strip()
    return text if text.endswith((".", "!", "…", ")")) else f"{text}."


def _turn_told(told: str, forms: _Forms) -> str | None:
    """Return a German, French or Spanish fact in the second person."""
    text = told
    for pattern, owned in forms.owned:
        text = re.sub(pattern, owned, text)
    if found := re.search(forms.subject, text):
        groups = {name: group or "" for name, group in found.groupdict().items()}
        between, inverted = groups.get("between", ""), groups.get("inverted", "")
        for third, second in forms.pronouns.items():
            between = between.replace(third, second)
        verb = _second_person_verb(inverted or groups["verb"], forms)
        turned = f"{verb} {forms.you}" if inverted else f"{forms.you} {between}{verb}".strip()
        text = f"{text[: found.start()]}{turned}{text[found.end() :]}"
    is_left = text == told or _TOLD_USER.search(text) or re.search(forms.others, text)
    return None if is_left else _as_sentence(text)


def _second_person_verb(verb: str, forms: _Forms) -> str:
    if verb in forms.irregular:
        return forms.irregular[verb]
    return next(
        (re.sub(rf"{ending}\Z", second, verb) for ending, second in forms.endings if re.search(rf"{ending}\Z", verb)),
        verb,
    )


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

    before = found.string[: found.start()]
    # In "The lad who helps User is Ryan" it is the lad who is.
    is_object = english_verbs.is_verb(before.split()[-1]) if before.strip() else False
    is_subject = _CLAUSE_START.search(before) or (english_verbs.is_verb(found["verb"]) and not is_object)
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
