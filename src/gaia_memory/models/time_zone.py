"""Time zones: whose calendar day a moment belongs to."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@lru_cache(maxsize=256)
def load_time_zone(name: str) -> tzinfo:
    """Return the zone of an IANA name, `Asia/Tokyo`. Reads a file the first time a name is asked for.

    Raises:
        ValueError: there is no zone of this name.
    """
    try:
        return ZoneInfo(name)
    # A folder of zones (`Asia`) and a name that no path may have fail in ways of their own.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone of the IANA list") from error


def to_local_time(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return a moment by the clock on the wall where it was said.

    Plain UTC is how hosts keep time, not where the person was: it becomes `zone`, or with None this machine's zone.
    Any other zone was given on purpose and is kept, also the one of the IANA list that is called UTC.
    """
    is_explicit_zone = isinstance(moment.tzinfo, ZoneInfo) or moment.tzname() != "UTC"
    return moment if is_explicit_zone else moment.astimezone(zone)
