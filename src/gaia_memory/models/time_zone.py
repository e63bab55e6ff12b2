"""Time zones, which decide the calendar day of a moment."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


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
