"""Judges what a model's tool call states about a person by what the person said."""

from __future__ import annotations

import re
from collections.abc import Collection

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.distinctive_words import ROLE_WORDS, distinctive_stems
from gaia_memory.language.homoglyphs import fold_homoglyphs
from gaia_memory.language.stems import stem, truncated_stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.learn.questions import INDIRECT_QUESTION, SENTENCE, is_question
from gaia_memory.learn.screen import screen_draft
from gaia_memory.models import Draft, NewFact, UserStatement
from gaia_memory.redaction.credentials import without_masks

MIN_STATED_SHARE = 0.5
"""Share of the distinctive words of a statement that the person has said, from which on it is the person's word."""

MAX_LABEL_WORDS = 3
"""A label of a model's with more words has to be the person's, as "my sister's new flat" may be."""

_REQUEST = re.compile(
    r"\b(?:remember|note|save|mind|forget|merk\w*|notier\w*|souven\w*|souviens|reten\w*|retien\w*|recuerd\w*|recordar"
    r"|anot\w*|apunt\w*)\W+(?:(?!(?:wh|w[aio]|ob\b|how|if\b|qu|si\b|où|comment|dónde|c[uó])\w*)\w+\W+)?"
    r"(?:that|this|i|i'm|my|we|our|dass|ich|mein\w*|wir|que|je|j|mon|ma|mes|yo|mi|mis)\b",
    re.IGNORECASE,
)
"""Asks to keep a statement, even as a question: "Can you remember that I like teal?"."""

_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w+|(?<![\w.])(?:[\w-]+\.)+[a-z]{2,}(?![\w.])", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"(?<![\w-])[A-Z]{0,2}\d(?:[ ()/.-]?\d){5,}(?![\w-])")
_DAY_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4}|\d\d?[.:]\d\d")
_COMPARED_DIGITS = 5
_CLAUSE_BORDER = re.compile(
    r"[,;:]|\s[-\u2013\u2014]\s|\b(?:but|and|aber|sondern|und|mais|et|pero|sino|y)\b", re.IGNORECASE
)

_DENIAL = re.compile(
    r"\b(?:no|not|\w+n['\u2019]t|cannot|never|none|nothing|without|neither|nor|stop\w*|quit\w*|gave up|giv\w+ up"
    r"|hat(?:e|es|ed)|dislik\w*|avoid\w*|instead|nicht|nichts|kein\w*|nie|niemals|ohne|aufgeh\w*|vermeid\w*|meid\w*|hass\w*"
    r"|ne|n['\u2019]\w+|pas|plus|jamais|rien|sans|arr\u00eat\w*|d\u00e9test\w*|\u00e9vit\w*"
    r"|nunca|nada|sin|ning\w*|tampoco|dej[\u00f3\u00e9eo]\w*|odi\w*|evit\w*)\b",
    re.IGNORECASE,
)
"""Denies something, or says that it is over."""

_OF_ONESELF = re.compile(
    r"\s*(?:(?:and|but|so|since|because|as|da|weil|und|aber|puisque|comme|et|mais|como|porque|y|pero) )?"
    r"(?:i|i'm|i've|my|we|we're|our|ich|wir|mein\w*|je|j'\w+|mon|ma|mes|nous|yo|mi|mis|soy|tengo|estoy|vivo)\b",
    re.IGNORECASE,
)

_BEING = (
    r"\b(?:(?:grand|step)?(?:mother|mum|mom|father|dad|parent|son|daughter)|sister|brother|wife|husband|partner"
    r"|(?:boy|girl)?friend|child|kid|bab(?:y|ies)|aunt|uncle|niece|nephew|cousin|colleague|boss|neighbou?r|dog|cat"
    r"|schwester|bruder|mutter|vater|tochter|sohn|frau|mann|kind|freund|tante|onkel|kolleg|chef|nachbar|hund|katze"
    r"|soeur|s\u0153ur|fr\u00e8re|m\u00e8re|p\u00e8re|fille|fils|femme|mari|enfant|ami|oncle|voisin|chien|chat"
    r"|herman|madre|padre|hij|espos|marido|mujer|amig|t\u00ed[oa]|abuel|vecin|jef|perr|gat[oa])\w{0,3}\b"
)
_OF_ANOTHER = re.compile(
    r"(?i)\W*(?:(?:and|but|so|because|und|aber|et|mais|y|pero)\s+)?(?:(?:he|she|they|er|il|elle|\u00e9l|ella|ellos)\b"
    r"|(?:my|our|your|his|her|their|\w?ein\w*|unser\w*|m[oaei]\w?|notre|t[oaeu]\w?|nuestr\w+)\s+"
    rf"(?:[^\W\d_]+\s+)?{_BEING}|(?-i:(?!I\b|It\b|Th|Wh|Das|Dies|Es|C|User|(?:Be)?[Nn]utzer|Util|Usuar)"
    r"[A-Z\u00c0-\u00de]\w+)\s(?:is|was|has|ist|hat|est|es)\b)"
)
"""Begins a clause about somebody else: "My sister is allergic to nuts"."""

_FIRST_PERSON = (
    r"\b(?:i|im|m[ey]|we|us|our|your?|ich|mi[cr]h?|mein\w*|wir|uns|je|moi|mon|ma|mes|nous|yo|mis?|soy|tengo"
    r"|[jm]['\u2019]\w+)\b"
)
_NOT_OWN = re.compile(
    r"(?im)^>.*$|^(?:from|von|de|subject|betreff|objet|asunto):(?s:.*)"
    r"|\b(?:e-?mail|mail|letter|brief|lettre|courriel|carta|correo)\b[^.!?\n:]{0,40}:[ \t]*\n(?s:.*)"
    r"|(?<!\bi )\b(?:wrote|writes|says|said|schrieb|schreibt|sagte?|\u00e9crit|dit|dijo)(?::|,? ?[\"\u201c\u201e]).*$"
    r"|\b(?:if i (?:were|was|had)|(?:suppose|imagine|pretend) (?:that )?i"
    r"|wenn ich\b(?=.{0,80}\b(?:w\u00e4re|h\u00e4tte))|si j['\u2019](?:\u00e9tais|avais)"
    r"|si (?:fuera|tuviera))\b[^.!?\n]*"
)
"""What somebody else wrote, such as a pasted mail, and what is only supposed."""

_IS_RIGHT = re.compile(
    r"(?i)\b(?:right|correct|true|ok(?:ay)?|(?:save|remember|note|keep) (?:it|that|this)|richtig|stimm\w*|merken"
    r"|juste|vrai|exact|correcto|cierto|verdad)\b"
)

ONLY_ASKED = (
    "the user only asked this and did not state it: nothing was saved; ask the user, and save what they then say"
)


def is_stated_by_user(fact: str, user: UserStatement) -> bool:
    """Return whether a statement repeats what the person said lately, or what they just agreed to.

    Raises:
        InvalidInputError: the person said it only as a question, which states nothing.
    """
    # "on Friday" is said, and its date is saved.
    undated = _DAY_OR_TIME.sub(" ", fact)
    unnumbered = _LONG_NUMBER.sub(" ", undated)
    words = distinctive_stems(_without_roles(unnumbered)) or _stems(unnumbered)
    texts, agreed_to = (*user.recent_texts, user.text), _own_part(_asked_part(user.agreed_to), fact, words)
    stated = _stems("\n".join((user.agreed_to, *(part for text in texts for part in _NOT_OWN.findall(text)))))
    own, questions = _stems(agreed_to), list[set[str]]()
    denied = _DENIAL.search(agreed_to) is not None
    affirmed = _affirms(agreed_to, words)
    for sentence in SENTENCE.findall("\n".join(_NOT_OWN.sub(" ", text) for text in texts)):
        statement = _statement_of(sentence)
        stated |= _stems(statement)
        questions += [_stems(sentence)] if statement != sentence else []
        statement = _own_part(statement, fact, words)
        denied |= _DENIAL.search(statement) is not None and not words.isdisjoint(_stems(statement))
        affirmed |= _affirms(statement, words)
        own |= _stems(statement)
    only_asked = set[str]().union(*questions) - stated
    # "I'm allergic to nuts" has half of the words of "User can eat nuts", "Which nuts can I eat?" all of them.
    is_turned_question = not words <= stated and any(words <= question for question in questions)
    if is_turned_question or len(words & only_asked) > MIN_STATED_SHARE * len(words):
        raise InvalidInputError(ONLY_ASKED)
    # "User is not allergic to nuts" is made of the words of "I'm allergic to nuts", too, and the reverse.
    is_turned_round = not (denied if _DENIAL.search(fact) else affirmed)
    share = len(words & own) / max(len(words), 1)
    said = "\n".join((*user.recent_texts, user.text, user.agreed_to))
    return share >= MIN_STATED_SHARE and not is_turned_round and _contacts_are_said(undated, said)


def labels_are_names(fact: NewFact, user: UserStatement) -> bool:
    """Return whether the labels of a fact are no addresses or sentences that the person did not say."""
    said = "\n".join((*user.recent_texts, user.text))
    return all(
        _contacts_are_said(label, said)
        and (len(index_tokens(label)) <= MAX_LABEL_WORDS or _stems(label) <= _stems(said))
        for label in (fact.category, fact.entity, fact.context)
        if label
    )


def require_keepable_statement(fact: NewFact, user_statement: UserStatement, *, allow_numbers: bool) -> None:
    """Check what a model wants stored before the user is asked whether it may be.

    `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: the fact may not be kept, or the user only asked it.
    """
    draft = screen_draft(Draft(fact=fact, source="agent"), allow_numbers=allow_numbers)
    is_stated_by_user(without_masks(draft.fact.text), user_statement)


def _statement_of(sentence: str) -> str:
    """Return what a sentence states: the whole, or of a question only what the person says of themselves first."""
    if indirect := INDIRECT_QUESTION.search(sentence):
        return sentence[: indirect.start()]
    if _REQUEST.search(sentence) or not is_question(sentence):
        return sentence
    *clauses, _ = re.split(r"[,;:]|\s[-\u2013\u2014]\s", sentence)
    return ", ".join(clause for clause in clauses if _OF_ONESELF.match(clause))


def _asked_part(message: str) -> str:
    """Return what a yes to a message answers: its questions, or all of it if they ask whether that is right."""
    asked = " ".join(sentence for sentence in SENTENCE.findall(message) if is_question(sentence))
    return message if not asked or _REQUEST.search(asked) or _IS_RIGHT.search(asked) else asked


def _own_part(statement: str, fact: str, words: Collection[str]) -> str:
    """Return what a fact with these words may come from: clauses about somebody else only if it names them."""
    if re.search(_BEING, fact, re.IGNORECASE) or _OF_ANOTHER.match(fact):
        return statement
    clauses, is_of_another = list[str](), False
    for clause in _CLAUSE_BORDER.split(statement):
        another = _OF_ANOTHER.match(clause)
        is_of_another |= another is not None and _stems(another[0]).isdisjoint(words)
        is_of_another &= not re.search(_FIRST_PERSON, clause[another.end() if another else 0 :], re.IGNORECASE)
        clauses += [] if is_of_another else [clause]
    return ", ".join(clauses)


def _affirms(statement: str, words: Collection[str]) -> bool:
    """Return whether a clause has some of the words and denies nothing: "I don't like coffee, I like tea"."""
    clauses = (clause for clause in _CLAUSE_BORDER.split(statement) if not _DENIAL.search(clause))
    return any(not _stems(clause).isdisjoint(words) for clause in clauses)


def _without_roles(text: str) -> str:
    return " ".join(word for word in index_tokens(text) if stem(word) not in ROLE_WORDS)


def _contacts_are_said(fact: str, said: str) -> bool:
    """Return whether the person named each address and long number of a fact: few other words can redirect so much."""
    addresses = {address.casefold() for address in _ADDRESS.findall(fact)}
    numbers = [re.sub(r"\D", "", number)[-_COMPARED_DIGITS:] for number in _LONG_NUMBER.findall(fact)]
    digits = re.sub(r"\D", "", said)
    return all(address in said.casefold() for address in addresses) and all(number in digits for number in numbers)


def _stems(text: str) -> set[str]:
    return {truncated_stem(word) for word in index_tokens(fold_homoglyphs(text))}
