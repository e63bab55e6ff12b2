"""Sentences with the dates a careful reader finds in them: `tests/unit/language/date_phrases.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from gaia_memory.language.dates import Bound, DateMention

PHRASES_FILE = Path(__file__).parents[2] / "unit" / "language" / "date_phrases.txt"
BOUND_MARKS = {"<=": Bound.UNTIL, "<": Bound.BEFORE, ">=": Bound.SINCE, ">": Bound.AFTER, "": Bound.WITHIN}


@dataclass(frozen=True, slots=True)
class DatePhrase:
    """A sentence, when and where it was written, and the dates in it as labels."""

    language: str
    text: str
    labels: tuple[str, ...]
    now: datetime
    zone: ZoneInfo

    def matches(self, mentions: list[DateMention]) -> bool:
        """Whether these are the dates."""
        return len(mentions) == len(self.labels) and all(map(self._is, self.labels, mentions))

    def _is(self, label: str, mention: DateMention) -> bool:
        if label.startswith("R="):
            return mention.recurrence is not None and mention.recurrence.rrule == label[2:]
        mark = re.match(r"[<>]=?|", label)[0]
        start, end = self.period(label.removeprefix(mark))
        return mention.recurrence is None and (mention.start, mention.end, mention.bound) == (
            start,
            end,
            BOUND_MARKS[mark],
        )

    def period(self, label: str) -> tuple[datetime, datetime]:
        """Return the beginning and the end of a label without its mark."""
        first, _, last = label.partition("..")
        return self._unit(first)[0], self._unit(last or first)[1]

    def _unit(self, label: str) -> tuple[datetime, datetime]:
        if "T" in label:
            day, _, clock = label.partition("T")
            hour, _, minute = clock.partition(":")
            start = datetime.fromisoformat(day).replace(hour=int(hour), minute=int(minute or 0), tzinfo=self.zone)
            length = timedelta(minutes=1) if minute else timedelta(hours=1)
            return start, (start.astimezone(UTC) + length).astimezone(self.zone)
        first, after = days_of(label)
        return tuple(datetime(each.year, each.month, each.day, tzinfo=self.zone) for each in (first, after))


def days_of(label: str) -> tuple[date, date]:
    """Return the first day of a year, month, week or day, and the first day after it."""
    if "W" in label:
        monday = date.fromisocalendar(int(label[:4]), int(label[6:]), 1)
        return monday, monday + timedelta(days=7)
    year, month, day = (*map(int, label.split("-")), 0, 0)[:3]
    first = date(year, month or 1, day or 1)
    if day:
        return first, first + timedelta(days=1)
    return first, (first + timedelta(days=32)).replace(day=1) if month else date(year + 1, 1, 1)


def read_phrases() -> Iterator[DatePhrase]:
    """Read the file."""
    now, zone = datetime.min.replace(tzinfo=UTC), ZoneInfo("UTC")
    for line in PHRASES_FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            _, moment, name = line.split()
            zone = ZoneInfo(name)
            now = datetime.fromisoformat(moment).replace(tzinfo=zone)
        elif line and not line.startswith("#"):
            language, text, labels = (each.strip() for each in line.split(" | "))
            yield DatePhrase(language, text, () if labels == "-" else tuple(labels.split("; ")), now, zone)
