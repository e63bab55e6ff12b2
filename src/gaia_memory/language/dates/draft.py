"""The parts of one date while it is read, and how parts next to each other combine."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from enum import StrEnum

from gaia_memory.language.dates.mention import Anchor, Bound, Frequency, Grain
from gaia_memory.language.dates.numeric_dates import Clock


class Share(StrEnum):
    """A third of a period."""

    EARLY = "early"
    MIDDLE = "middle"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Frame:
    """A period of whole days that is known because it is counted from today."""

    start: date
    end: date
    grain: Grain


@dataclass(frozen=True, slots=True)
class Every:
    """The unit of a recurrence."""

    frequency: Frequency
    interval: int = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of a date so far.

    `step` is -1 for "last", 0 for "this", 1 for "next" weekday or month. `daypart` are the hours between which a part
    of a day lies, beyond 24 on the day after. `is_fragment` marks what is a date only next to other parts. `years` and
    `days` are ranges within one expression, `moment` is an exact one with the unit it was counted in. `season` is the
    first month of a season.
    """

    frame: Frame | None = None
    moment: tuple[datetime, Grain, Anchor] | None = None
    year: int | None = None
    years: tuple[int, int] | None = None
    month: int | None = None
    day: int | None = None
    days: tuple[int, int] | None = None
    season: int | None = None
    weekdays: tuple[int, ...] | None = None
    step: int | None = None
    share: Share | None = None
    clock: Clock | None = None
    end_clock: Clock | None = None
    daypart: tuple[int, int] | None = None
    every: Every | None = None
    bound: Bound | None = None
    is_fragment: bool = False

    @property
    def has_date(self) -> bool:
        """Whether a date is known, not only a time of day."""
        return any(
            value is not None
            for value in (
                self.frame,
                self.year,
                self.years,
                self.month,
                self.day,
                self.days,
                self.weekdays,
                self.moment,
            )
        )


_FIELDS = tuple(field.name for field in fields(Draft) if field.name != "is_fragment")
_ALONE = ("moment", "years")


def combine(first: Draft, second: Draft) -> Draft | None:
    """Return both parts as one date; None if they are two dates."""
    values = {}
    for name in _FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        if one is not None and other is not None:
            return None
        values[name] = other if one is None else one
    if any(getattr(each, name) is not None for name in _ALONE for each in (first, second)):
        return None
    combined = Draft(**values)
    combined = replace(combined, is_fragment=first.is_fragment and second.is_fragment and not _is_complete(combined))
    return combined if _fits(combined) else None


def _is_complete(draft: Draft) -> bool:
    """Return whether fragments make a date: "until" and "Fri", "end of" and "May", "Sat" and "9:30"."""
    if draft.bound not in (None, Bound.WITHIN) or draft.share is not None:
        return draft.has_date or draft.clock is not None
    is_named_day = draft.weekdays is not None and (draft.clock is not None or draft.month is not None)
    return is_named_day or (draft.month is not None and draft.year is not None)


def _fits(draft: Draft) -> bool:
    """Return whether the parts refine each other: a weekday lies in a week, a month in a year."""
    has_time = draft.clock is not None or draft.daypart is not None
    if draft.share is not None and (has_time or draft.day is not None or draft.weekdays is not None):
        return False
    if draft.frame is not None:
        return _fits_frame(draft.frame, draft, has_time=has_time)
    if has_time and not _names_a_day(draft):
        return False
    return not (draft.day is not None and draft.month is None and draft.year is not None)


def _fits_frame(frame: Frame, draft: Draft, *, has_time: bool) -> bool:
    has_day = draft.day is not None or draft.days is not None
    refines_year = draft.month is None or frame.grain is Grain.YEAR
    refines_month = not has_day or draft.month is not None or frame.grain is Grain.MONTH
    refines_week = draft.weekdays is None or draft.every is not None or _is_week_of(frame, draft)
    refines_day = not has_time or frame.grain is Grain.DAY or draft.weekdays is not None or has_day
    is_other_year = draft.year is not None or draft.season is not None
    return not is_other_year and refines_year and refines_month and refines_week and refines_day


def _is_week_of(frame: Frame, draft: Draft) -> bool:
    if frame.grain is Grain.DAY:
        return draft.weekdays == (frame.start.weekday(),)
    return frame.grain is Grain.WEEK or draft.day is not None


def _names_a_day(draft: Draft) -> bool:
    has_period = draft.month is not None or draft.year is not None
    has_day = draft.day is not None or draft.weekdays is not None or draft.every is not None
    return has_day or not has_period
