"""How often a due fact comes back, and when, in the time zones that decide its day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gaia_memory.models.validation import raise_invalid

RECURRENCE_WORDS = ("daily", "weekly", "monthly", "yearly")
"""The intervals with a name of their own."""

_UNIT_NAMES = {"DAILY": "days", "WEEKLY": "weeks", "MONTHLY": "months", "YEARLY": "years"}
_DAY_NAMES = {
    **{"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday"},
    "SU": "Sunday",
}
_FIX = f"pass one of {', '.join(RECURRENCE_WORDS)}, or a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=MO"
_PART = re.compile(
    r"FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)|(?:INTERVAL|COUNT)=[1-9]\d{0,8}|UNTIL=\d{8}(?:T\d{6}Z?)?|WKST=[A-Z]{2}"
    r"|BY(?:HOUR|MINUTE|SECOND)=\d{1,2}|BY(?!HOUR|MINUTE|SECOND)[A-Z]+=[-+0-9A-Z,]+",
    re.ASCII,
)
"""A part of a rule that occurs at most once a day. The library also reads `+0` as a number, and then it hangs."""

_UNTIL_PART = re.compile(r"UNTIL=(\d{8})(?:T(\d{6})(Z?))?")
_COUNT_PART = re.compile(r"COUNT=(\d+)")
_MAX_RULE_CHARACTERS = 500
_LAST_DECADES = datetime(9960, 1, 1)  # noqa: DTZ001 - local time
_CHECKED_OCCURRENCES = 40
"""Errors of the library show in some months and years only."""


def parse_recurrence(name: str, value: object) -> str:
    """Return a recurrence in its stored form: a word in lower case, or an RRULE in upper case without its prefix.

    Raises:
        InvalidInputError: it is neither, or the rule never occurs or repeats more often than daily.
    """
    if not isinstance(value, str) or len(value) > _MAX_RULE_CHARACTERS:
        raise_invalid(name, value, _FIX)
    if (word := value.strip().lower()) in RECURRENCE_WORDS:
        return word
    rule = value.strip().upper().removeprefix("RRULE:")
    if not can_recur(rule):
        raise_invalid(name, value, _FIX)
    return rule


@lru_cache(maxsize=256)
def can_recur(every: str) -> bool:
    """Return whether the occurrences of a stored recurrence are found without an error and an endless search.

    Earlier releases stored some rules of which they are not: such a fact is due once.
    """
    return every in RECURRENCE_WORDS or _is_rule(every)


def describe_recurrence(every: str) -> str:
    """Return a stored recurrence as a reader sees it, such as "every 2 weeks on Thursday".

    A rule that tells more than an interval and weekdays stays as it is.
    """
    if every in RECURRENCE_WORDS:
        return every
    parts = dict(part.split("=") for part in every.split(";"))
    frequency, interval, weekdays = parts.pop("FREQ"), parts.pop("INTERVAL", "1"), parts.pop("BYDAY", None)
    names = [_DAY_NAMES.get(day, "") for day in weekdays.split(",")] if weekdays else []
    if parts or "" in names or (names and frequency != "WEEKLY"):
        return every
    described = frequency.lower() if interval == "1" else f"every {interval} {_UNIT_NAMES[frequency]}"
    return f"{described} on {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}" if names else described


def next_occurrence(due_at: datetime, every: str, zone: tzinfo | None, after: datetime) -> tuple[datetime, str] | None:
    """Return when a fact that was first due at `due_at` is due next after `after`; None if it does not come back.

    The second value is the recurrence that continues from there. It differs from `every` where the time alone would not
    tell: a monthly 31st that falls on the 28th, half past two on the day when the clocks skip it, a count.
    `zone` is where the clock hangs, None for this machine's.
    """
    if not can_recur(every):
        return None
    start = due_at.astimezone(zone).replace(tzinfo=None)
    rule_text = _rule_text(every, start)
    rule = _build_rule(rule_text, start, zone)
    local = rule.after(after.astimezone(zone).replace(tzinfo=None))
    # Where the clocks go back, a local time after `after` may be a moment before it.
    while local is not None and _at(local, zone) <= after:
        local = rule.after(local)
    if local is None:
        return None
    moment = _at(local, zone)
    is_moved = moment.astimezone(zone).replace(tzinfo=None) != local and "BYHOUR" not in rule_text
    if count := _COUNT_PART.search(rule_text):
        left = int(count[1]) - sum(1 for _ in rule.between(start, local)) - (start in rule)
        # What was moved is no time of the rule that continues from it.
        is_moved = is_moved and left > 1
        rule_text = rule_text.replace(count[0], f"COUNT={left - is_moved}")
    if is_moved:
        rule_text += f";BYHOUR={local.hour};BYMINUTE={local.minute}"
    is_word = every in RECURRENCE_WORDS and rule_text == f"FREQ={every.upper()}"
    return moment, every if is_word else rule_text


def last_occurrence(due_at: datetime, every: str, zone: tzinfo | None, until: datetime) -> datetime:
    """Return the last time up to `until` at which a fact is due that was first due at `due_at`, at or before it."""
    if not can_recur(every):
        return due_at
    start = due_at.astimezone(zone).replace(tzinfo=None)
    rule = _build_rule(_rule_text(every, start), start, zone)
    local = rule.before(until.astimezone(zone).replace(tzinfo=None), inc=True)
    while local is not None and _at(local, zone) > until:
        local = rule.before(local)
    return due_at if local is None else max(due_at, _at(local, zone))


def _is_rule(rule: str) -> bool:
    parts = rule.split(";")
    names = [part.partition("=")[0] for part in parts]
    # Of parts with one name the library takes the last.
    if not all(map(_PART.fullmatch, parts)) or "FREQ" not in names or len(set(names)) < len(names):
        return False
    if {"COUNT", "UNTIL"} <= set(names) or _may_miss_its_weekday(parts):
        return False
    try:
        if until := _UNTIL_PART.search(rule):
            datetime.strptime(_local_end(until, UTC), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - local time
        # A rule that never occurs (30 February) would be searched to the year 9999: here that is near.
        found = iter(_build_rule(_UNTIL_PART.sub("COUNT=9", rule), _LAST_DECADES, UTC))
        return bool(list(islice(found, _CHECKED_OCCURRENCES)))
    except (ValueError, IndexError):
        return False


def _may_miss_its_weekday(parts: Sequence[str]) -> bool:
    """Return whether a rule counts whole weeks in days: the search for a weekday that it misses has no end."""
    intervals = [int(part.removeprefix("INTERVAL=")) for part in parts if part.startswith("INTERVAL=")]
    has_weekday = any(part.startswith("BYDAY=") for part in parts)
    return "FREQ=DAILY" in parts and has_weekday and any(interval % 7 == 0 for interval in intervals)


def _rule_text(every: str, start: datetime) -> str:
    """Return a recurrence as a rule; a day that some months lack is the last day of those."""
    if every == "monthly" and start.day > 28:
        return f"FREQ=MONTHLY;BYMONTHDAY={','.join(map(str, range(28, start.day + 1)))};BYSETPOS=-1"
    if every == "yearly" and (start.month, start.day) == (2, 29):
        return "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1"
    return f"FREQ={every.upper()}" if every in RECURRENCE_WORDS else every


def _build_rule(rule: str, start: datetime, zone: tzinfo | None) -> Any:
    # Late: only a recurring fact needs it.
    from dateutil.rrule import rrulestr

    return rrulestr(_UNTIL_PART.sub(lambda until: f"UNTIL={_local_end(until, zone)}", rule), dtstart=start)


def _local_end(until: re.Match[str], zone: tzinfo | None) -> str:
    """Return the end of a rule in local time; a date includes its day."""
    day, time_of_day, utc = until.groups()
    if not utc:
        return f"{day}T{time_of_day or '235959'}"
    try:
        moment = datetime.strptime(f"{day}{time_of_day}", "%Y%m%d%H%M%S").replace(tzinfo=UTC).astimezone(zone)
    except OverflowError:
        # The end of all times, which rules without an end are given.
        return f"{day}T{time_of_day}"
    return f"{moment:%Y%m%dT%H%M%S}"


def _at(local: datetime, zone: tzinfo | None) -> datetime:
    """Return the moment of a local time in UTC."""
    return (local.astimezone() if zone is None else local.replace(tzinfo=zone)).astimezone(UTC)


@lru_cache(maxsize=256)
def load_time_zone(name: str) -> tzinfo:
    """Return the zone of an IANA name such as `Asia/Tokyo`. Reads a file at the first call for a name.

    Raises:
        ValueError: there is no zone with this name.
    """
    try:
        return ZoneInfo(name)
    # The name of a folder (`Asia`) and an invalid path raise errors of other types.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone of the IANA list") from error


def machine_zone() -> tzinfo:
    """Return the zone of this machine, which knows changes of clocks."""
    # Late: only without a zone.
    from dateutil.tz import tzlocal

    zone: tzinfo = tzlocal()
    return zone


def to_local_time(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return a moment in the local time of the person who spoke.

    Hosts store times in plain UTC, which says nothing about the person: it is converted to `zone`, or with None
    to the zone of this machine. Any other zone is explicit and stays, including the IANA zone `UTC`.
    """
    is_explicit_zone = isinstance(moment.tzinfo, ZoneInfo) or moment.tzname() != "UTC"
    return moment if is_explicit_zone else moment.astimezone(zone)
