"""The parts of an English date, read at one token: a day or period, a time of day, a recurrence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from gaia_memory.language.dates import calendar_words as words
from gaia_memory.language.dates.calendar_words import ALL_WEEKDAYS, DAY_PARTS, MONTHS, UNITS, WEEKDAYS, add_months
from gaia_memory.language.dates.mention import Anchor, Grain

_ONE_DAY = timedelta(days=1)
_DAY_GROUPS = {"weekday": (0, 1, 2, 3, 4), "workday": (0, 1, 2, 3, 4), "weekend": (5, 6)}
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
_DAY_LEADS = frozenset(("on", "by", "until", "till", "before", "after", "since", "from"))
_PERIOD_LEADS = _DAY_LEADS.union(("in", "of", "during", "between", "to", "early", "mid", "late", "at", "through"))
_AFTER_A_NUMBER = frozenset(("in", "at", "with", "for", "and", "or", "on", "by", "near", "to", "so", "but", "of", "i"))


@dataclass(frozen=True, slots=True)
class Day:
    """A period of whole days, with the hours of a part of it; or an exact `moment`."""

    start: date
    end: date
    grain: Grain = "day"
    anchor: Anchor = "relative"
    part: tuple[int, int] | None = None
    moment: datetime | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day, on the next one from hour 24 on, in a zone of its own or one whose name is not known."""

    hour: int
    minute: int = 0
    zone: tzinfo | None = None
    unread_zone: str | None = None


@dataclass(frozen=True, slots=True)
class Cycle:
    """A recurrence, as in an RRULE; one of hours or minutes has no frequency."""

    frequency: str
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    month: int | None = None
    part: tuple[int, int] | None = None


class Phrases:
    """The tokens of a text. What is read begins at one, after the preposition `lead`; its end is returned with it."""

    def __init__(self, text: str, now: datetime, zone: tzinfo, *, is_past: bool) -> None:
        """Split a text that was written at a local time; `is_past` tells where it leaves open which day is meant."""
        found = list(words.TOKEN.finditer(text))
        self.spans = [each.span() for each in found]
        self.raw = [*(each[0] for each in found), *[""] * 6]
        self.words = [each.casefold().replace("\u2019", "'") for each in self.raw]
        self.now, self.zone, self.is_past, self.today = now, zone, is_past, now.date()
        self._years = range(max(1, self.today.year - 9), min(9998, self.today.year + 9))

    def day(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return a day, a period or a moment."""
        found = self._named(at) or self._counted(at, lead) or self._adjacent(at, lead) or self._weekday(at, lead)
        return found or self._calendar_day(at, lead) or self._month(at, lead)

    def clock(self, at: int, lead: str, *, is_alone: bool) -> tuple[Clock, int] | None:
        """Return a time of day; a bare number is one after "at", and alone only where nothing is counted."""
        if self.words[at] in ("noon", "midday", "midnight"):
            return Clock(24 if self.words[at] == "midnight" else 12), at + 1
        is_spoken, ((hour, minute, meridiem), after) = True, self._spoken_time(at)
        if hour < 0 and (time := words.clock_time(self.words[at])):
            is_spoken, (hour, minute, meridiem) = False, time
        elif hour < 0:
            hour = self._number(at) if self.words[at].isdecimal() else -1
        if not 0 <= hour <= 24:
            return None
        sign = "".join(self.words[after : after + 3])
        if not meridiem and (self.words[after] in ("am", "pm") or sign in ("a.m", "p.m")):
            meridiem, after = f"{sign[0]}m", after + (1 if sign[1] == "m" else 3 + (self.words[after + 3] == "."))
        is_marked = bool(meridiem) or not is_spoken or minute > 0 or self.words[after] == "o'clock"
        after += self.words[after] == "o'clock"
        part = DAY_PARTS.get(self.words[after + 2]) if self.words[after : after + 2] == ["in", "the"] else None
        after += 3 * (part is not None)
        zone, unread_zone, end = self._zone(after)
        if not (is_marked or part):
            is_free = self._is_free(after) or end > after or self.day(after, "on") is not None
            if lead not in ("at", "around") or self.words[after] in UNITS or (is_alone and not is_free):
                return None
        return Clock(_to_24_hours(hour, minute, meridiem, part, is_spoken=is_spoken), minute, zone, unread_zone), end

    def cycle(self, at: int, lead: str) -> tuple[Cycle, int] | None:
        """Return a recurrence."""
        word = self.words[at]
        if word in ("every", "each"):
            return self._every(at + 1)
        if word in words.FREQUENCIES and self._is_free(at + 1):
            return self._on_days(Cycle(words.FREQUENCIES[word]), at + 1)
        if lead == "on" and word.endswith("s") and word[:-1] in (*WEEKDAYS, "weekday"):
            return self._every(at, ending="s")
        numbers = words.day_numbers(word) if (self.words[at + 1], self.words[at + 3]) == ("of", "month") else None
        return (Cycle("MONTHLY", day=numbers[0]), at + 4) if numbers else None

    def _every(self, at: int, ending: str = "") -> tuple[Cycle, int] | None:
        interval, number = 1, self._number(at)
        if self.words[at] in ("other", "second") or (number > 1 and self.words[at + 1] not in MONTHS):
            interval, at = max(2, number), at + 1
        word = self.words[at].removesuffix(ending)
        weekdays, after = self._weekday_list(at, ending)
        if weekdays or word in _DAY_GROUPS:
            return Cycle("WEEKLY", interval, weekdays or _DAY_GROUPS[word]), max(after, at + 1)
        if word in DAY_PARTS:
            return Cycle("DAILY", part=DAY_PARTS[word]), at + 1
        if dated := self._day_of_month(at):
            return Cycle("YEARLY", day=dated[1], month=dated[0]), dated[3]
        unit, interval = UNITS.get(word, ""), interval * (2 if word == "fortnight" else 1)
        if unit in ("minute", "hour", ""):
            return (Cycle(""), at + 1) if unit else None
        return self._on_days(
            Cycle({"day": "DAILY", "fortnight": "WEEKLY"}.get(unit, f"{unit.upper()}LY"), interval), at + 1
        )

    def _on_days(self, cycle: Cycle, at: int) -> tuple[Cycle, int]:
        """Add the days of "every week on Monday" or "monthly on the 15th"."""
        weekdays, after = self._weekday_list(at + 1, "")
        if cycle.frequency == "WEEKLY" and self.words[at] == "on" and weekdays:
            return replace(cycle, weekdays=weekdays), after
        at_day = at + 1 + (self.words[at + 1] == "the")
        numbers = words.day_numbers(self.words[at_day])
        if cycle.frequency == "MONTHLY" and self.words[at] == "on" and numbers and numbers[2]:
            return replace(cycle, day=numbers[0]), at_day + 1
        return cycle, at

    def _weekday_list(self, at: int, ending: str) -> tuple[tuple[int, ...], int]:
        found, after = dict[int, None](), at
        while (weekday := ALL_WEEKDAYS.get(self.words[at].removesuffix(ending))) is not None:
            found[weekday] = None
            at = after = at + 1
            while self.words[at] in (",", "and", "&"):
                at += 1
        return tuple(found), after

    def _named(self, at: int) -> tuple[Day, int] | None:
        word, following, third = self.words[at : at + 3]
        if word == "day" and (following, third) in (("before", "yesterday"), ("after", "tomorrow")):
            return self._away(-2 if following == "before" else 2, "day"), at + 3
        part = DAY_PARTS.get("night" if word == "tonight" else following)
        after = at + 1 + (part is not None and word != "tonight")
        if word in words.NAMED_DAYS:
            return replace(self._away(words.NAMED_DAYS[word], "day"), part=part), after
        return (
            (replace(self._away(-(word == "last"), "day"), part=part), after)
            if part and word in ("last", "this")
            else None
        )

    def _counted(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return "two weeks ago", "in about 3 days", "an hour from now"."""
        at += self.words[at] in ("about", "around")
        count, unit, (following, then) = self._number(at), UNITS.get(self.words[at + 1]), self.words[at + 2 : at + 4]
        if count <= 0 or unit is None:
            return None
        if following == "ago":
            return self._away(-count, unit), at + 3
        if following == "from" and then in ("now", "today"):
            return self._away(count, unit), at + 4
        return (self._away(count, unit), at + 2) if lead == "in" and following != "of" else None

    def _adjacent(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return what is counted in whole units or names from here: "last week", "next May"."""
        is_coming = "coming" in self.words[at : at + 2]
        step = 0 if self.words[at] == "weekend" and lead in ("on", "at", "the") else _STEPS.get(self.words[at])
        if step is None:
            return None
        at, step = at + (self.words[at + 1] == "coming") - (self.words[at] == "weekend"), 1 if is_coming else step
        name, after, count = self.words[at + 1], at + 2, self._number(at + 1)
        if step and count > 0 and (unit := UNITS.get(self.words[at + 2])):
            first, last = sorted((self._away(step * count, unit).start, self.today))
            return Day(first, last + _ONE_DAY), at + 3
        if (period := self._unit_period(name, step)) and self.words[after] != "of":
            on = after + (self.words[after] == "on")
            if name == "week" and self.words[on] in WEEKDAYS:
                return _one(period.start + _ONE_DAY * WEEKDAYS[self.words[on]]), on + 1
            return period, after
        if name in ALL_WEEKDAYS:
            part = DAY_PARTS.get(self.words[after])
            day = self._stepped_weekday(ALL_WEEKDAYS[name], step, is_coming=is_coming)
            return replace(day, part=part), after + (part is not None)
        return self._choose(self._periods_of(name), Day(self.today, self.today, "month"), step, after)

    def _unit_period(self, unit: str, step: int) -> Day | None:
        monday = self.today + _ONE_DAY * (7 * step - self.today.weekday())
        if unit in ("week", "weekend"):
            return Day(
                monday + _ONE_DAY * (5 * (unit == "weekend")),
                monday + 7 * _ONE_DAY,
                "week" if unit == "week" else "day",
            )
        months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
        if months is None:
            return None
        first = self.today.replace(day=1, month=(self.today.month - 1) // months * months + 1)
        grain: Grain = "year" if unit == "year" else "month"
        return Day(add_months(first, step * months), add_months(first, (step + 1) * months), grain)

    def _weekday(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return "Friday", "Fri 9:30", "Friday, 27 March", "Friday of next week", "Friday morning"."""
        is_short = self.words[at] not in WEEKDAYS and not (lead in _DAY_LEADS or self.words[at + 1][:1].isdecimal())
        weekday = None if is_short else ALL_WEEKDAYS.get(self.words[at])
        if weekday is None or self.words[at - 1] in ("black", "good", "ash"):
            return None
        after = at + 1
        dated_at = after + (self.words[after] in (",", "."))
        dated_at += self.words[dated_at] in ("the", "on")
        if dated := self._calendar_day(dated_at, "on"):
            return dated
        week = self._adjacent(after + (self.words[after] == "of"), "")
        if week and week[0].grain == "week":
            return _one(week[0].start + _ONE_DAY * weekday), week[1]
        part = DAY_PARTS.get(self.words[after])
        day = self._stepped_weekday(weekday, -1 if self.is_past else 1, is_coming=True)
        return replace(day, part=part, anchor="inferred"), after + (part is not None)

    def _stepped_weekday(self, weekday: int, step: int, *, is_coming: bool) -> Day:
        """Return the last, this or the next one; said on Thursday, "next Friday" is in the next week."""
        ahead = (weekday - self.today.weekday()) % 7
        if step < 0:
            return _one(self.today + _ONE_DAY * (ahead - 7))
        is_of_next_week = ahead == 1 and weekday > self.today.weekday() and not is_coming
        return _one(self.today + _ONE_DAY * (ahead + 7 * (step > 0 and (ahead == 0 or is_of_next_week))))

    def _calendar_day(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return "2026-03-27", "27/3/2026", "7 May 2023", "May 7th", "3-5 May", "on the 3rd"."""
        if self.words[at][10:11] == "t":
            moment = datetime.fromisoformat(self.raw[at].upper())
            local = moment.replace(tzinfo=self.zone) if moment.tzinfo is None else moment.astimezone(self.zone)
            return Day(local.date(), local.date(), "time", "stated", moment=local), at + 1
        if days := words.numeric_days(self.words[at]):
            return Day(*days, "day" if days[1] - days[0] == _ONE_DAY else "month", "stated"), at + 1
        if dated := self._day_of_month(at):
            month, first, last, after = dated
            year, after = self._year(after)
            is_amount = year is None and self.words[after].isdecimal() and len(self.words[after]) > 2
            days_of_years = ((each, month) for each in ([year] if year else [] if is_amount else self._years))
            return self._choose_day(days_of_years, first, last, "stated" if year else "yearless", after)
        numbers = words.day_numbers(self.words[at])
        if numbers and numbers[2] and lead in {*_DAY_LEADS, "the"} and self._is_free(at + 1):
            months = [add_months(self.today.replace(day=1), offset) for offset in range(-3, 4)]
            return self._choose_day([(each.year, each.month) for each in months], *numbers[:2], "inferred", at + 1)
        return None

    def _day_of_month(self, at: int) -> tuple[int, int, int, int] | None:
        """Return month, first and last day, and the end of "7 May", "7th of May", "May the 7th"."""
        is_month_first = self.words[at] in MONTHS
        other = at + 1 + (self.words[at + 1] in ((".", "the") if is_month_first else ("of",)))
        month = MONTHS.get(self.words[at if is_month_first else other])
        numbers = words.day_numbers(self.words[other if is_month_first else at])
        return (month, *numbers[:2], other + 1) if month and numbers else None

    def _month(self, at: int, lead: str) -> tuple[Day, int] | None:
        """Return "May 2023", "in May", "summer 2023", "in 2023"."""
        name, is_lead = self.words[at], lead in _PERIOD_LEADS
        year, after = self._year(at + 1 + (self.words[at + 1] == "."))
        if name in MONTHS and (year or name in words.PLAIN_MONTHS or is_lead):
            beside = (self.words[at - 1 - (self.words[at - 1] == "of")], self.words[after])
            if any(map(words.day_numbers, beside)) or (year is None and self.words[after][:1].isdecimal()):
                return None
        elif not (name in words.SEASONS and year):
            year, after = self._year(at)
            return (Day(date(year, 1, 1), date(year + 1, 1, 1), "year", "stated"), after) if year and is_lead else None
        kind = Day(self.today, self.today, "month", "stated" if year else "yearless")
        return self._choose(self._periods_of(name, year), kind, 0 if year else None, after if year else at + 1)

    def _year(self, at: int) -> tuple[int | None, int]:
        at += self.words[at] in (",", "of")
        is_year = self.words[at].isdecimal() and 1900 <= self._number(at) <= 2100
        return (self._number(at), at + 1) if is_year else (None, at)

    def _periods_of(self, name: str, year: int | None = None) -> list[tuple[date, date]]:
        """Return the months or seasons of this name."""
        month, count = (MONTHS[name], 1) if name in MONTHS else (words.SEASONS.get(name, 0), 3)
        firsts = [date(each, month, 1) for each in ([year] if year else self._years) if month]
        return [(first, add_months(first, count)) for first in firsts]

    def _choose_day(
        self, months: Iterable[tuple[int, int]], first: int, last: int, anchor: Anchor, after: int
    ) -> tuple[Day, int] | None:
        days = ((words.to_date(*month, first), words.to_date(*month, last)) for month in months)
        periods = [(one, other + _ONE_DAY) for one, other in days if one and other]
        return self._choose(periods, Day(self.today, self.today, "day", anchor), None, after)

    def _choose(
        self, periods: list[tuple[date, date]], kind: Day, step: int | None, after: int
    ) -> tuple[Day, int] | None:
        """Return the last period (-1), the next one (1), that of now or next (0), or the nearest in the direction."""
        if len(periods) > 1 and (step == -1 or (step is None and self.is_past)):
            periods = [each for each in periods if (each[1] if step else each[0]) <= self.today][-1:]
        elif len(periods) > 1:
            periods = [each for each in periods if (each[0] > self.today if step == 1 else each[1] > self.today)]
        return (replace(kind, start=periods[0][0], end=periods[0][1]), after) if periods else None

    def _away(self, count: int, unit: str) -> Day:
        if unit in ("minute", "hour"):
            moment = (self.now.astimezone(UTC) + count * timedelta(**{f"{unit}s": 1})).astimezone(self.zone)
            return Day(moment.date(), moment.date(), "time", moment=moment)
        if unit in ("month", "year"):
            day = _one(add_months(self.today, count * (12 if unit == "year" else 1)))
            return replace(day, grain="month" if unit == "month" else "year")
        day = _one(self.today + count * _ONE_DAY * {"day": 1, "week": 7, "fortnight": 14}[unit])
        return day if unit == "day" else replace(day, grain="week")

    def _number(self, at: int) -> int:
        word = self.words[at]
        return int(word) if word.isdecimal() and len(word) <= 4 else words.NUMBERS.get(word, -1)

    def _is_free(self, at: int) -> bool:
        """Return whether no noun follows, which a number would count: "at 9 people", "on the 3rd floor"."""
        return not self.words[at].isalpha() or self.words[at] in _AFTER_A_NUMBER

    def _spoken_time(self, at: int) -> tuple[tuple[int, int, str], int]:
        """Return hour and minute of "half past four" or "a quarter to five"; hour -1 for anything else."""
        first = at + (self.words[at] == "a")
        minutes = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20}.get(self.words[first])
        hour, is_to = self._number(first + 2), self.words[first + 1] == "to"
        if minutes is None or self.words[first + 1] not in ("past", "to") or not 1 <= hour <= 12:
            return (-1, 0, ""), at + 1
        return (hour - is_to or 12, 60 - minutes if is_to else minutes, ""), first + 3

    def _zone(self, at: int) -> tuple[tzinfo | None, str | None, int]:
        """Return the zone of "9 EST", or the name in "9 IST" or "9am Tokyo time", and the place after it."""
        names = self.raw[at : at + 4]
        if names[0] in words.ZONES:
            return timezone(timedelta(hours=words.ZONES[names[0]])), None, at + 1
        if names[0].isupper() and 3 <= len(names[0]) <= 5 and names[0].endswith("T"):
            return None, names[0], at + 1
        count = names.index("time") if "time" in names else 0
        if count and all(name[0].isupper() for name in names[:count]):
            return None, " ".join(names[: count + 1]), at + count + 1
        return None, None, at


def _one(day: date) -> Day:
    return Day(day, day + _ONE_DAY)


def _to_24_hours(hour: int, minute: int, meridiem: str, part: tuple[int, int] | None, *, is_spoken: bool) -> int:
    """Return the hour of the day; "at 3" is in the afternoon, and so is "quarter to five"."""
    if meridiem:
        return hour % 12 + (12 if meridiem == "pm" else 0)
    if part is not None:
        return next((each for each in (hour, hour + 12, hour + 24) if part[0] <= each < part[1]), hour)
    return hour + 12 if is_spoken and 1 <= hour + (minute > 30) <= 6 else hour
