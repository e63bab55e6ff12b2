"""Adds dates to relative expressions such as "tomorrow"."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from gaia_memory.language.dates import Anchor, DateMention, Grain, read

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HAS_DATE = re.compile(r"\s*\(")
_WEEK = timedelta(days=7)


def annotate_dates(sentence: str, today: date, language: str | None = "en") -> str:
    """Return `sentence` with the date after each relative one: "tomorrow" becomes "tomorrow (2026-11-21)".

    `today` is the day of the conversation; `language` is "en", "de", "fr" or "es", and None lets the sentence tell.
    Dates that name their month or weekday without "next" or "last", hours and repetitions stay as they are.
    """
    if _ISO_DATE.search(sentence):
        return sentence
    noon = datetime.combine(today, time(12), tzinfo=UTC)
    for mention in reversed(read(sentence, noon, UTC, language)):
        end = mention.span[1]
        # An expression before a parenthesis already has its date.
        is_counted = mention.anchor is Anchor.RELATIVE and mention.recurrence is None
        if is_counted and not _HAS_DATE.match(sentence, end):
            sentence = f"{sentence[:end]} ({_format(mention, language)}){sentence[end:]}"
    return sentence


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
