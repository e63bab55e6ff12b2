"""Adds dates to relative expressions such as "tomorrow"."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from gaia_memory.backend.offline.grammar.rules import load_tables
from gaia_memory.language.dates import Anchor, Bound, DateMention, Grain, read

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HAS_DATE = re.compile(r"\s*\(")
_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_P = load_tables("tenses").patterns


def annotate_dates(sentence: str, today: date, language: str | None = "en") -> str:
    """Return `sentence` with the date after each relative one: "tomorrow" becomes "tomorrow (2026-11-21)".

    `today` is the day of the conversation; `language` is "en", "de", "fr" or "es", and None lets the sentence tell.
    A bare weekday is the next one, or the last one where the verb is in the past. Dates that name their month, hours
    and repetitions stay as they are.
    """
    if _ISO_DATE.search(sentence):
        return sentence
    noon = datetime.combine(today, time(12), tzinfo=UTC)
    is_past = bool(language and _P[f"past_{language}"].search(sentence))
    is_unclear = is_past and bool(language and _P[f"present_{language}"].search(sentence))
    for mention in reversed(read(sentence, noon, UTC, language, direction="past" if is_past else "future")):
        end = mention.span[1]
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
    # A bare hour is one of the next.
    is_day = mention.grain is Grain.DAY or abs(mention.start - now) > _DAY
    return is_day and _P["dated"].match(sentence, mention.span[0]) is not None


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
