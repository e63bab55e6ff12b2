"""A date that a text names: a period, the side that is open, and how it comes back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Grain = Literal["time", "part", "day", "week", "month", "year"]
"""The unit in which a writer gave a date; "part" is one of a day."""

Bound = Literal["within", "until", "before", "since", "after"]
Anchor = Literal["stated", "yearless", "relative", "inferred", "clock"]
"""Where a date comes from: in full, without its year, counted from now, completed ("Friday"), a time alone ("at 9")."""


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text.

    `start` and `end` are the period that is named, half-open and in the reader's zone; `bound` says which side is open.
    A count of weeks, months or years ("in two months") names one day, and `grain` says how exact it is. `every` is a
    recurrence as a fact has it, and the period its first occurrence. `span` are the positions in the text, with the
    preposition. `unread_zone` is the name of a time zone that stands there and was not read.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    grain: Grain
    anchor: Anchor
    bound: Bound = "within"
    has_time: bool = False
    every: str | None = None
    unread_zone: str | None = None

    @property
    def valid_until(self) -> datetime | None:
        """When what is said ceases to hold, exclusively: "until Friday" includes Friday, "until 5 pm" ends at five."""
        if self.bound == "before" or (self.bound == "until" and self.has_time):
            return self.start
        return None if self.bound in ("since", "after") else self.end
