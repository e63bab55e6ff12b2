"""Types of answer that a text contains: a moment, a number, a place, a title."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOMENT, NUMBER, PLACE, TITLE = 1, 2, 4, 8

TIME_WORDS = frozenset(
    (
        *("yesterday", "today", "tonight", "tomorrow", "ago", "last", "next", "recently", "since"),
        *("morning", "evening", "weekend", "day", "days", "week", "weeks", "month", "months", "year", "years"),
        *("summer", "winter", "spring", "autumn"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        *("january", "february", "march", "april", "june", "july", "august"),
        *("september", "october", "november", "december"),
    )
)
NUMBER_WORDS = frozenset(
    (
        *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "once", "twice"),
        *("couple", "several", "few", "dozen", "every", "second", "third"),
    )
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PLACE = re.compile(r"\b(?:in|at|from|near|to|around) (?:the )?[A-Z]\w+")
_CLOCK_TIME = re.compile(
    r"\b\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\b|uhr\b|h(?:\d\d)?\b)|\b\d{1,2}:\d\d\b|"
    r"\b(?:at|um|à|a las?)\s\d{1,2}\b(?!\s(?-i:[A-Z]))",
    re.IGNORECASE,
)
_HOUR = re.compile(r"\d{1,2}(?:[:.]\d\d)?(?:\s?(?:[ap]\.?m\b\.?|uhr\b|h(?:\d\d)?\b))?", re.IGNORECASE)
_TITLE = re.compile(
    r"[\"\u201c\u201e\u00ab][^\"\u201d\u201c\u00bb]{2,}|['\u2018][A-Z][^'\u2019]{2,}['\u2019]|\b(?:called|named)\b"
)

_NUMBER_FROM_TWO = (
    r"(?:\d{1,3}|"
    r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|\w{3,5}teen|"
    r"(?:\w+und)?(?:zwanzig|drei(?:ß|ss)ig|\w{4,5}zig)|zwei|drei|vier|fünf|sechs|sieben|acht|neun|elf|zwölf|\w{0,4}zehn|"
    r"(?:vingt|trente|quarante|cinquante|soixante|quatre-vingt)s?(?:[ -]et[ -]une?|(?:-\w+)+)?|deux|trois|quatre|cinq|"
    r"sept|huit|neuf|dix(?:-\w+)?|onze|douze|treize|quatorze|quinze|seize|"
    r"(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)(?: y \w+)?|veint\w+|dos|tres|cuatro|cinco|seis|"
    r"siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieci\w+)"
)
_YEARS_OF_AGE = (
    r"(?<!depuis )(?<!hace )(?<!y a )(?<!pendant )(?<!durante )(?<!dans )"
    rf"\b(?:{_NUMBER_FROM_TWO}|one|ein|une?)[ -](?:years?[ -]old|Jahre?|ans?|años?)\b"
)
_BARE_AGE = rf"{_NUMBER_FROM_TWO}(?=\W*\Z|[,;]|\s(?:and|und)\b)"
_ASIDE_FROM_YEARS = r"(?!\s*(?:%|am\b|pm\b|km\b|cm\b|m\b|kg\b|min\w*\b|hours?\b|days?\b|weeks?\b|months?\b))\b"
_AGE = re.compile(
    rf"\b(?:is|turned|turns|ist|a|tiene)\s+(?:an? )?\d{{1,3}}{_ASIDE_FROM_YEARS}|"
    rf"(?:\b(?:is|are|turned|turns|ist|wird)|\b(?:he|she|who)['\u2019]s)\s+{_BARE_AGE}|"
    rf"{_YEARS_OF_AGE}|\b{_NUMBER_FROM_TWO} geworden\b|[\w,] \(\d{{1,2}}\)",
    re.IGNORECASE,
)
_I_AM = (
    r"\b(?:I'?m|I am|(?:I|User)(?: just| have| has)? turn(?:ed|s)|User is|(?:my|User's) age is|ich bin|"
    r"(?:der|die) nutzer(?:in)? ist)"
)
_I_HAVE = r"\b(?:j'ai|tengo|l'utilisat(?:eur|rice) a|(?:el|la) usuari[oa] tiene)"
_OWN_AGE = re.compile(
    rf"(?:{_I_AM}|{_I_HAVE})\s+(?:an? )?\d{{1,3}}{_ASIDE_FROM_YEARS}|{_I_AM}\s+(?:(?-i:[A-Z])\w+, )?{_BARE_AGE}|"
    rf"(?:{_I_AM}|{_I_HAVE})\s+{_YEARS_OF_AGE}|\AAge: ",
    re.IGNORECASE,
)


def tells_clock_time(text: str) -> bool:
    """Return whether a text names a time of the day: "at 4pm", "um 9 Uhr", "à 8h", "a las 5"."""
    return find_hour(text) is not None


def find_hour(text: str) -> tuple[int, int] | None:
    """Return where the first time of the day stands in a text, without the preposition: "2 pm", "9" of "at 9"."""
    found = _CLOCK_TIME.search(text)
    hour = found and _HOUR.search(text, found.start())
    return hour.span() if hour else None


def tells_age(text: str) -> bool:
    """Return whether a text tells how old somebody is: "he's 3", "Mia ist sieben"."""
    return _AGE.search(text) is not None


def tells_own_age(text: str) -> bool:
    """Return whether a text tells how old the person is: "I'm Ben, 34", "User is 30"."""
    return _OWN_AGE.search(text) is not None


def detect_answer_types(text: str, words: Sequence[str]) -> int:
    """Return the types of answer in a text with these words, as a bit mask."""
    numerals = [word for word in words if word.isdigit()]
    answer_types = 0
    if not TIME_WORDS.isdisjoint(words) or any(map(_YEAR.fullmatch, numerals)):
        answer_types |= MOMENT
    if numerals or not NUMBER_WORDS.isdisjoint(words):
        answer_types |= NUMBER
    if _PLACE.search(text):
        answer_types |= PLACE
    if _TITLE.search(text):
        answer_types |= TITLE
    return answer_types
