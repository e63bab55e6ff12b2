"""Reads the end of a fact's life from its metadata: `ttl` and `expire_time`, as in Vertex AI Memory Bank."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value, require_time

TTL_KEY, EXPIRE_TIME_KEY = "ttl", "expire_time"

_TTL = re.compile(r"(?P<seconds>\d{1,12}(?:\.\d{1,9})?)s")
_TTL_FIX = "pass seconds as text with an s, such as '3600s'"
_EXPIRE_TIME_FIX = "pass an ISO 8601 time with a zone, such as '2026-12-31T00:00:00Z'"


def take_lifetime(fact: NewFact, now: datetime) -> NewFact:
    """Return a fact with the end that its metadata give as `ttl`, counted from `now`, or as `expire_time`.

    Both names leave the metadata.

    Raises:
        InvalidInputError: a value has another form, or the end is given more than once.
    """
    given = [name for name in (TTL_KEY, EXPIRE_TIME_KEY) if name in fact.metadata]
    if not given:
        return fact
    if len(given) > 1 or fact.valid_until is not None:
        names = [*(f"metadata[{name!r}]" for name in given), *(["valid_until"] if fact.valid_until is not None else [])]
        raise InvalidInputError(f"{' and '.join(names)} both say when the fact ends: pass one of them")
    [name] = given
    value = fact.metadata[name]
    end = now + _parse_ttl(value) if name == TTL_KEY else _parse_expire_time(value)
    metadata = {key: each for key, each in fact.metadata.items() if key != name}
    return replace(fact, metadata=metadata, valid_until=end)


def _parse_ttl(value: object) -> timedelta:
    found = _TTL.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found["seconds"]) if found else 0.0
    # More than a thousand years would leave the calendar.
    if not 0 < seconds < 3e10:
        raise InvalidInputError(f"metadata['ttl'] is {format_value(value)}: {_TTL_FIX}")
    return timedelta(seconds=seconds)


def _parse_expire_time(value: object) -> datetime:
    name = "metadata['expire_time']"
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.utcoffset() is None:
        raise InvalidInputError(f"{name} is {format_value(value)}: {_EXPIRE_TIME_FIX}")
    return require_time(name, moment)
