"""What the phrases of dates mean, in any language."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from gaia_memory.language.dates.draft import Draft, Every, Frame, Share
from gaia_memory.language.dates.grammar import Meaning, Values
from gaia_memory.language.dates.mention import Anchor, Bound, Frequency, Grain
from gaia_memory.language.dates.numeric_dates import CalendarDate, Clock, IsoMoment
from gaia_memory.language.dates.resolution import Reference, period_around, shift_months

_FREQUENCIES = {
    Grain.HOUR: Frequency.HOURLY,
    Grain.DAY: Frequency.DAILY,
    Grain.WEEK: Frequency.WEEKLY,
    Grain.MONTH: Frequency.MONTHLY,
    Grain.YEAR: Frequency.YEARLY,
}
_SLOT_FIELDS = ("year", "month", "day", "days", "years", "season")
_WEEKDAY_SLOTS = ("weekday", "short_weekday", "bare_weekday", "habit")
_OTHER_SLOTS = {"bare_month": "month", "ordinal_day": "day"}
WORKDAYS = (0, 1, 2, 3, 4)


def day(offset: int, daypart: tuple[int, int] | None = None) -> Meaning:
    """Return the meaning of "tomorrow" and the like; a slot `part` names the part of the day."""

    def read(values: Values, reference: Reference) -> Draft:
        return Draft(frame=period_around(reference.today, Grain.DAY, offset), daypart=values.get("part", daypart))

    return read


def counted(
    sign: int, count: int | None = None, bound: Bound | None = None, counted_unit: Grain | None = None
) -> Meaning:
    """Return the meaning of "in three weeks" (+1), "three weeks ago" (-1) and, without slots, "in half an hour"."""

    def read(values: Values, reference: Reference) -> Draft:
        number = sign * (values["count"] if count is None else count)
        unit = counted_unit or values["unit"]
        if unit in (Grain.MINUTE, Grain.HOUR):
            return Draft(moment=(_shift_clock(reference, number, unit), unit, Anchor.CLOCK), bound=bound)
        shifted = _shift(reference.today, number, unit)
        return Draft(frame=Frame(shifted, shifted + timedelta(days=1), unit), bound=bound)

    return read


def stretch(sign: int) -> Meaning:
    """Return the meaning of "the last three weeks": so many days up to today, or from today on."""

    def read(values: Values, reference: Reference) -> Draft | None:
        unit, today = values["unit"], reference.today
        if unit in (Grain.MINUTE, Grain.HOUR):
            return None
        other = _shift(today, sign * values["count"], unit)
        tomorrow = today + timedelta(days=1)
        return Draft(frame=Frame(other, tomorrow, unit) if sign < 0 else Frame(today, other + timedelta(days=1), unit))

    return read


def adjacent(step: int, share: Share | None = None, grain: Grain | None = None) -> Meaning:
    """Return the meaning of "last", "this" and "next" week, weekend, month, quarter or year, or this `grain`."""

    def read(values: Values, reference: Reference) -> Draft:
        return Draft(frame=period_around(reference.today, grain or values["period"], step), share=share)

    return read


def weekday(step: int | None = None, part: tuple[int, int] | None = None) -> Meaning:
    """Return the meaning of "last", "this" and "coming" Friday, and of "Friday" alone, in a part of the day."""

    def read(values: Values, _: Reference) -> Draft:
        number, hours = _weekday_and_part(values)
        return Draft(weekdays=None if number is None else (number,), step=step, daypart=hours or part)

    return read


def next_weekday(values: Values, reference: Reference) -> Draft:
    """Read "next Friday": on Thursday, that of the next week, as nobody says it of tomorrow."""
    number, hours = _weekday_and_part(values)
    is_tomorrow = number == reference.today.weekday() + 1
    return Draft(weekdays=None if number is None else (number,), step=2 if is_tomorrow else 1, daypart=hours)


def weekday_fragment(values: Values, _: Reference) -> Draft:
    """Read "Fri", a day only next to a date or a time."""
    return Draft(weekdays=(values["short_weekday"],), is_fragment=True)


def stepped(step: int) -> Meaning:
    """Return the meaning of "last", "this" and "next" March, summer or Christmas."""
    return lambda values, reference: _with_step(written(values, reference), step)


def written(values: Values, _: Reference) -> Draft:
    """Read the days, months, years, seasons and times of the slots as they stand."""
    fields = {name: values[name] for name in _SLOT_FIELDS if name in values}
    fields |= {name: values[slot] for slot, name in _OTHER_SLOTS.items() if slot in values}
    if "holiday" in values:
        fields["month"], fields["day"] = values["holiday"]
    return Draft(**fields)


def fixed(month: int, day: int) -> Meaning:
    """Return the meaning of a day that is the same every year."""
    return lambda _values, _reference: Draft(month=month, day=day)


def fragment(values: Values, reference: Reference) -> Draft:
    """Read what is a date only next to another part: "in the morning", "2023", "May"."""
    return replace(written(values, reference), daypart=values.get("part"), is_fragment=True)


def share(part: Share) -> Meaning:
    """Return the meaning of "end of", before a period."""
    return lambda _values, _reference: Draft(share=part, is_fragment=True)


def limit(bound: Bound) -> Meaning:
    """Return the meaning of "until", "since" and the like, before a date."""
    return lambda _values, _reference: Draft(bound=bound, is_fragment=True)


def limit_day(bound: Bound) -> Meaning:
    """Return the meaning of "until the 15th" where the day is a plain number."""
    return lambda values, _: Draft(day=values["day"], bound=bound)


def numeric(values: Values, reference: Reference) -> Draft | None:
    """Read a date in digits."""
    value = values.get("numeric") or values["short_date"]
    if isinstance(value, CalendarDate):
        return Draft(year=value.year, month=value.month, day=value.day)
    if isinstance(value, IsoMoment):
        if value.offset is None:
            return Draft(year=value.date.year, month=value.date.month, day=value.date.day, clock=value.clock)
        stated = datetime(
            value.date.year or 1, value.date.month, value.date.day or 1, value.clock.hour % 24, tzinfo=UTC
        )
        moment = stated + timedelta(minutes=(value.clock.minute or 0) - value.offset)
        return Draft(moment=(moment.astimezone(reference.zone), Grain.MINUTE, Anchor.STATED))
    return None


def numeric_fragment(values: Values, reference: Reference) -> Draft | None:
    """Read digits that are a date only after a preposition or next to a weekday: "24.12"."""
    draft = numeric(values, reference)
    return None if draft is None else replace(draft, is_fragment=True)


def clock(values: Values, _: Reference) -> Draft | None:
    """Read a time of day: slots `clock` or `hour`, `minute`, `meridiem`, and `part` of the day."""
    value = _time_of_day(values)
    if "meridiem" in values:
        if not 1 <= value.hour <= 12 or value.meridiem:
            return None
        value = Clock(value.hour, value.minute, values["meridiem"])
    return Draft(clock=value, daypart=values.get("part"))


def clock_fragment(values: Values, reference: Reference) -> Draft | None:
    """Read a time of day that is one only next to a date: "9:30"."""
    draft = clock(values, reference)
    return None if draft is None else replace(draft, is_fragment=True)


def shifted_clock(minutes: int, meridiem: str = "") -> Meaning:
    """Return the meaning of "half past nine": an hour and minutes, before it if negative."""

    def read(values: Values, _: Reference) -> Draft:
        hour = values["hour"] - (1 if minutes < 0 else 0)
        stated = Clock(hour % 24 if hour >= 0 else 12, minutes % 60, values.get("meridiem", meridiem), is_spoken=True)
        return Draft(clock=stated, daypart=values.get("part"))

    return read


def clock_with(*, meridiem: str | None = None, part: tuple[int, int] | None = None) -> Meaning:
    """Return the meaning of a time of day followed by "p.m." or "at night"."""
    added = {"meridiem": meridiem} if meridiem else {"part": part}
    return lambda values, reference: clock({**values, **added}, reference)


def clock_word(hour: int) -> Meaning:
    """Return the meaning of "noon" and "midnight" without a preposition: a time only next to a date."""
    return lambda _values, _reference: Draft(clock=Clock(hour, 0), is_fragment=True)


def at_hour(hour: int) -> Meaning:
    """Return the meaning of "noon" (12) and "midnight" (24)."""
    return lambda _values, _reference: Draft(clock=Clock(hour, 0))


def clock_range(values: Values, _: Reference) -> Draft | None:
    """Read "9-11" as times of day."""
    first, last = values["days"]
    meridiem = values.get("meridiem", "")
    return Draft(clock=Clock(first, 0, meridiem), end_clock=Clock(last, 0, meridiem)) if last <= 24 else None


def every(
    interval: int = 1,
    frequency: Frequency | None = None,
    weekdays: tuple[int, ...] | None = None,
    part: tuple[int, int] | None = None,
) -> Meaning:
    """Return the meaning of "every Monday", "every two weeks", "every morning", "every 5 May"."""

    def read(values: Values, reference: Reference) -> Draft | None:
        number, hours = _weekday_and_part(values)
        hours = hours or part
        days = weekdays if number is None else (number,)
        by_slot = Frequency.WEEKLY if days else Frequency.DAILY if hours else Frequency.YEARLY
        unit = _FREQUENCIES.get(values["unit"]) if "unit" in values else by_slot
        chosen = frequency or unit
        if chosen is None:
            return None
        return Draft(
            every=Every(chosen, values.get("count", interval)),
            weekdays=days,
            daypart=hours,
            day=values.get("day", values.get("ordinal_day")),
            month=values.get("month"),
            clock=_time_of_day(values) if "clock" in values or "hour" in values else None,
        )

    return read


def _weekday_and_part(values: Values) -> tuple[int | None, tuple[int, int] | None]:
    """Return the weekday and the part of the day, which German writes as one word: "Montagabend"."""
    if "weekday_part" in values:
        number, hours = values["weekday_part"]
        return number, hours
    number = next((values[name] for name in _WEEKDAY_SLOTS if name in values), None)
    return number, values.get("part")


def _time_of_day(values: Values) -> Clock:
    return values.get("clock") or values.get("dotted_clock") or Clock(values["hour"], values.get("minute"))


def _with_step(draft: Draft, step: int) -> Draft:
    return Draft(month=draft.month, day=draft.day, season=draft.season, step=step)


def _shift(today: date, number: int, unit: Grain) -> date:
    if unit in (Grain.MONTH, Grain.QUARTER, Grain.YEAR):
        return shift_months(today, number * {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[unit])
    return today + timedelta(days=number * (1 if unit is Grain.DAY else 7))


def _shift_clock(reference: Reference, number: int, unit: Grain) -> datetime:
    span = timedelta(hours=number) if unit is Grain.HOUR else timedelta(minutes=number)
    moment = reference.now.astimezone(UTC) + span
    return moment.replace(second=0, microsecond=0).astimezone(reference.zone)
