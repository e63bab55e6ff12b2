"""What a question asks for, and whether a statement tells that: a name, an age, a place, a time, a duty."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from gaia_memory.adk.models.offline.statements import category_of, tells_trade, topic_words, without_dates
from gaia_memory.adk.models.offline.subjects import names_of, subject_words
from gaia_memory.adk.models.offline.topic_words import is_same_word
from gaia_memory.language.answer_types import (
    MOMENT,
    NUMBER,
    PLACE,
    detect_answer_types,
    tells_age,
    tells_clock_time,
    tells_own_age,
)
from gaia_memory.language.dates import read
from gaia_memory.language.dates.mention import DateMention
from gaia_memory.language.tokenizer import index_tokens

_NAME_QUESTION = re.compile(
    r"what(?:'?s| is) my name|what (?:should|do|can) (?:you|i) call (?:me|you)|"
    r"who am i\W*$|wie heiße ich|wer bin ich|mein name|"
    r"comment (?:est-ce que )?(?:je )?m'appelle|mon (?:nom|prénom)|quién soy|cómo me llamo|mi nombre",
    re.IGNORECASE,
)
_USER = r"\b(?:User|(?:Der|Die) Nutzer(?:in)?|l'utilisat(?:eur|rice)|(?:el|la) usuari[oa])"
_NAME = re.compile(
    r"\b(?:call me|I go by|ich heiße|je m'appelle|me llamo|(?:my|User's) name(?: is|'s))\b|\AName:|"
    r"\A(?:Der (?:Vor)?name des Nutzers ist|Le (?:pré)?nom de l'utilisateur est|El nombre del usuario es)\b|"
    rf"(?<!de ){_USER} (?:goes by|is called|(?:wants|prefers|likes) to be called|hei(?:ß|ss)t|"
    r"möchte \w+ genannt|s'appelle|veut être appelé|se llama)\b|"
    r"(?:User is|l'utilisat(?:eur|rice) est|(?:el|la) usuari[oa] es) "
    r"(?!german|french|spanish|english|american|british|italian|irish|dutch|polish|indian)"
    r"(?-i:[A-ZÀ-Þ])[^\W\d_]+(?: (?-i:[A-ZÀ-Þ])\w+)*(?=\W*\Z|,| and )",
    re.IGNORECASE,
)
_PERHAPS_NAME = re.compile(rf"{_USER} (?:is|ist|est|es) (?P<name>[^\W\d_]+)(?:\W*\Z|,)", re.IGNORECASE)
""""User is sam" may have a name or an adjective, "Der Nutzer ist Maurer" a name or a trade."""

_NAME_OF_QUESTION = re.compile(
    r"what(?:'?s| is| are) (?:my|our) .+?(?:'s? names?| (?:called|named))\W*\Z|how (?:is|are) (?:my|our) .+ called|"
    r"wie hei(?:ß|ss)(?:t|en) (?:mein|unser)|comment s'appelle(?:nt)? (?:mon|ma|mes|notre|nos)\b|"
    r"cómo se llaman? (?:mis?|nuestr[oa]s?)\b",
    re.IGNORECASE,
)
_OWN_AGE_QUESTION = re.compile(
    r"how old am i|my age|wie alt bin ich|quel âge (?:ai|j'ai)|j'ai quel âge|cuántos años tengo|mi edad", re.IGNORECASE
)
_AGE_QUESTION = re.compile(r"\bhow old\b|\bwie alt\b|\bquel âge\b|\bcuántos años\b", re.IGNORECASE)
_DUTY_QUESTION = re.compile(
    r"\b(?:(?:any|my|what|which) (?:reminders|to-?dos|tasks)|on my (?:to-?do |task )?list|is due|"
    r"(?:do I (?:have|need) to|should I|must I) (?:do|remember)|"
    r"woran (?:soll|muss) ich denken|was muss ich|meine (?:erinnerungen|aufgaben)|"
    r"je dois faire|dois-je faire|mes (?:rappels|tâches)|tengo que hacer|debo hacer|mis (?:recordatorios|tareas))\b",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"(?<!not )(?<!n't )\b(?:(?:have|has|need|needs) to|must|wants? to be reminded|muss|möchte .*erinnert|dois|doit|"
    r"tengo que|tiene que|debo|debe|recordar)\b",
    re.IGNORECASE,
)
_ERRAND = re.compile(
    r"(?:call|ring|phone|pay|buy|send|post|collect|fetch|pick|drop|return|order|book|remind me)\b(?! \w+ (?:is|are))",
    re.IGNORECASE,
)
_ANSWER_TYPES = (
    (
        PLACE,
        re.compile(
            r"\b(?:where|(?:which|what) (?:city|town|country)|wo|woher|wohin|welche\w* (?:stadt|land)|où|d'où|"
            r"quelle? (?:ville|pays)|dónde|donde|adónde|qué (?:ciudad|país))\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:in|at|on|under|behind|beside|along|by|next|inside|outside|above|over|with|from|to|near|"
            r"bei|beim|aus|nach|im|ins|an|am|auf|vor|unter|"
            r"hinter|neben|à|en|chez|de|a|dans|sur|sous|derrière|sobre|debajo|detrás)\b|\bd'",
            re.IGNORECASE,
        ),
    ),
    (MOMENT, re.compile(r"\b(?:when|what (?:day|time|date)|wann|quand|cuándo|cuando)\b", re.IGNORECASE), None),
    (
        NUMBER,
        re.compile(r"\b(?:how (?:many|much|tall)|wie (?:viele?|gro(?:ß|ss))|combien|cuánt[oa]s?)\b", re.IGNORECASE),
        re.compile(
            r"\d|\b(?:an?|one|two|three|four|five|eine?n?|zwei|drei|une?|deux|trois|un[oa]?|dos|tres)\b", re.IGNORECASE
        ),
    ),
)
"""A kind of answer, the words of a question that ask for it, and what else a text may tell it with."""

_KIND_QUESTION = re.compile(
    r"\b(?:what|which|welche\w*|quel\w*|qué) (?P<kind>\w+) (?:do|did|does|am|is|are|est-ce|je|\w+ ich|\w+[oe])\b|"
    r"\b(?:what|which) (?:kind|sort|type)s? of (?P<other>\w+)",
    re.IGNORECASE,
)
_OPEN_QUESTION = re.compile(
    r"\W*(?:what|which|where|who|when|how|was|wo|wer|wann|wie|welche\w*|qu'est-ce que|(?:à |de )?quoi|quel\w*|où|qui|"
    r"quand|combien|(?:a )?qué|dónde|quién|cuándo|cuánt[oa]s?|cuál\w*)\b",
    re.IGNORECASE,
)
_DISLIKE = re.compile(r"\b(?:hates?|dislikes?|hass(?:e|t|en)|déteste\w*|odi[oa]s?|\w+n't like)\b", re.IGNORECASE)
_NEXT_QUESTION = re.compile(
    r"(?=.*\b(?:when|wann|quand|cuándo)\b).*\bmy next\b|\bmein\w* nächst\w*|\bm(?:a|on) prochaine?\b|\bmi próxim[ao]\b",
    re.IGNORECASE,
)
_OTHER_MOMENT = re.compile(
    r"\b(?:christmas|xmas|easter|weihnachten|ostern|noël|pâques|navidad|pascua)\b|"
    r"\b\d{1,2}[.:]\d\d\b|\b\d{1,2}\s?(?:to|till|until|bis|-|\u2013|à|a)\s?\d{1,2}\b",
    re.IGNORECASE,
)
_WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_HABITUAL_DAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})days\b", re.IGNORECASE)
_BARE_HOUR = re.compile(
    r"(?:(?:at|by|around|um|gegen|à|vers|a las?)\s)?\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?|uhr|h)?", re.IGNORECASE
)
_AGENDA_START = re.compile(
    r"\W*(?:any|anything|do (?:i|we) have|have (?:i|we) got|am i|are we|habe ich|haben wir|ai-je|j'ai|tengo|tenemos)\b",
    re.IGNORECASE,
)
_AGENDA_WORDS = frozenset(
    (
        *(
            "appointment",
            "appointments",
            "plan",
            "plans",
            "planned",
            "doing",
            "going",
            "happening",
            "coming",
            "got",
            "up",
        ),
        *("termin", "termine", "vor", "los", "steht", "geplant", "prevu", "rendez", "vous", "rdv", "cita", "citas"),
        *("planes", "tengo", "hago", "fais"),
    )
)
_ADDED_DATE = re.compile(r"\s*\(\d{4}-")
_ONE_DAY, _ONE_MONTH = timedelta(days=1), timedelta(days=31)
_PAST_VERB = re.compile(
    r"\b(?:lived|worked|used to|had|drove|studied|played|owned|liked|loved|spoke|went(?! (?:up|down))|flew|visited|"
    r"(?:was|were)(?! (?:born|\w*(?:ed|en|ld|st))\b)|"
    r"wohnte|arbeitete|hatte|fuhr|studierte|war|habitai[st]|travaillai[st]|avai[st]|étai[st]|vivía|trabajaba|tenía|era)"
    r"\b",
    re.IGNORECASE,
)
_PAST_QUESTION = re.compile(
    r"\b(?:did|was|were|had|used|before|have i (?:ever )?been|war|hatte|habe ich|ai-je|étais|avais|era|tenía|vivía|"
    r"trabajaba|früher|avant|antes|vorher)\b|\bas a\b|\bals (?:kind|student)",
    re.IGNORECASE,
)


def fit_by_kind(question: str, text: str) -> float | None:
    """Return how surely a statement tells a name, or the person's age, duties or agenda, if asked for one of these.

    None for any other question.
    """
    if _NAME_QUESTION.search(question):
        return _tells_own_name(text)
    if _OWN_AGE_QUESTION.search(question):
        return float(tells_own_age(text))
    if _DUTY_QUESTION.search(question):
        is_own = _DUTY.search(text) is not None and not subject_words(text)
        return float(is_own or _ERRAND.match(text) is not None)
    if periods := agenda_periods(question, datetime.now(UTC).date()):
        days, weekdays = _days_in(text), _weekdays_in(text)
        return float(any(_holds_any(period, days, weekdays) for period in periods))
    is_named = _NAME_OF_QUESTION.match(question) and any(names_of(word, text) for word in topic_words(question))
    return 1.0 if is_named else None


def _tells_own_name(text: str) -> float:
    # "User is Helen, a secretary" tells a trade behind the name.
    if _NAME.search(text) and not tells_trade(text.partition(",")[0]):
        return 1.0
    perhaps = _PERHAPS_NAME.match(text)
    return 0.5 * (perhaps is not None and category_of(perhaps["name"]) is None)


@lru_cache(maxsize=100)
def agenda_periods(question: str, today: date) -> tuple[DateMention, ...]:
    """Return the days of a question for all that is on: "What do I have next week?"; none of any other question."""
    if not (is_open(question) or _AGENDA_START.match(question)):
        return ()
    mentions = read(question, datetime.combine(today, time(), UTC), UTC)
    periods = tuple(each for each in mentions if each.recurrence is None and each.end - each.start <= _ONE_MONTH)
    return periods if _AGENDA_WORDS.issuperset(topic_words(without_dates(question))) else ()


def is_by_kind(question: str) -> bool:
    """Return whether a question asks for the person's name, age, duties or agenda."""
    by_words = any(each.search(question) for each in (_NAME_QUESTION, _OWN_AGE_QUESTION, _DUTY_QUESTION))
    return by_words or bool(agenda_periods(question, datetime.now(UTC).date()))


def is_open(question: str) -> bool:
    """Return whether a question asks for more than yes or no."""
    return _OPEN_QUESTION.match(question) is not None


def asks_for_taste(question: str, asked: Sequence[str]) -> bool:
    """Return whether an open question with the words `asked` asks what the person likes or hates."""
    return is_open(question) and any(is_same_word(word, "like") for word in asked)


def denies(text: str) -> bool:
    """Return whether a text says that something is not so or over, or names a dislike."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    is_denial = corrections.is_denial(text) and not corrections.names_successor(text)
    return is_denial or _DISLIKE.search(text) is not None or corrections.as_denial(text) != text


def tells_answer_type(question: str, text: str, implied: Sequence[str]) -> bool:
    """Return whether a text tells a place, a time, a number or an age where the question asks for one."""
    if _AGE_QUESTION.search(question) and not tells_age(text):
        return False
    undated = without_dates(text)
    types = detect_answer_types(text, index_tokens(text))
    types |= MOMENT * (
        tells_clock_time(text)
        or _OTHER_MOMENT.search(text) is not None
        or undated != text
        or _HABITUAL_DAY.search(text) is not None
    )
    types |= PLACE * bool(implied)
    return all(
        types & kind or (other is not None and other.search(undated))
        for kind, asks, other in _ANSWER_TYPES
        if asks.search(question)
    )


def kind_words(question: str) -> list[str]:
    """Return the words for a kind of thing, which a statement may lack: "sport" in "What sport do I play?"."""
    found = _KIND_QUESTION.search(question)
    return index_tokens(found["kind"] or found["other"]) if found else []


def asks_for_next(question: str) -> bool:
    """Return whether a question asks for the first of what is to come: "When is my next appointment?"."""
    return _NEXT_QUESTION.search(question) is not None


def is_of_other_day(question: str, text: str) -> bool:
    """Return whether both name days, and the text none of the question's: "on Monday" and "tomorrow"."""
    asked, told = _days_in(question), _days_in(text)
    return bool(asked and told) and not any(_overlap(one, other) for one in asked for other in told)


def _overlap(one: DateMention, other: DateMention) -> bool:
    return one.start < other.end and other.start < one.end


def coming_days(text: str) -> list[datetime]:
    """Return the beginnings of the days in a text that are to come, or today."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return [each.start for each in _days_in(text) if each.start >= today]


def _days_in(text: str) -> list[DateMention]:
    # Of "tomorrow (2026-11-28)", the date holds on any day.
    mentions = [each for each in read(text, datetime.now(UTC), UTC) if not _ADDED_DATE.match(text, each.span[1])]
    days = [each for each in mentions if each.recurrence is None and each.end - each.start <= _ONE_DAY]
    return [each for each in days if not _BARE_HOUR.fullmatch(text, *each.span)]


def _weekdays_in(text: str) -> set[int]:
    """Return the days of what comes again each week, from 0 for Mondays."""
    recurrences = (each.recurrence for each in read(text, datetime.now(UTC), UTC))
    habitual = {_WEEKDAYS.index(found.lower()) for found in _HABITUAL_DAY.findall(text)}
    return habitual.union(day for each in recurrences if each for day in each.weekdays)


def _holds_any(period: DateMention, days: Sequence[DateMention], weekdays: Collection[int]) -> bool:
    """Return whether one of the days, or of the days of each week, is in a period."""
    length = math.ceil((period.end - period.start) / _ONE_DAY)
    is_in_week = any((period.start + number * _ONE_DAY).weekday() in weekdays for number in range(length))
    return is_in_week or any(_overlap(period, day) for day in days)


def is_of_other_time(question: str, text: str) -> bool:
    """Return whether one of them is about the past, and the other is not: "I lived in Cork as a child"."""
    return bool(_PAST_QUESTION.search(question)) != bool(_PAST_VERB.search(text))
