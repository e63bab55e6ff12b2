"""Tells whom a statement is about, and whether "they" in a fact is the user or somebody else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from gaia_memory.adk.models.offline.topic_words import ALL_FUNCTION_WORDS, implied_words, is_same_name, is_same_word
from gaia_memory.language.tokenizer import index_tokens

_ADDRESS = re.compile(
    r"\b(?:(?:tell|remind|show|give) me|sag mir|erinnere mich|dis-moi|rappelle-moi|dime|recuérdame)\b", re.IGNORECASE
)
_SPANISH_VERBS = "vivo|trabajo|tengo|soy|estoy|nací|hablo|estudio|bebo|voy|vengo|conduzco"
"""Forms whose subject is "I", which Spanish leaves out."""

_I = re.compile(
    rf"\b(?:I|me|we|us|myself|im|ich|mich|mir|wir|uns|je|moi|nous|yo|mí|nos|{_SPANISH_VERBS})\b|\b[jm]'(?=\w)",
    re.IGNORECASE,
)
_MY = re.compile(
    r"\b(?:my|mine|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)\b", re.IGNORECASE
)
_SUBJECT_I = re.compile(
    rf"\b(?:I|I'm|I've|im|we|ich|wir|je|nous|yo|{_SPANISH_VERBS})\b|\bj'|\bnos \w+mos\b|"
    r"\Aon (?:a|est|s'est|va|vit|habite)\b|(?:^|\band |\bbut |, )User\b(?!')",
    re.IGNORECASE,
)
_USER = re.compile(r"\bUser\b|\butilisat(?:eur|rice)\b|\b(?:Be)?nutzer(?:in)?\b|\busuari[oa]\b")
_USER_SUBJECT = re.compile(
    r"(?:(?:der|die|le|la|l['\u2019]|el)\s*)?(?:User\b(?!')|utilisat(?:eur|rice)\b|(?:Be)?nutzer(?:in)?\b|usuari[oa]\b)",
    re.IGNORECASE,
)
_USER_AFTER_VERB = re.compile(r"\b(?:[a-zäöüß]+t|bin) der Nutzer\b|(?<!de )\bl['\u2019]utilisateur\b|\bel usuario\b")
"""In a fact that begins with a date: "Letzte Woche ist der Nutzer nach Graz gezogen"."""

_RELATION_SUBJECT = re.compile(
    r"(?:(?P<name>[^\W\d_]+),\s)?(?:der|die|das|le|la|l['\u2019]|les|el|los|las)\s*(?P<noun>[^\W\d_]+(?:\s+[^\W\d_]+)??)\s+"
    r"(?:des nutzers|der nutzerin|de l['\u2019]utilisat(?:eur|rice)|del usuario|de la usuaria)\b",
    re.IGNORECASE,
)
"""How facts in German, French and Spanish name a relation: "Die Schwester des Nutzers"."""

_OWNER_AND_THING = re.compile(
    r"(?:(?:[Mm]y|[Oo]ur|User's)\s+(?P<owner>[^\W\d_]+(?:\s+[A-ZÀ-Þ]\w+)?)|(?P<name>(?!User\b)[A-ZÀ-Þ][^\W\d_]+))'s\s+"
    r"(?P<thing>(?!(?:an?|the|not|my|our|in|at|on|from|going|getting|been|got|very|so|also|still|always|never)\b)"
    r"[a-z]+(?:\s+number)?)\b|"
    r"(?:(?i:der|die|das|le|la|les|el|los|las)\s+|[Ll]')(?P<thing_of>[^\W\d_]+(?:\s+de\s+[^\W\d_]+)?)\s+"
    r"(?:(?:mein|unser)e[rs]|d(?:es|er)|de\s+(?:mon|ma|mes|notre|mi|mis|nuestr[oa])|(?:de\s+la|del|de\s+el|du|de\s+l'))\s*"
    r"(?i:(?!(?:be)?nutzer|utilisat|usuari))(?P<owner_of>[^\W\d_]+)",
)
"""What belongs to somebody whom the user knows: "my brother's flatmate", "Der Mitbewohner meines Bruders"."""

_NO_SUBJECTS = ALL_FUNCTION_WORDS | {
    *(
        "never",
        "longer",
        "no",
        "back",
        "unfortunately",
        "actually",
        "used",
        "yes",
        "nie",
        "mehr",
        "nunca",
        "jamais",
        "plus",
    )
}
"""Words that a statement about the user may begin with where it leaves "I" out."""

_WHO_QUESTION = re.compile(r"\W*(?:who|wer|qui|qui[eé]n(?:es)?)\b", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(
    r"(?:and |und |et |y )?(?:"
    r"(?:[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Mm]es|[Nn]otre|[Nn]os(?!\s+\w+mos\b)|[Mm]is?|User's)\s+"
    r"(?P<noun>(?:(?:best|eldest|youngest|twin|half|middle|other|late|old|older|little|younger|big|new|favou?rite|beste|älter|klein|neu|nouve|nuev|ancien|viej|petit|mayor|mejor|meilleur)\w*\s+)?[^\W\d_]+)"
    r"(?P<name>\s+[A-ZÀ-Þ]\w+)?|"
    r"(?P<pronoun>[Hh]e|[Ss]he|[Tt]hey|[Ee]r|[Ss]ie|[Ii]l|[Ee]lle|[Éé]l|[Ee]lla|[Vv]ive|[Tt]rabaja|[Tt]iene|[Ee]studia)\b)"
)
_NAMED_SUBJECT = re.compile(
    r"(?!(?:also|still|now|currently|usually|never|really|always|just|only|often|mostly|not|\w+ly)\b)"
    r"(?:(?:the|an?|der|die|das|ein|eine|le|la|les|un|une|el|los|las)\s+)?"
    r"(?P<subject>[^\W\d_]+(?:'s\s+[^\W\d_]+)?(?:(?:\s+(?:and|und|et|y)|\s*[&,])\s+[^\W\d_]+)*(?-i:\s+[A-ZÀ-Þ]\w+)*)"
    r"(?:'(?:s|re|ve)\b|\s+(?:also |now |still )?(?:is|are|was|were|has|have|had|does|do|got|lives?|lived|works?|"
    r"worked|likes?|loves?|hates?|eats?|drinks?|plays?|stud(?:y|ies)|speaks?|drives?|moved|married|wants?|needs?|prefers?|"
    r"comes?|goes|ist|sind|war|hat|haben|wohnt|wohnen|arbeitet|lebt|mag|est|sont|était|habite|travaille|aime|"
    r"es|son|era|tiene|vive|trabaja|le gusta)\b)",
    re.IGNORECASE,
)
_CLAUSE_ABOUT_ANOTHER = re.compile(r",?\s+(?:who|whose|whom|which)\b.*|(?:,|;|\s+(?:and|but))\s+(?:he|she|it)\b.*")
_CLAUSE_ABOUT_OTHERS = re.compile(r"(?:,|;|\s+(?:and|but))\s+they\b.*")
_POSSESSOR = re.compile(
    r"\b(?!User's)(?P<owner>[^\W\d_]+)'s\s+(?!my\b|our\b|the\b|an?\b|User's)(?P<noun>[^\W\d_]+(?:\s+[^\W\d_]+)?)|"
    r"\b(?:his|her)\s+(?P<other>[^\W\d_]+)"
)
_OWN_NAME = re.compile(
    r"\b(?:call me|I go by|User goes by|ich heiße|je m'appelle|me llamo|User is called|User wants to be called|"
    r"(?:my|User's) name(?: is|'s)|(?<!de )l'utilisat(?:eur|rice) s'appelle|"
    r"(?:(?:be)?nutzer|(?<!der )(?:be)?nutzerin) hei(?:ß|ss)t|"
    r"(?<!del )(?<!de la )usuari[oa] se llama|(?:mein|der) (?:vor)?name (?:des nutzers )?(?:ist|lautet)|"
    r"(?:mon|le) (?:pré)?nom (?:de l'utilisateur )?est|(?:mi|el) nombre (?:del usuario )?es|"
    r"moi,? c'est (?-i:[A-ZÉ])\w+)\b|\AName:",
    re.IGNORECASE,
)
_OWN_IDENTITY = re.compile(
    r"\b(?:(?:[Ii]ch bin|Nutzer(?:in)? ist)\s+(?:(?:der|die)\s+)?(?!\w+(?:erin|ist|istin|ste)\b|"
    r"(?!(?:Peter|Alexander|Oliver|Walter|Werner|Günth?er|Rainer|Dieter|Holger|Volker|Rüdiger|Jennifer|Esther)\b)\w+er\b)|"
    r"(?:I am|[Ii]'?m|User is|[Jj]e suis|[Uu]tilisat(?:eur|rice) est|[Ss]oy|usuari[oa] es)\s+(?:(?:el|la)\s+)?)"
    r"(?!(?:German|French|Spanish|English|American|British|Italian|Irish|Dutch|Swedish|Polish|Portuguese|Turkish|Indian|"
    r"Chinese|Japanese|Jewish|Deutsche|Türkin|Polin|Single|Christ|Student|Boss|Typ)\b)"
    r"[A-ZÄÖÜÉ][a-zäöüßéèí]+(?!\w|\s(?:von|of|de|d'|meine|in)\b)"
)
"""A name, unless the word is known for something else, such as a trade."""

_CALLED_NAME = re.compile(r"\b(?:called|named|name is|heißt|s'appelle|se llama) ([A-ZÀ-Þ]\w+)")
_NAME_OF_RELATION = re.compile(
    r"\s+(?:is (?:called|named)|heißt|s'appelle|se llama) (?P<name>[A-ZÀ-Þ]\w+)(?!\w| [A-ZÀ-Þ])"
)
_ATTRIBUTES = frozenset(("name", "nom", "nombre", "age", "alter", "edad"))
_MAX_PRONOUNS = 8
_MAX_WORDS_OF_NAME = 3
_PRONOUN = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE)
_PLURAL_SUBJECT = re.compile(
    r"User's\s+(?:[^\W\d_]+\s+)?(?:kids|children|twins|parents|grandparents|friends|sisters|brothers|siblings|sons|"
    r"daughters|cats|dogs|pets|colleagues|neighbou?rs|cousins|flatmates|roommates)\b",
)
_OWN_LIST = re.compile(
    r"\btheir(?:\s+(?!(?:is|are|was|has|likes|loves|works|lives)\b)[^\s,]+){1,4}?(?:,| and|, and)\s$"
)
"""Before a further "their", as in "with their boyfriend Tom and their cats": both are the user's."""

_NAME_AFTER_WORD = re.compile(r"(?P<before>[^\W\d_]+)[\s]+(?P<name>[A-ZÀ-Þ][\w'-]+)|(?P<listed>[,;&])\s*[A-ZÀ-Þ]\w+")
_PLACE_PREPOSITIONS = frozenset(("in", "to", "from", "on", "since", "until", "near"))
_WORDS_AFTER_A_PLACE = re.compile(
    r"\b(?:with|and|because|for|as|near|by|on|at|where|since|,|to (?:see|visit|meet))\s*$", re.IGNORECASE
)
_OTHER_PERSON = re.compile(
    r"\b(?:partner|boyfriend|girlfriend|husband|wife|spouse|fianc[ée]e?|friend|sister|brother|sibling|mother|mum|mom|"
    r"father|dad|parent|son|daughter|child|baby|children|people|men|women|man|woman|boy|girl|family|team|couple|"
    r"colleague|boss|neighbou?r|flatmate|roommate|cousin|aunt|uncle|niece|nephew|grand\w+|doctor|teacher|company|"
    r"everyone|everybody|someone|somebody|nobody|others|another|he|she|him|her|we|us|band|club|police|cat|dog)\b",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"(?<!')\b[a-z]{3,}s\b")
_VERB_BEFORE = re.compile(r"(?:\bUser|\band|\bbut|\bor|\balso|\bnever|\balways|\boften|\w+ly)\s+$")
_NOT_PLURAL = frozenset(("always", "sometimes", "nowadays", "perhaps", "this", "besides", "afterwards", "does", "has"))


class Relation(NamedTuple):
    """One of the user's people or pets, whom a statement begins with."""

    relation: str
    name: str
    designation: str


class Referent(Enum):
    """Whom the pronouns of a fact stand for."""

    USER = auto()
    OTHERS = auto()
    UNKNOWN = auto()


def subject_words(statement: str) -> frozenset[str]:
    """Return the words for whom or what a statement is about, such as "dog" and "rex"; none for the user."""
    if _USER_SUBJECT.match(statement) or _USER_AFTER_VERB.search(statement):
        return frozenset()
    owner = _OWNER_AND_THING.match(statement)
    owned = _OTHER_SUBJECT.match(statement) or _RELATION_SUBJECT.match(statement)
    if owner or (owned and not owned.groupdict().get("pronoun")):
        found = owner or owned
        assert found is not None
        return frozenset(index_tokens(" ".join(filter(None, found.groupdict().values()))))
    if _SUBJECT_I.search(statement) or (owned is None and _begins_with_verb(statement)):
        return frozenset()
    words = (word for word in index_tokens(statement) if word not in _NO_SUBJECTS and not word.endswith("ly"))
    return frozenset(itertools.islice(words, 1))


def find_relation(statement: str) -> Relation | None:
    """Return "brother", "Max" and "My brother Max" for "My brother Max lives in Rome" or "My brother is called Max".

    None for a statement that does not begin with a relation that it names, or is about what is theirs.
    """
    found = _OTHER_SUBJECT.match(statement) or _RELATION_SUBJECT.match(statement)
    if found is None or found.groupdict().get("pronoun") or _OWNER_AND_THING.match(statement):
        return None
    called = _NAME_OF_RELATION.match(statement, found.end())
    name = found["name"] or (called["name"] if called else "")
    designation = found[0] if found["name"] else f"{found[0]} {name}"
    if found.re is _RELATION_SUBJECT:
        relative = found[0].removeprefix(f"{found['name']}, ")
        designation = f"{name}, {relative[0].lower()}{relative[1:]},"
    return Relation(found["noun"].split()[-1].casefold(), name.strip(), designation) if name else None


def are_two_of_a_relation(one: str, other: str) -> bool:
    """Return whether two statements are about two sisters by their names, each of whom a question may mean."""
    first, second = find_relation(one), find_relation(other)
    if first is None or second is None:
        return False
    return first.relation == second.relation and first.name != second.name


def by_name(statement: str, newer: str) -> str:
    """Return "Max lives in Rome" for "My brother Max lives in Rome", which the truth rules take for no home of his.

    Only if a newer statement is about a brother called Max, too: with the name alone it may be about another one.
    """
    one, other = find_relation(statement), find_relation(newer)
    if one is None or other is None or one[:2] != other[:2] or not statement.startswith(one.designation):
        return statement
    return f"{one.name}{statement[len(one.designation) :]}"


def _begins_with_verb(statement: str) -> bool:
    """Return whether a statement leaves its subject out, which is the user then: "Works at Lidl", "Empecé en Renfe".

    Others may have done it to the user: "Me despidieron".
    """
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.grammar import english_verbs, spanish

    words = re.findall(r"[^\W\d_]+", re.sub(r"\A(?:(?:ya|no|me|nos) )+", "", statement, flags=re.IGNORECASE))
    first = next(iter(words), "")
    return statement.startswith("Me ") or english_verbs.is_verb(first) or spanish.conjugate(first) is not None


def is_about_person(question: str) -> bool:
    """Return whether a question asks about the person or what is theirs: "I", "me", "my"."""
    text = _ADDRESS.sub("", question)
    return bool(_I.search(text) or _MY.search(text))


def has_other_subject(question: str, words: Sequence[str], statement: str) -> bool:
    """Return whether a statement is about another person or thing than the question with these words."""
    if _USER_SUBJECT.match(statement) or _USER_AFTER_VERB.search(statement):
        return False
    if owned := _OWNER_AND_THING.match(statement):
        # "My sister's name is Noa" is about the sister, "My sister's dog is called Max" about the dog.
        asked = index_tokens(question)
        thing, owner = (owned[name] or owned[f"{name}_of"] or "" for name in ("thing", "owner"))
        is_thing_asked = _names(asked, thing) or bool(_ATTRIBUTES.intersection(index_tokens(thing)))
        is_owner_asked = _names(asked, f"{owner} {owned['name'] or ''}")
        if _WHO_QUESTION.match(question) and not is_about_person(question):
            return False
        return not (is_thing_asked and is_owner_asked)
    if found := _OTHER_SUBJECT.match(statement) or _RELATION_SUBJECT.match(statement):
        return _is_somebody_else(question, words, found)
    named = _NAMED_SUBJECT.match(statement)
    if named is None and is_about_person(question):
        subject = subject_words(statement)
        is_users = bool(_I.search(statement) or _MY.search(statement) or _USER.search(statement))
        return bool(subject) and not is_users and not any(_names(words, noun) for noun in subject)
    return named is not None and _is_another(question, words, named["subject"], statement)


def _is_another(question: str, words: Sequence[str], subject: str, statement: str) -> bool:
    """Return whether the subject of a statement is not the one that a question is about."""
    if not is_about_person(question):
        asks_for_anybody = _WHO_QUESTION.match(question) or _SUBJECT_I.match(statement)
        return not asks_for_anybody and not any(
            is_same_name(word, noun) for word in words for noun in index_tokens(subject)
        )
    if _names(words, subject):
        return False
    if _I.search(_ADDRESS.sub("", question)):
        return not _SUBJECT_I.search(statement)
    return not (_I.search(statement) or _MY.search(statement) or _USER.search(statement))


def _is_somebody_else(question: str, words: Sequence[str], found: re.Match[str]) -> bool:
    """Return whether the relation or the pronoun that begins a statement is not the one that a question is about."""
    groups = found.groupdict()
    if groups.get("pronoun"):
        return True
    # "Who hates dogs?" asks for anybody, "Who do I live with?" for the person's own life.
    if _WHO_QUESTION.match(question) and not is_about_person(question):
        return False
    named = [
        groups["noun"],
        groups.get("name") or "",
        *_CALLED_NAME.findall(found.string),
        *implied_words(found.string),
    ]
    return not _names(words, " ".join(named))


def names_user(statement: str) -> bool:
    """Return whether a statement says what the user is called: "My name is Ada"."""
    return _OWN_NAME.search(statement) is not None


def find_identity(statement: str) -> str:
    """Return the words that say who the user is, by a name or a trade: "I'm Ada"; empty if there are none."""
    found = _OWN_IDENTITY.search(statement)
    return found[0] if found else ""


def has_other_owner(nouns: Sequence[str], statement: str) -> bool:
    """Return whether one of the nouns is somebody else's in a statement: "Tom's wife", "her job"."""
    owned = [found for found in _POSSESSOR.finditer(statement) if not _names(nouns, found["owner"] or "")]
    return any(_names(nouns, found["noun"] or found["other"]) for found in owned)


def without_clauses_about_others(statement: str, asked: Sequence[str] = ()) -> str:
    """Return a statement without the clauses about somebody that it mentions: ", who lives in Rome".

    A clause after one of the nouns that are `asked` for stays: "a sister, Julia, who lives in Bristol".
    """
    clause = _CLAUSE_ABOUT_ANOTHER.search(statement)
    before = " ".join(statement[: clause.start()].split()[-_MAX_WORDS_OF_NAME:]) if clause else ""
    text = statement if before and _names(asked, before) else _CLAUSE_ABOUT_ANOTHER.sub("", statement)
    return text if find_referent(text) is Referent.USER else _CLAUSE_ABOUT_OTHERS.sub("", text)


def _names(words: Sequence[str], subject: str) -> bool:
    return any(is_same_word(word, noun) for word in words for noun in index_tokens(subject))


def find_referent(fact: str) -> Referent:
    """Return whom "they", "them" and "their" stand for in a fact; `USER` where there is no such pronoun.

    They are the user only if nobody else, and nothing else that is many, is named before them.
    """
    pronouns = list(_PRONOUN.finditer(fact))
    if not pronouns:
        return Referent.USER
    if len(pronouns) > _MAX_PRONOUNS:
        return Referent.UNKNOWN
    if not fact.startswith("User "):
        is_plural = bool(_PLURAL_SUBJECT.match(fact))
        stands_for_subject = is_plural and not any(found[0].lower() == "them" for found in pronouns)
        return Referent.OTHERS if stands_for_subject else Referent.UNKNOWN
    are_user = all(_stands_for_user(fact[: found.start()], found[0].lower()) for found in pronouns)
    return Referent.USER if are_user else Referent.UNKNOWN


def _stands_for_user(before: str, pronoun: str) -> bool:
    if pronoun == "their" and (own_list := _OWN_LIST.search(before)):
        return _stands_for_user(before[: own_list.start()], pronoun)
    return not _OTHER_PERSON.search(before) and not _names_another(before) and not _names_many(before)


def _names_another(text: str) -> bool:
    """Return whether a text has a name that is neither a place nor a day."""
    after_a_place = bool(_WORDS_AFTER_A_PLACE.search(text))
    return any(
        found["listed"] or not (found["before"].lower() in _PLACE_PREPOSITIONS and after_a_place)
        for found in _NAME_AFTER_WORD.finditer(text)
    )


def _names_many(text: str) -> bool:
    return any(
        not found[0].endswith("ss") and found[0] not in _NOT_PLURAL and not _VERB_BEFORE.search(text[: found.start()])
        for found in _PLURAL.finditer(text)
    )
