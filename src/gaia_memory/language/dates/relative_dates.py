"""Adds dates to relative expressions such as "tomorrow"."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from gaia_memory.language.dates.mention import Anchor, Bound, DateMention, Grain
from gaia_memory.language.dates.phrases.english_dates import ENGLISH
from gaia_memory.language.dates.phrases.french_dates import FRENCH
from gaia_memory.language.dates.phrases.german_dates import GERMAN
from gaia_memory.language.dates.phrases.spanish_dates import SPANISH
from gaia_memory.language.dates.reader import read

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HAS_DATE = re.compile(r"\s*\(")
_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_PAST_TENSES = {
    "en": re.compile(
        r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bgets )(?<!\bget )\b(?:was|were|had|did|didn't|went|"
        r"(?<!'ve )(?<!have )(?<!has )(?<!'s )got|saw|came|ate|met|took|made|bought|sold|left|flew|drove|"
        r"ran|won|lost|began|gave|told|found|heard|broke|wrote|swam|slept|spent|fell|felt|became|has (?:been|had|"
        r"\w+ed)|have (?:been|had|\w+ed)|"
        r"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\bhis )(?<!\bher )(?<!\btheir )"
        r"(?:(?<!\w's )|(?=\w+ed (?:an?|the|my|our|his|her|their|to|in|at|on|off|up|out|him|it)\b))"
        r"(?!(?:need|feed|speed|indeed|hundred|succeed|proceed|wicked|naked|sacred|breed|seed|weed|"
        r"(?<!\bI )(?<!\bUser )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwe )(?:called|named))\b)\w{2,}ed)\b",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"\b(?:war|waren|hatten?|wurden?|gingen?|kam(?:en)?|sah(?:en)?|fuhr(?:en)?|flog(?:en)?|traf(?:en)?|machten?|"
        r"kauften?|besuchten?|heirateten?)\b|"
        r"\b(?:hat|habe?|ist|bin|haben|sind)\b.*(?<!\bzu )\b(?:\w{0,5}ge\w+(?:t|en)|(?:be|ver|er|ent|zer)\w+(?:t|en)|"
        r"\w+iert)\W*\Z",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:\w+ait|\w+aient)\b|\b(?:a|ai|est|suis|ont|sont|n'ai?|n'est)(?: pas)? "
        r"(?!(?:un|une|lundi|mardi|mercredi|jeudi|vendredi|samedi)\b)"
        r"(?:\w+(?:é|ée|és|ées|u|ue|us|i|is|ie|it|ert)|né|mort)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\b(?:\w+(?:ó|aron|ieron|aba|aban)|fue|fueron|estuvo|tuvo|hizo|vino|vio|dijo|era|ha \w+[aeií]do|"
        r"he \w+[aeií]do|han \w+[aeií]do|(?!\w+[aei]ré\b|(?:aquí|allí|así|ahí|café)\b)\w{2,}[éí])\b",
        re.IGNORECASE,
    ),
}
_PRESENT_TENSES = {
    "en": re.compile(
        r"\b(?:is|are|will|(?:wants|plans|needs|hopes|has) to)\b",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"\b(?:wird|will|möchte|muss|soll)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:va|veut|doit|voudrait)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\b(?:va a|quiere|debe|tiene que)\b",
        re.IGNORECASE,
    ),
}
"""What tells of now or of what is to come, even beside a verb in the past."""

_MOVE_WORDS = re.compile(
    r"\b(?:booked|reserved|told|said|invited|offered|"
    r"moved|postponed|rescheduled|delayed|cancell?ed|called off|pushed back|brought forward|verschoben|verlegt|"
    r"abgesagt|reportée?s?|annulée?s?|aplazad[oa]s?|cancelad[oa]s?)\b",
    re.IGNORECASE,
)
"""What was done in the past to a date that may be to come."""

_COMING_DATE = re.compile(
    r"(?:\bis|\bare|'s) now\b|\bist jetzt\b|\best maintenant\b|\bes ahora\b|"
    r"\b(?:promised|agreed|arranged|versprochen|zugesagt|vereinbart|ausgemacht|promis|prometido|quedado)\b|"
    r"\bfor (?:mon|tues|wednes|thurs|fri|satur|sun)day\b|"
    r"\b(?:moved|postponed|rescheduled|delayed|changed|brought forward|pushed back)\b.*"
    r" to (?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)
"""What makes a date one to come beside a past: "it has moved, it's now on Friday", "they moved it to Friday"."""

_WEEKDAY_LEAD = re.compile(
    r"(?:\A|(?:on|until|till|by|before|since|after|am|bis|vor|seit|nach|dimanche|lundi|mardi|mercredi|jeudi|"
    r"vendredi|samedi|ce|jusqu'à|avant|"
    r"depuis|d'ici|el|del|al|este|hasta|antes|desde|dès|après)\b)",
    re.IGNORECASE,
)
"""What stands before a weekday, or a weekday that begins the sentence."""


_ORDINAL = re.compile(r"\d\.(?= [a-zäöü])")
"""The end of "am 15." within a sentence."""

_WEEKDAY = re.compile(
    rf"\b(?:{'|'.join(day for each in (ENGLISH, FRENCH, GERMAN, SPANISH) for day in each.weekdays)})\b",
    re.IGNORECASE,
)
_HABIT = re.compile(
    rf"\s*(?:,|&|(?:and|und|et|y)\b)\s*{_WEEKDAY.pattern}|\s+(?:mornings|afternoons|evenings|nights|lunchtimes)\b",
    re.IGNORECASE,
)
"""After "on Tuesday", what makes a habit of it: "and Friday", "evenings"."""


def annotate_dates(sentence: str, today: date, language: str | None = "en") -> str:
    """Return `sentence` with the date after each relative one: "tomorrow" becomes "tomorrow (2026-11-21)".

    `today` is the day of the conversation; `language` is "en", "de", "fr" or "es", and None lets the sentence tell.
    A bare weekday is the next one, or the last one where the verb is in the past. Dates that name their month, hours
    and repetitions stay as they are.
    """
    if _ISO_DATE.search(sentence):
        return sentence
    noon = datetime.combine(today, time(12), tzinfo=UTC)
    is_past = bool(language and _PAST_TENSES[language].search(sentence)) and not _COMING_DATE.search(sentence)
    is_unclear = is_past and bool(
        (language and _PRESENT_TENSES[language].search(sentence)) or _MOVE_WORDS.search(sentence)
    )
    for mention in reversed(read(sentence, noon, UTC, language, direction="past" if is_past else "future")):
        ordinal = _ORDINAL.match(sentence, mention.span[1] - 1)
        end = ordinal.end() if ordinal else mention.span[1]
        is_counted = mention.anchor is Anchor.RELATIVE and mention.recurrence is None
        is_completed = not is_unclear and _is_one_weekday(mention, sentence, noon)
        # An expression before a parenthesis already has its date.
        if (is_counted or is_completed) and not _HAS_DATE.match(sentence, end):
            sentence = f"{sentence[:end]} ({_format(mention, language)}){sentence[end:]}"
    return sentence


def _is_one_weekday(mention: DateMention, sentence: str, now: datetime) -> bool:
    """Return whether a date is a single day such as "on Friday", and neither an hour nor "likes Sunday"."""
    if mention.anchor is not Anchor.INFERRED or mention.recurrence or mention.end - mention.start > _DAY:
        return False
    if mention.bound in (Bound.SINCE, Bound.AFTER) and mention.start > now:
        return False
    start, end = mention.span
    if _HABIT.match(sentence, end):
        return False
    # A bare hour is one of the next.
    is_day = mention.grain is Grain.DAY or abs(mention.start - now) > _DAY or _WEEKDAY.search(sentence, start, end)
    # "My day off is Tuesday" is no date, "The exam is Tuesday at 6" is one.
    leads = ("for ", "to ", "is ") if mention.has_time else ("for ", "to ")
    return bool(is_day and (_WEEKDAY_LEAD.match(sentence, start) or sentence[:start].endswith(leads)))


def _format(mention: DateMention, language: str | None) -> str:
    start, last = mention.start.date(), (mention.end - timedelta(microseconds=1)).date()
    if mention.grain is Grain.YEAR and start.year == last.year:
        return f"{start.year:04d}"
    if mention.grain is Grain.MONTH and (start.year, start.month) == (last.year, last.month):
        return f"{start.year:04d}-{start.month:02d}"
    if mention.grain is Grain.WEEK and mention.end - mention.start == _WEEK and language == "en":
        return f"the week of {start}"
    is_one_day = start == last or mention.grain is Grain.PART_OF_DAY
    return f"{start}" if is_one_day else f"{start} to {last}" if language == "en" else f"{start}/{last}"
