"""Reads the dates of a text: puts their parts together and resolves them at a time and place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from gaia_memory.language.dates.mention import Bound, DateMention, Grain
from gaia_memory.language.dates.phrases import Clock, Cycle, Day, Phrases

Direction = Literal["future", "past"]

_ONE_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
_BOUNDS: dict[str, Bound] = {
    **{"until": "until", "till": "until", "til": "until", "through": "until", "before": "before", "since": "since"},
    **{"from": "since", "after": "after", "by": "within", "between": "within"},
}
_LEADS = frozenset(("on", "at", "in", "the", "during", "around", "about", "over", "of", "early", "mid", "late"))
_RRULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def read_dates(text: str, now: datetime, zone: tzinfo, *, direction: Direction = "future") -> list[DateMention]:
    """Return the dates in an English text in their order; they do not overlap.

    `now` is when the text was written, `zone` where. `direction` completes a date without a year, a bare weekday or
    a time: "in June" is the next June or, with "past", the last one; a period that goes on now counts as both.
    """
    reader = _Reader(text, now, zone, is_past=direction == "past")
    mentions, at = list[DateMention](), 0
    while at < len(reader.spans):
        mention, after = reader.mention(at)
        mentions += [mention] if mention else []
        at = max(at + 1, after)
    return mentions


def read_date(text: str, now: datetime, zone: tzinfo, *, direction: Direction = "future") -> DateMention | None:
    """Return the date that a text is, in ISO 8601 or words such as "next Friday at 9"; None for any other text.

    A text with several dates, or with numbers beside the one, is none.
    """
    stated = read_iso(text)
    text = text if stated is None else stated.isoformat()
    mentions = read_dates(text, now, zone, direction=direction)
    left_out = text[: mentions[0].span[0]] + text[mentions[0].span[1] :] if len(mentions) == 1 else "0"
    return None if any(map(str.isdigit, left_out)) else mentions[0]


_ISO_YEARS = range(1000, 9000)
"""At the ends of the calendar, which some programs write for "always", no zone and no next day can be counted."""


def read_iso(text: object) -> date | datetime | None:
    """Return a day or a time in ISO 8601, with its zone if it has one; None for anything else, such as `9999-12-31`."""
    try:
        if not isinstance(text, str):
            return None
        found = date.fromisoformat(text) if len(text) <= len("2026-01-01") else datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.year in _ISO_YEARS else None


class _Reader(Phrases):
    def mention(self, at: int) -> tuple[DateMention | None, int]:
        """Return the date that begins at a token with its prepositions, and the place after it."""
        begin, (at, lead, bound) = at, self._skip_leads(at)
        try:
            day, clock, cycle, after = self._parts(at, lead)
            if not after:
                return None, begin
            if cycle is not None:
                begun, after = self._beginning(after)
                clock = clock or (begun and begun[1])
                day = day or (begun and begun[0])
            span = (self.spans[begin][0], self.spans[after - 1][1])
            return (self._recur(cycle, day, clock, span) if cycle else self._resolve(day, clock, span, bound)), after
        except (OverflowError, ValueError, IndexError):
            return None, begin

    def _skip_leads(self, at: int) -> tuple[int, str, Bound]:
        lead, bound = "", _BOUNDS["by"]
        for _ in range(3):
            word = self.words[at]
            if word in _BOUNDS and not lead:
                bound = _BOUNDS[word]
            elif word not in _LEADS:
                break
            lead, at = (lead if word == "the" and lead else word), at + 1
        return at, lead, bound

    def _parts(self, at: int, lead: str) -> tuple[Day | None, Clock | None, Cycle | None, int]:
        day, clock, cycle, after = None, None, None, 0
        while at < len(self.spans):
            if cycle is None and (recurring := self.cycle(at, lead)):
                cycle, after = recurring
            elif day is None and cycle is None and (dated := self.day(at, lead)):
                day, after = dated
            elif clock is None and (timed := self.clock(at, lead, is_alone=day is None and cycle is None)):
                clock, after = timed
            else:
                break
            if day is not None and day.moment is not None:
                break
            at, lead, bound = self._skip_leads(after + (self.words[after] == ","))
            if bound != "within":
                break
        return day, clock, cycle, after

    def _resolve(self, day: Day | None, clock: Clock | None, span: tuple[int, int], bound: Bound) -> DateMention | None:
        if day is not None and day.moment is not None:
            mention = DateMention(day.moment, day.moment + _MINUTE, span, "time", day.anchor, bound)
            return replace(mention, has_time=day.anchor == "stated")
        if day is not None and clock is None:
            first, last = day.part or (0, 24 * (day.end - day.start).days)
            start, end = _at(day.start, first, 0, self.zone), _at(day.start, last, 0, self.zone)
            return DateMention(start, end, span, "part" if day.part else day.grain, day.anchor, bound)
        if clock is None or (day is not None and day.end - day.start > _ONE_DAY):
            return None
        start = self._at_clock(day.start if day else self.now.astimezone(clock.zone or self.zone).date(), clock, day)
        if day is None and (start > self.now) == self.is_past:
            start += -_ONE_DAY if self.is_past else _ONE_DAY
        anchor, end = day.anchor if day else "clock", start + _MINUTE
        return DateMention(start, end, span, "time", anchor, bound, has_time=True, unread_zone=clock.unread_zone)

    def _at_clock(self, on: date, clock: Clock, day: Day | None) -> datetime:
        hour, part = clock.hour, (day and day.part) or (0, 30)
        hour = next((each for each in (hour, hour + 12, hour + 24) if part[0] <= each < part[1]), hour)
        return _at(on, hour, clock.minute, clock.zone or self.zone).astimezone(self.zone)

    def _beginning(self, after: int) -> tuple[tuple[Day | None, Clock | None] | None, int]:
        """Return the day of "every 4 weeks, next on Wednesday" or "starting 5 January at 9"."""
        at = after + (self.words[after] == ",")
        if self.words[at] not in ("starting", "beginning", "from", "next", "first"):
            return None, after
        at, lead, _ = self._skip_leads(at + 1)
        day, clock, cycle, end = self._parts(at, lead or "on")
        return ((day, clock), end) if day and not cycle else (None, after)

    def _recur(self, cycle: Cycle, begun: Day | None, clock: Clock | None, span: tuple[int, int]) -> DateMention | None:
        if not cycle.frequency:
            return None
        timed = clock or (Clock(cycle.part[0]) if cycle.part else Clock(0))
        first = begun.start if begun else self.today
        if first == self.today and (clock or cycle.part) and self._at_clock(first, timed, None) <= self.now:
            first += _ONE_DAY
        weekdays = ",".join(_RRULE_DAYS[day] for day in cycle.weekdays)
        parts = (("BYMONTH", cycle.month), ("BYMONTHDAY", cycle.day), ("BYDAY", weekdays))
        days = ";".join(f"{name}={value}" for name, value in parts if value)
        if days:
            # Late: only what recurs needs it.
            from dateutil.rrule import rrulestr

            midnight = datetime.combine(first, time())
            first = rrulestr(f"FREQ={cycle.frequency};{days}", dtstart=midnight)[0].date()
        start = self._at_clock(first, timed, None)
        end = start + _MINUTE if clock else _at(first + _ONE_DAY, 0, 0, self.zone)
        grain: Grain = "time" if clock else "part" if cycle.part else "day"
        every = cycle.frequency.lower()
        if cycle.interval > 1 or len(cycle.weekdays) > 1:
            every = f"FREQ={cycle.frequency};INTERVAL={cycle.interval};{days}".replace(";INTERVAL=1", "").rstrip(";")
        mention = DateMention(start, end, span, grain, "relative", has_time=clock is not None)
        return replace(mention, every=every, unread_zone=timed.unread_zone)


def _at(day: date, hour: int, minute: int, zone: tzinfo) -> datetime:
    """Return a local time as it exists: one that the clocks skip becomes the same time after the change."""
    local = datetime.combine(day + _ONE_DAY * (hour // 24), time(hour % 24, minute), tzinfo=zone)
    return local.astimezone(UTC).astimezone(zone)
