"""Tells whom a statement or a question is about: the person who speaks, or somebody else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from gaia_memory.adk.models.offline.offline_phrases import detect_language
from gaia_memory.adk.models.offline.topic_words import ALL_FUNCTION_WORDS, has_word, is_same_word
from gaia_memory.language.tokenizer import index_tokens

_SPANISH_VERBS = "vivo|trabajo|tengo|soy|estoy|nací|hablo|estudio|bebo|como|voy|vengo|conduzco|hago"
"""Forms whose subject is "I", which Spanish leaves out."""

_ADDRESS = re.compile(
    r"\b(?:(?:tell|remind|show|give) me|sag mir|erinnere mich|dis-moi|rappelle-moi|dime|recuérdame)\b", re.IGNORECASE
)
_I = re.compile(
    rf"\b(?:I|I'm|me|we|us|myself|im|ich|mich|mir|wir|uns|je|moi|nous|yo|mí|nos|{_SPANISH_VERBS})\b|\b[jm]'(?=\w)",
    re.IGNORECASE,
)
_USER = re.compile(
    r"\bUser\b(?!')|\b(?:[Dd]er|[Dd]en|[Dd]em|[Dd]ie) (?:Benutzer|Nutzer)(?:in)?\b|"
    r"(?<!de )\b[Ll]['\u2019]utilisat(?:eur|rice)\b|\b(?:[AaEe]l|[Ll]a) usuari[oa]\b"
)
_MY = r"(?:User's|[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Mm]es|[Nn]otre|[Nn]os|[Mm]is?|[Nn]uestr[oa]s?)"
_OF_THE_USER = re.compile(
    rf"{_MY} (?P<own>(?:(?:best|eld(?:er|est)|young\w*|twin|old\w*|little|big|new|favou?rite) )?\w+\b(?!-)"
    r"(?: [A-ZÀ-Þ]\w+| [a-z]+(?= (?:is|are|was|were|starts)\b))?)|"
    r"(?:(?P<name>[^\W\d_]+), )?(?i:der|die|das|les?|la|el|las|los|l['\u2019]) ?(?P<noun>[\w -]+?) "
    r"(?:des Nutzers|der Nutzerin|de l['\u2019]utilisat(?:eur|rice)|del usuario|de la usuaria)\b"
)
"""Somebody or something of the user, which begins a statement."""

_OWNER = re.compile(
    r"(?:(?:User's|[Mm]y|[Oo]ur) )?(?!User\b)(?P<owner>[\w-]+(?: [A-ZÀ-Þ]\w+)?)'s (?!(?:an?|the|not|got|been)\b)\w|"
    r"(?:User's|[Mm]y|[Oo]ur) (?P<in_law>\w+-in-law)\b|"
    r"(?:[Ll][aeo]s?|[Ll]'|[Ee]l) ?\w+ (?:de|du|d') ?(?P<romance_owner>[A-ZÀ-Þ]\w+)|"
    r"(?P<german_owner>[A-ZÄÖÜ][a-zäöüß]+)s (?=[A-ZÄÖÜ]\w+ (?:ist|war|hat|wird|wohnt|lebt|heißt|arbeitet|kommt|mag)\b)|"
    r"(?!User\b)(?P<holder>[A-ZÀ-Þ][a-zß-ÿ]+)(?: has|'s got) (?:an?|got)\b"
)

_NAMED_SUBJECT = re.compile(
    r"(?:(?i:the|an?|der|die|das|les?|las?|el|mrs?|ms|dr|prof|herr|frau|mme?|sra?)\.? )?"
    r"(?:[\w-]+ (?=(?:[a-z-]+ ){1,2}(?:is|are|was|were|has|have)\b)){0,2}(?P<name>\w+(?:'s \w+| [A-ZÀ-Þ]\w+)*)"
)
"""Of "coffee machine service is", the service."""

_NAME_INSIDE = re.compile(
    r"(?<=\w )(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfrom )(?<!\ben )(?<!\bà )(?<!\ba )(?<!\bde )(?!I\b)[A-ZÀ-Þ][\w-]+"
)
"""A name that is not that of a place, which may be another one by now."""

_CALLED_NAME = re.compile(r"\b(?:called|named|name is|heißt|s'appelle|se llama) (?P<name>[A-ZÀ-Þ]\w+)")


def asks_about_self(question: str) -> bool:
    """Return whether a question is about the one who asks: "Where do I live?", but not "Who is my boss?"."""
    return _I.search(_ADDRESS.sub("", question)) is not None


def asks_for_own(question: str) -> bool:
    """Return whether a question is about the one who asks, or about somebody or something of theirs: "my mum"."""
    return asks_about_self(question) or re.search(rf"\b{_MY}\b", question) is not None


def is_about_user(statement: str) -> bool:
    """Return whether a statement is about the user, by that name, as "I", or with a verb alone: "Lives in Rome"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.grammar import english_verbs

    if _OF_THE_USER.match(statement):
        return False
    first = statement.partition(" ")[0]
    return bool(_USER.search(statement) or _I.search(statement)) or english_verbs.is_verb(first.casefold())


def subject_words(statement: str) -> list[str]:
    """Return the words for whom or what a statement is about, such as "dog" and "rex"; none for the user."""
    if is_about_user(statement):
        return []
    found = (_OF_THE_USER.match(statement) or _NAMED_SUBJECT.match(statement), _CALLED_NAME.search(statement))
    return index_tokens(" ".join(name for each in found if each for name in each.groups() if name))


def is_about_another(asked: Sequence[str], statement: str) -> bool:
    """Return whether a statement is about somebody or something that a question with these words does not name."""
    subject = subject_words(statement)
    return bool(subject) and not any(is_same_word(word, noun) for word in asked for noun in subject)


def has_other_owner(asked: Sequence[str], statement: str) -> bool:
    """Return whether a statement begins with what is owned by one whom a question with these words does not name."""
    return not all(has_word(asked, noun) for noun in owner_words(statement))


def owner_words(statement: str) -> list[str]:
    """Return the words for the owner, other than the user, of what a statement is about; none without one."""
    found = _OWNER.match(statement)
    owner = " ".join(filter(None, found.groups())) if found else ""
    # "Carol's birthday" is that of "User's wife Carol".
    name = " ".join(word for word in owner.split() if word[0].isupper())
    return [noun for noun in index_tokens(name or owner) if noun not in ALL_FUNCTION_WORDS]


@lru_cache(maxsize=100)
def named_in(question: str) -> tuple[str, ...]:
    """Return the names in a question; none in German, where every noun has a capital letter."""
    if detect_language(question) == "de":
        return ()
    return tuple(word for name in _NAME_INSIDE.findall(question) for word in index_tokens(name))


def names_of(word: str, statement: str) -> list[str]:
    """Return what a statement calls the one whom a word stands for: "anna" for "sister" in "User's sister Anna …"."""
    found = _OF_THE_USER.match(statement)
    if not found or not any(is_same_word(word, each) for each in index_tokens(found["own"] or found["noun"])):
        return []
    called = _CALLED_NAME.search(statement)
    own = (found["own"] or "").split()[1:]
    return index_tokens(" ".join(filter(None, [*own, found["name"], called["name"] if called else ""])))


def lacks_name(question: str, words: Collection[str], names: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a question names somebody, and none of the words is that name, or one of `names` for it."""
    asked = named_in(question)
    return bool(asked) and not any(
        has_word(words, name) or any(each in words for each in names.get(name, ())) for name in asked
    )
