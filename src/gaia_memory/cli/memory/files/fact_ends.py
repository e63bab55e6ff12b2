"""What an entry of another store says of the life of its fact: that it is over, or when it will be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.models.validation import format_value

_ENDED_FLAGS = frozenset(
    ("archived", "deleted", "expired", "forgotten", "inactive", "invalid", "invalidated", "paused", "superseded")
)
"""Flags (`is_deleted`, `isForgotten`), times (`deleted_at`) and values of `state` or `status` of what is over."""

_ALIVE_FLAGS = frozenset(("active", "current", "latest", "valid"))
"""Flags that are false for what is over."""

_END_TIMES = frozenset(
    ("expirationdate", "expiredat", "expiresat", "forgetafter", "invalidat", "validto", "validuntil")
)


def read_end(entry: Mapping[str, Any], now: datetime) -> tuple[str, datetime | None]:
    """Return why a fact counts no longer, empty for one that does, and when a fact that counts will end.

    Names are read without case, underscores and a leading `is`: mem0's `expiration_date`, OpenMemory's `state`, Zep's
    `invalid_at`, Supermemory's `isForgotten`.

    Raises:
        InvalidInputError: the time of an end is none.
    """
    end: datetime | None = None
    for key, value in entry.items():
        name = "".join(filter(str.isalnum, str(key))).casefold()
        if name in _END_TIMES and value is not None:
            moment = read_moment(str(key), value, is_last_day=True)
            if moment <= now:
                return "expired" if name.startswith(("expir", "forget")) else "no longer valid", None
            end = moment if end is None else min(end, moment)
        elif name in ("state", "status") and isinstance(value, str):
            word = value.casefold()
            if word in _ENDED_FLAGS or (name == "state" and word not in _ALIVE_FLAGS):
                return word, None
        elif value and name.removesuffix("at") in _ENDED_FLAGS and name.endswith("at"):
            return name.removesuffix("at"), None
        elif value is True and (flag := name.removeprefix("is")) in _ENDED_FLAGS:
            return flag, None
        elif value is False and (flag := name.removeprefix("is")) in _ALIVE_FLAGS:
            return f"not {flag}", None
    return "", end


def read_moment(key: str, value: object, *, is_last_day: bool = False) -> datetime:
    """Return a time of an entry; one without a zone is in UTC. A date that `is_last_day` ends with its day.

    Raises:
        InvalidInputError: it is no time.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(str(value))
        if is_last_day and len(str(value)) == len("2026-03-01"):
            moment += timedelta(days=1)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        fix = "pass an ISO 8601 time, such as 2026-03-01T12:00:00+01:00"
        raise InvalidInputError(f"its {key} is {format_value(value)}: {fix}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
