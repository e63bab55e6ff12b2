"""From the parts of a date to the period it names."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from gaia_memory.language.dates.draft import Draft, Frame, Share
from gaia_memory.language.dates.mention import Anchor, Bound, DateMention, Frequency, Grain, Recurrence

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_MONTHS_PER_UNIT = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}
_EVENING_HOURS = 12
_LAST_AFTERNOON_HOUR = 6
_MINUTES_OF_HALF_AN_HOUR = 30
_PARTS_PER_PERIOD = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """The moment from which dates are counted, in local time; `is_past` completes "in June" with the last June."""

    now: datetime
    zone: tzinfo
    is_past: bool
    assumes_afternoon: bool = False

    @property
    def today(self) -> date:
        """The local date."""
        return self.now.date()


def shift_months(day: date, months: int) -> date:
    """Return the same day of another month, or the last one of a shorter month."""
    number = day.year * 12 + day.month - 1 + months
    year, month = number // 12, number % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def period_around(day: date, grain: Grain, step: int = 0) -> Frame:
    """Return the week, weekend, month, quarter or year of a day, or the one `step` further on."""
    if grain is Grain.DAY:
        return Frame(day + _DAY * step, day + _DAY * (step + 1), grain)
    if grain in (Grain.WEEK, Grain.WEEKEND):
        monday = day - _DAY * day.weekday() + _WEEK * step
        return Frame(monday + _DAY * (5 if grain is Grain.WEEKEND else 0), monday + _WEEK, grain)
    size = _MONTHS_PER_UNIT[grain]
    first = day.replace(month=(day.month - 1) // size * size + 1, day=1)
    start = shift_months(first, size * step)
    return Frame(start, shift_months(start, size), grain)


def resolve(draft: Draft, reference: Reference, span: tuple[int, int]) -> DateMention | None:
    """Return the period that a date names; None if there is none, as on 31 April or after the year 9999."""
    try:
        if draft.every is not None:
            return _resolve_recurrence(draft, reference, span)
        if draft.moment is not None:
            return _resolve_moment(draft, reference, span)
        found = _find_frame(draft, reference)
        if found is None:
            return None
        frame, anchor = found
        return _to_mention(_take_share(frame, draft.share), anchor, draft, reference, span)
    except (OverflowError, ValueError):
        return None


def join_range(first: DateMention, last: DateMention) -> DateMention | None:
    """Return "from A to B" as one date that includes B; up to B if both are times of day."""
    end = last.start if last.has_time else last.end
    if not _is_before(first.start, end):
        return None
    return replace(
        first, end=end, span=(first.span[0], last.span[1]), bound=Bound.WITHIN, has_time=first.has_time or last.has_time
    )


def _resolve_moment(draft: Draft, reference: Reference, span: tuple[int, int]) -> DateMention | None:
    assert draft.moment is not None
    moment, grain, anchor = draft.moment
    bound = draft.bound or Bound.WITHIN
    end = _later(moment, timedelta(minutes=1), reference.zone)
    return DateMention(moment, end, span, grain, anchor, bound, has_time=True)


def _find_frame(draft: Draft, reference: Reference) -> tuple[Frame, Anchor] | None:
    """Return the days that a date names before shares, parts of the day and times."""
    if draft.frame is not None:
        return _refine_frame(draft.frame, draft)
    if draft.season is not None:
        return _season(draft, reference)
    if draft.month is not None:
        return _month_or_day(draft, reference)
    years = (draft.year, draft.year) if draft.year is not None else draft.years
    if years is not None:
        return Frame(date(years[0], 1, 1), date(years[1] + 1, 1, 1), Grain.YEAR), Anchor.STATED
    return _find_day(draft, reference)


def _find_day(draft: Draft, reference: Reference) -> tuple[Frame, Anchor] | None:
    """Return the day that a day of the month, a weekday or a time of day names."""
    if draft.day is not None:
        return _day_of_month(draft.day, reference)
    if draft.weekdays is not None:
        return _weekday(draft.weekdays[0], draft.step, reference)
    return None if draft.clock is None else (_day_of_clock(draft, reference), Anchor.INFERRED)


def _refine_frame(frame: Frame, draft: Draft) -> tuple[Frame, Anchor] | None:
    year, month = frame.start.year, draft.month or frame.start.month
    if draft.days is not None:
        return _days_frame(year, month, draft.days), Anchor.RELATIVE
    if draft.day is not None:
        return period_around(date(year, month, draft.day), Grain.DAY), Anchor.RELATIVE
    if draft.month is not None:
        return period_around(date(year, month, 1), Grain.MONTH), Anchor.RELATIVE
    if draft.weekdays is not None:
        offset = (draft.weekdays[0] - frame.start.weekday()) % 7
        return period_around(frame.start + _DAY * offset, Grain.DAY), Anchor.RELATIVE
    return frame, Anchor.RELATIVE


def _days_frame(year: int, month: int, days: tuple[int, int]) -> Frame:
    return Frame(date(year, month, days[0]), date(year, month, days[1]) + _DAY, Grain.DAY)


def _month_or_day(draft: Draft, reference: Reference) -> tuple[Frame, Anchor] | None:
    month, year, today = draft.month or 1, draft.year, reference.today

    def frame_in(year: int) -> Frame:
        if draft.days is not None:
            return _days_frame(year, month, draft.days)
        has_day = draft.day is not None and draft.day <= calendar.monthrange(year, month)[1]
        return period_around(date(year, month, (has_day and draft.day) or 1), Grain.DAY if has_day else Grain.MONTH)

    if year is not None:
        return frame_in(year), Anchor.STATED
    if draft.step is not None:
        return _stepped(frame_in, draft.step, today), Anchor.RELATIVE
    if draft.day == 29 and month == 2:
        leap_years = [each for each in range(today.year - 8, today.year + 9) if calendar.isleap(each)]
        frames = [frame_in(each) for each in leap_years]
    else:
        frames = [frame_in(each) for each in range(max(1, today.year - 1), min(9998, today.year + 1) + 1)]
    frame = _nearest(frames, reference)
    if frame is not None and draft.weekdays is not None and frame.start.weekday() not in draft.weekdays:
        # "Tuesday, 5 May" names the year in which the 5th is a Tuesday.
        others = (frame_in(today.year + offset) for offset in (-1, 1, 0, 2, -2, -3, 3, 4, -4, 5, -5, 6, -6))
        frame = next((each for each in others if each.start.weekday() in draft.weekdays), frame)
    return None if frame is None else (frame, Anchor.YEARLESS)


def _stepped(frame_in: Callable[[int], Frame], step: int, today: date) -> Frame:
    """Return the period of the last, this or the next occurrence of a month."""
    if step == 0:
        return frame_in(today.year)
    if step > 0:
        return next(each for each in map(frame_in, (today.year, today.year + 1)) if each.start > today)
    return next(each for each in map(frame_in, (today.year, today.year - 1)) if each.end <= today)


def _nearest(frames: list[Frame], reference: Reference) -> Frame | None:
    """Return the last period that has begun, or the first that has not ended."""
    today = reference.today
    if reference.is_past:
        return next((each for each in reversed(frames) if each.start <= today), None)
    return next((each for each in frames if each.end > today), None)


def _season(draft: Draft, reference: Reference) -> tuple[Frame, Anchor] | None:
    first_month = draft.season or 1

    def frame_in(year: int) -> Frame:
        start = date(year, first_month, 1)
        return Frame(start, shift_months(start, 3), Grain.SEASON)

    today = reference.today
    if draft.year is not None:
        return frame_in(draft.year), Anchor.STATED
    if draft.step is not None and draft.step != 0:
        return _stepped(frame_in, draft.step, today), Anchor.RELATIVE
    frames = [frame_in(each) for each in range(max(1, today.year - 1), min(9998, today.year + 1) + 1)]
    anchor = Anchor.YEARLESS if draft.step is None else Anchor.RELATIVE
    nearest = _nearest(frames, reference)
    return None if nearest is None else (nearest, anchor)


def _day_of_month(day: int, reference: Reference) -> tuple[Frame, Anchor]:
    today = reference.today
    months = [shift_months(today.replace(day=1), offset) for offset in range(-2, 4)]
    days = [each.replace(day=day) for each in months if day <= calendar.monthrange(each.year, each.month)[1]]
    chosen = max(each for each in days if each <= today) if reference.is_past else min(e for e in days if e >= today)
    return period_around(chosen, Grain.DAY), Anchor.INFERRED


def _weekday(weekday: int, step: int | None, reference: Reference) -> tuple[Frame, Anchor]:
    """Return the day with this name.

    "Last" and "next" Friday are the nearest before and after today, "this Friday" may be today, and a bare "Friday" is
    the nearest after today, or before it where the past is preferred. A step of 2 skips a week.
    """
    today = reference.today
    ahead, back = (weekday - today.weekday()) % 7, (today.weekday() - weekday) % 7
    if step == 0:
        day = today + _DAY * ahead
    elif (step or 0) < 0 or (step is None and reference.is_past):
        day = today - _DAY * (back or 7)
    else:
        day = today + _DAY * (ahead or 7) + _WEEK * ((step or 1) - 1)
    return period_around(day, Grain.DAY), Anchor.INFERRED if step is None else Anchor.RELATIVE


def _day_of_clock(draft: Draft, reference: Reference) -> Frame:
    """Return the day on which this time comes next, or was last."""
    assert draft.clock is not None
    hour, minute = _local_hour(draft, reference), draft.clock.minute or 0
    is_later = (hour, minute) > (reference.now.hour, reference.now.minute)
    if reference.is_past:
        return period_around(reference.today, Grain.DAY, -1 if is_later else 0)
    return period_around(reference.today, Grain.DAY, 0 if is_later else 1)


def _take_share(frame: Frame, share: Share | None) -> Frame:
    """Return the first, second or last third of a period; the last third of a month begins on the 21st."""
    if share is None:
        return frame
    third = (frame.end - frame.start) // _PARTS_PER_PERIOD
    first, second = frame.start + third, frame.start + third * 2
    start, end = {
        Share.EARLY: (frame.start, first),
        Share.MIDDLE: (first, second),
        Share.LATE: (second, frame.end),
    }[share]
    return Frame(start, end, frame.grain)


def _to_mention(
    frame: Frame, anchor: Anchor, draft: Draft, reference: Reference, span: tuple[int, int]
) -> DateMention | None:
    bound, zone = draft.bound or Bound.WITHIN, reference.zone
    if draft.clock is not None:
        start, end, grain = _clock_period(frame.start, draft, reference)
    elif draft.daypart is not None:
        first, last = draft.daypart
        start, end = _at_hour(frame.start, first, zone), _at_hour(frame.start, last, zone)
        grain = Grain.PART_OF_DAY
    else:
        start, end, grain = _at_hour(frame.start, 0, zone), _at_hour(frame.end, 0, zone), frame.grain
    if not _is_before(start, end):
        return None
    return DateMention(start, end, span, grain, anchor, bound, has_time=draft.clock is not None)


def _clock_period(day: date, draft: Draft, reference: Reference) -> tuple[datetime, datetime, Grain]:
    assert draft.clock is not None
    zone, clock = reference.zone, draft.clock
    start = _at_hour(day, _local_hour(draft, reference), zone, clock.minute or 0)
    if draft.end_clock is not None:
        end_draft = replace(draft, clock=draft.end_clock)
        end = _at_hour(day, _local_hour(end_draft, reference), zone, draft.end_clock.minute or 0)
        return start, end, Grain.HOUR
    grain = Grain.HOUR if clock.minute is None else Grain.MINUTE
    return start, _later(start, timedelta(hours=1) if grain is Grain.HOUR else timedelta(minutes=1), zone), grain


def _local_hour(draft: Draft, reference: Reference) -> int:
    """Return the hour on the 24-hour clock, beyond 24 for the small hours of a night.

    In English an hour from 1 to 6 without "am" is in the afternoon: nobody means three at night by "at 3". Of "quarter
    to five", that is five.
    """
    assert draft.clock is not None
    clock = draft.clock
    if clock.meridiem:
        return clock.hour % 12 + (_EVENING_HOURS if clock.meridiem == "p" else 0)
    if draft.daypart is not None:
        first, last = draft.daypart
        return next(
            (hour for hour in (clock.hour, clock.hour + 12, clock.hour + 24) if first <= hour < last), clock.hour
        )
    named_hour = clock.hour + ((clock.minute or 0) > _MINUTES_OF_HALF_AN_HOUR)
    is_spoken = clock.minute is None or clock.is_spoken
    if reference.assumes_afternoon and is_spoken and 1 <= named_hour <= _LAST_AFTERNOON_HOUR:
        return clock.hour + _EVENING_HOURS
    return clock.hour


def _resolve_recurrence(draft: Draft, reference: Reference, span: tuple[int, int]) -> DateMention | None:
    assert draft.every is not None
    every = draft.every
    at = None
    if draft.clock is not None:
        at = time(_local_hour(draft, reference) % 24, draft.clock.minute or 0)
    elif draft.daypart is not None:
        at = time(draft.daypart[0] % 24)
    frequency = every.frequency
    if draft.month is not None:
        frequency = Frequency.YEARLY
    elif draft.day is not None:
        frequency = Frequency.MONTHLY
    recurrence = Recurrence(frequency, every.interval, draft.weekdays or (), draft.day, draft.month, at)
    day, grain = _first_day(recurrence, reference)
    zone = reference.zone
    if at is None:
        start, end = _at_hour(day, 0, zone), _at_hour(day + _DAY, 0, zone)
    else:
        start = _at_hour(day, at.hour, zone, at.minute)
        end = _later(start, timedelta(minutes=1), zone)
        grain = Grain.MINUTE if draft.clock is not None and draft.clock.minute is not None else Grain.HOUR
    if not _is_before(start, end):
        return None
    return DateMention(
        start, end, span, grain, Anchor.RELATIVE, Bound.WITHIN, has_time=draft.clock is not None, recurrence=recurrence
    )


def _first_day(recurrence: Recurrence, reference: Reference) -> tuple[date, Grain]:
    """Return the first day of a recurrence that is not over: today counts if its time is still to come."""
    now, today = reference.now, reference.today
    is_over = recurrence.at is not None and (recurrence.at.hour, recurrence.at.minute) <= (now.hour, now.minute)
    first = today + _DAY if is_over else today
    if recurrence.weekdays:
        return min(first + _DAY * ((day - first.weekday()) % 7) for day in recurrence.weekdays), Grain.DAY
    if recurrence.day is not None:
        for offset in range(0, 12 * 9):
            month = shift_months(first.replace(day=1), offset)
            is_month = recurrence.month in (None, month.month)
            if is_month and recurrence.day <= calendar.monthrange(month.year, month.month)[1]:
                day = month.replace(day=recurrence.day)
                if day >= first:
                    return day, Grain.DAY
        raise ValueError
    grains = {Frequency.WEEKLY: Grain.WEEK, Frequency.MONTHLY: Grain.MONTH, Frequency.YEARLY: Grain.YEAR}
    if recurrence.month is not None:
        frames = [period_around(date(year, recurrence.month, 1), Grain.MONTH) for year in (first.year, first.year + 1)]
        return next(max(each.start, first) for each in frames if each.end > first), Grain.MONTH
    return first, grains.get(recurrence.frequency, Grain.DAY)


def _at_hour(day: date, hour: int, zone: tzinfo, minute: int = 0) -> datetime:
    """Return a local time as it exists: one that the clocks skip becomes the same time after the change."""
    moment = datetime.combine(day + _DAY * (hour // 24), time(hour % 24, minute), tzinfo=zone)
    return _existing(moment, zone)


def _existing(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:
        return moment


def _later(moment: datetime, span: timedelta, zone: tzinfo) -> datetime:
    """Return a time that much later on the clock of the world, not of the wall."""
    return (moment.astimezone(UTC) + span).astimezone(zone)


def _is_before(start: datetime, end: datetime) -> bool:
    return start.astimezone(UTC) < end.astimezone(UTC)
