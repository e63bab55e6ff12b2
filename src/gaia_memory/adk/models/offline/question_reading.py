"""Reads what a question to the offline model asks for: its words, whose they are, and the kind of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gaia_memory.adk.models.offline.offline_phrases import detect_language
from gaia_memory.adk.models.offline.statement_subjects import is_about_person
from gaia_memory.adk.models.offline.statements import topic_words, without_dates
from gaia_memory.adk.models.offline.topic_words import NAME_WORDS, is_same_word, name_livelihood, related_words
from gaia_memory.language.answer_types import MOMENT, NUMBER, PLACE
from gaia_memory.language.dates.reminder_requests import asks_for_reminder
from gaia_memory.language.tokenizer import index_tokens

_PLACE_QUESTION = re.compile(
    r"\b(?:where|which (?:city|town|country)|wo|woher|wohin|où|d'où|dónde|donde|adónde)\b", re.IGNORECASE
)
_PLACE_NOUN = re.compile(
    r"\b(?:which|what|welche\w*|quelle?|qué) (?P<noun>city|town|country|company|firm|stadt|land|firma|ville|pays|"
    r"entreprise|ciudad|país|empresa)\b(?=.*\b(?:live|work|wohn|arbeit|habit|travail|viv|trabaj))",
    re.IGNORECASE,
)
"""How a question names the kind of place: a statement that tells it may have another word for it, or none."""

_MOMENT_QUESTION = re.compile(r"\b(?:when|what (?:day|time|date)|wann|quand|cuándo|cuando)\b", re.IGNORECASE)
_NUMBER_QUESTION = re.compile(
    r"\b(?:how (?:many|much|old|tall|long)|wie (?:viele?|alt|gro(?:ß|ss)|lange)|combien|quel âge|cuánt[oa]s?)\b",
    re.IGNORECASE,
)
_SINGLE_ANSWER_QUESTION = re.compile(
    r"\b(?:who|what(?:'s| is) my|which|wer|wie hei(?:ß|ss)|mein name|qui|comment|quel(?:le)? est|quién|cómo|cuál|"
    r"favou?rite|liebling\w*|préféré\w*|favorit[oa])\b",
    re.IGNORECASE,
)
_POSSESSED_NOUN = re.compile(
    r"\b(?:my|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|User's|their)\s+(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
_ASKED_THING = re.compile(
    r"(?:what(?:'?s| is| was| are)|which is|tell me|wie (?:ist|lautet)|was ist|quel(?:le)?s? (?:est|sont)|"
    r"cuál(?:es)? (?:es|son)) "
    r"(?:my|our|mein(?:e[nmrs]?)?|unsere?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?) (?P<thing>[^\d,;.]+?)"
    r"(?: (?:now|again|jetzt|maintenant|ahora))?\W*\Z",
    re.IGNORECASE,
)
"""A question for one thing: "What is my phone number?" is about a number, not about the phone."""

_NAME = re.compile(r"(?<=\w )(?P<name>[A-ZÀ-Þ][^\W\d_]+)")
_GERMAN_NAME = re.compile(
    r"\b(?!(?i:ich|du|wir|er|sie|es|man|der|die|das|dem|den|des|[mdsk]?eine?[nmrs]?|unsere?[nmrs]?|ihre?[nmrs]?|"
    r"welche?[nmrs]?|viele?|zu[mr]|i[mn]|am|bei[m]?|mir|dir|uns|wie|und|oder)\b)"
    r"(?:[a-zäöüß]+|(?:Ist|Hat|Mag|Kann|War|Wird|Will|Soll|Muss|Darf|[A-ZÄÖÜ][a-zäöüß]+t)|"
    r"(?i:mein|unser)e?[nmrs]? [A-ZÄÖÜ]\w+)\s(?P<name>[A-ZÄÖÜ][^\W\d_]+)"
)
"""German nouns have capitals, too: a name follows a verb or "my sister", without an article."""

_NAME_QUESTION = re.compile(
    r"what(?:'?s| is) my name|who am i\W*$|wie heiße ich|wer bin ich|mein name|"
    r"comment (?:est-ce que )?(?:je )?m'appelle|mon (?:nom|prénom)|quién soy|cómo me llamo|mi nombre",
    re.IGNORECASE,
)
_AGE_QUESTION = re.compile(
    r"how old am i|my age|wie alt bin ich|quel âge (?:ai|j'ai)|cuántos años tengo|mi edad", re.IGNORECASE
)
WHO_QUESTION = re.compile(r"\W*(?:who(?:'?s| is)|wer ist|qui est|quién es)\b", re.IGNORECASE)
_PAST_QUESTION = re.compile(r"\W*(?:when (?:did|was|were|have|has)|wann (?:war|habe?|hat|bin))\b", re.IGNORECASE)
_PAST_WORDS = re.compile(
    r"\b(?:went|flew|travell?ed|visited|was|were|last (?:week|month|year)|yesterday|ago|war|letzte[nrs]?|gestern)\b",
    re.IGNORECASE,
)
_FUTURE_WORDS = re.compile(
    r"\b(?:am|is|are|'m|will) (?:going|flying|travell?ing|visiting)\b|\bnext \w+|\bnächste", re.IGNORECASE
)
_PAST_STATE = re.compile(
    r"\b(?:lived|worked|(?<!have )(?<!has )(?<!'ve )had|drove|studied|played|owned|liked|loved|hated|spoke|ate|"
    r"drank|smoked|wohnte|arbeitete|hatte|fuhr|studierte|spielte|habitai[st]|travaillai[st]|avai[st]|conduisai[st]|"
    r"vivía|trabajaba|tenía|conducía)\b",
    re.IGNORECASE,
)
_MOVE_YEAR = re.compile(r"\b(?:moved|gezogen|déménagé|mud[éó]) .*\b((?:19|20)\d\d)\b", re.IGNORECASE)
_ASKS_PAST = re.compile(
    r"\b(?:did|was|were|had|used|before|war|hatte|habe ich|ai-je|étais|avais|era|tenía|vivía|trabajaba)\b|"
    r"\bas a\b|\bals (?:kind|student)",
    re.IGNORECASE,
)
_EMAIL_ADDRESS = re.compile(
    r"\be-?mail[- ]?(?:address|adresse)\b|\badresse (?:e-?)?mail\b|\bdirección de correo(?: electrónico)?\b",
    re.IGNORECASE,
)
_PLACE_LEFT = re.compile(r"\bmoved\b(?!.*\bto\b).*\bfrom\b", re.IGNORECASE)
YES_NO_QUESTION = re.compile(
    r"\W*(?:am|do|did|is|are|was|have|can|could|may|should|bin|mag|esse|trinke|kann|darf|soll|suis-je|puis-je|"
    r"est-ce que je|je peux|soy|puedo|me gustan?)\b",
    re.IGNORECASE,
)
OPEN_QUESTION = re.compile(
    r"\W*(?:what|which|was|welche\w*|qu'est-ce que|(?:à |de )?quoi|quel\w*|(?:a )?qué|wogegen|wovor)\b", re.IGNORECASE
)
_FORMER_QUESTION = re.compile(
    r"\b(?:before|previously|formerly|früher|vorher|davor|auparavant|avant|antes)\W*\Z", re.IGNORECASE
)
_NEGATION = re.compile(r"\b(?:not|cannot|nicht|pas|no)\b|n't\b", re.IGNORECASE)
_ANYTHING = frozenset(("food", "foods", "thing", "things", "stuff", "essen", "comida", "cosas", "choses"))
_PLANS = re.compile(
    r"\b(?!.*(?:beruflich|dans la vie|for (?:a living|work)))"
    r"(?:what (?:are (?:my|our) plans|(?:am I|are we) (?:doing|planning|going to do|up to))|was (?:sind meine pläne|"
    r"(?:mache|habe) ich|machen wir)|quels sont mes projets|qu'est-ce que je (?:fais|vais faire)|"
    r"qué (?:planes tengo|hago|voy a hacer))\b(?: for)?",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"\b(?:(?:kind|sort|type|genre|sorte|tipo|clase)s? (?:of|de)|(?:art|sorte)(?:en)? von) |\b(?:genre|type|sorte) d'",
    re.IGNORECASE,
)


_WHICH_QUESTION = re.compile(
    r"\W*(?:what|which|welche\w*|quel\w*|qué) \w+ (?:(?:do I|est-ce que je|je) )?(?P<verb>\w+)(?: ich|-je)?\W*\Z",
    re.IGNORECASE,
)
_DUTY_QUESTION = re.compile(
    r"\b(?:(?:any|my) (?:reminders|to-?dos|tasks)|on my (?:to-?do |task )?list|"
    r"(?:do I (?:have|need) to|should I|must I) do|should I remember|"
    r"woran (?:soll|muss) ich denken|was muss ich|auf meiner liste|meine (?:erinnerungen|aufgaben)|"
    r"je dois faire|dois-je faire|mes (?:rappels|tâches)|tengo que hacer|debo hacer|mis (?:recordatorios|tareas))\b",
    re.IGNORECASE,
)
_STILL = re.compile(r"\b(?:still|noch|immer noch|encore|toujours|todavía|aún|sigo)\b", re.IGNORECASE)
_QUESTION_VERB = re.compile(
    r"\A(?:est-ce qu(?:e |')|(?:do|does) |"
    r"(?P<verb>\w+) (?P<subject>(?:I|we|ich|wir|(?:my|our|mein\w*|unser\w*) \w+)\b))",
    re.IGNORECASE,
)
_DENIED_RELATION = re.compile(
    r"(?:\bnot|n't)\s+(?:[\w-]+\s+){1,3}?(?:to|with|from|about|of)\s+(?!any(?:thing|one|body)\b)(?P<whom>.+)|"
    r"\bnicht\b.*?\b(?:gegen|mit|auf|von)\s+(?!irgend)(?P<wen>.+)|\bpas\s+(?:\w+\s+)?\w+\s+(?:à|aux?|avec|de)\s+(?P<qui>.+)|"
    r"\bno\s+\w+\s+\w+\s+(?:a|al|con|de)\s+(?P<quien>.+)",
    re.IGNORECASE,
)
"""What a denial is confined to: "not married to my job", "not allergic to milk"."""

_ENDING = re.compile(r"\b(?:any ?more|any ?longer|no longer|nicht mehr|ne .*plus|ya no)\b", re.IGNORECASE)
_DUTY = re.compile(
    r"\b(?:(?:have|has|need|needs) to|must(?! have)|muss|dois|doit|tengo que|tiene que|debo|debe)\b", re.IGNORECASE
)
_NEGATED_DUTY = re.compile(r"n't |\b(?:not|never|no longer|nicht|pas|no|ya no)\b", re.IGNORECASE)
_DUTIES = "Everything: reminders, wants to be reminded, has to, needs to, must, call, pay, buy, appointment"

OVERVIEW_QUERIES = [
    "name home work family birthday allergic lives works likes loves hates plans",
    "Everything that ended: quit left stopped died moved sold lost gave up broke divorced changed no longer",
]
"""Looked up for "What do you know about me?", which has no word that a fact contains; what ended holds no longer."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks for."""

    text: str
    words: tuple[str, ...]
    required: tuple[str, ...]
    names: tuple[str, ...]
    answer_types: int
    has_one_answer: bool
    asks_dislike: bool = field(default=False)
    asks_for_name: bool = field(default=False)
    is_about_name: bool = field(default=False)
    is_about_age: bool = field(default=False)


def parse_question(text: str) -> Question:
    """Return what a question asks for."""
    text = _EMAIL_ADDRESS.sub("email", _KIND.sub("", text))
    # "What am I doing at Christmas?" is answered with whatever is at Christmas.
    if (plans := _PLANS.sub("I", text)) != text and topic_words(plans, detect_language(text)):
        text = plans
    text = name_livelihood(text)
    language = detect_language(text)
    words = topic_words(_FORMER_QUESTION.sub("", text), language)
    without_name = tuple(word for word in words if word not in NAME_WORDS)
    required = {token for noun in _POSSESSED_NOUN.findall(text) for token in index_tokens(noun)}
    if asked := _ASKED_THING.search(text):
        required |= set(index_tokens(asked["thing"]))
    named = (_GERMAN_NAME if language == "de" else _NAME).finditer(text)
    kind_of_place = _PLACE_NOUN.search(text)
    if kind_of_place:
        without_name = tuple(word for word in without_name if word not in index_tokens(kind_of_place["noun"]))
    names = {token for found in named for token in index_tokens(found["name"])}
    disliked = [word for word in words if is_same_word(word, "hate")]
    asks_dislike = bool(OPEN_QUESTION.match(text) and (disliked or _NEGATION.search(text)))
    if asks_dislike:
        required |= set(disliked)
        without_name = tuple(word for word in without_name if word not in _ANYTHING)
    answer_types = (
        PLACE * bool(kind_of_place or _PLACE_QUESTION.search(text))
        | MOMENT * bool(_MOMENT_QUESTION.search(text))
        | NUMBER * bool(_NUMBER_QUESTION.search(text))
    )
    return Question(
        text=text,
        words=without_name or words,
        required=tuple((required | names).intersection(without_name)),
        names=tuple(names.intersection(without_name)),
        answer_types=answer_types,
        has_one_answer=bool(answer_types or _SINGLE_ANSWER_QUESTION.search(text)),
        asks_dislike=asks_dislike,
        asks_for_name=not NAME_WORDS.isdisjoint(words),
        is_about_name=bool(_NAME_QUESTION.search(text)),
        is_about_age=bool(_AGE_QUESTION.search(text)),
    )


def is_of_other_tense(question: str, text: str, *, is_moment: bool) -> bool:
    """Return whether a question is about the past and a text about what is to come, or the reverse.

    What somebody did long ago tells less of today than what they do: "I lived in Cork as a child".
    """
    if is_moment:
        return (_FUTURE_WORDS if _PAST_QUESTION.match(question) else _PAST_WORDS).search(text) is not None
    years = (int(year) for year in _MOVE_YEAR.findall(text))
    is_past = _PAST_STATE.search(text) is not None or any(year < datetime.now(UTC).year for year in years)
    return is_past and _ASKS_PAST.search(question) is None


def tells_place_left(question: str, text: str) -> bool:
    """Return whether a text tells where somebody came from, and not where they went: "I moved here from Bonn"."""
    return _PLACE_LEFT.search(text) is not None and "from" not in question


def asks_for_duties(question: str) -> bool:
    """Return whether a question asks what the person has to do or wants to be reminded of."""
    return _DUTY_QUESTION.search(question) is not None


def is_duty(text: str) -> bool:
    """Return whether a statement asks for a reminder, tells a duty, or is a note with a date: "call mum on Friday"."""
    is_note = without_dates(text) != text and not is_about_person(text) and "User" not in text
    return asks_for_reminder(text) or is_note or bool(_DUTY.search(text) and not _NEGATED_DUTY.search(text))


def find_asked_verb(question: str) -> str | None:
    """Return "play" for "What sport do I play?"; None for any other question."""
    found = _WHICH_QUESTION.match(question)
    return found["verb"].casefold() if found else None


def queries_for(question: str) -> list[str]:
    """Return what to look up for a question: itself, and the other words in which a newer fact may answer it."""
    # "Everything" makes memory return more of what fits less well.
    related = [f"Everything: {words}"] if (words := related_words(question)) else []
    return [question, *related, *[_DUTIES][: asks_for_duties(question)]]


def denies_another(text: str, question: str) -> bool:
    """Return whether a statement denies a relation to what the question does not name."""
    found = _DENIED_RELATION.search(text)
    if found is None or _ENDING.search(text):
        return False
    asked = index_tokens(question)
    related = topic_words(next(filter(None, found.groups())), detect_language(text))
    return not any(is_same_word(one, other) for one in related for other in asked)


def statement_asked(question: str) -> str:
    """Return what a yes/no question asks about as a statement: "I live in Oslo" for "Do I still live in Oslo?"."""
    text = _STILL.sub(" ", question.strip(" ¿?!.")).strip()
    return _QUESTION_VERB.sub(lambda found: " ".join(filter(None, (found["subject"], found["verb"]))), text, count=1)


def asks_for_former(question: str) -> bool:
    """Return whether a question asks what was so before: "Where did I work before?"."""
    return _FORMER_QUESTION.search(question) is not None


def tells_end(text: str) -> bool:
    """Return whether a text says that something is not so or over: "I left Siemens"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    return corrections.is_denial(text)


def tells_dislike(text: str) -> bool:
    """Return whether a text says what somebody hates, or does not do or like."""
    return tells_end(text) or any(is_same_word("hate", word) for word in index_tokens(text))
