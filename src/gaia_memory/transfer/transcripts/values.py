"""Reads the values that exports share: times, roles and texts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Role
from gaia_memory.models.validation import format_value

ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "bot"), "assistant"),
}
"""The roles that speak, in the words of several products; others, such as `system` and `tool`, are left out."""

_MILLISECONDS_FROM = 1e11
"""Numbers from here on count milliseconds: in seconds they would be after the year 5000."""


def read_time(value: object, place: str, *, zone: tzinfo | None) -> datetime | None:
    """Return a time given as ISO 8601 or in seconds or milliseconds since 1970; None for none.

    A time without a zone is in `zone`, or in this machine's.

    Raises:
        InvalidInputError: it is neither.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
        moment = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError) as error:
        fix = "pass an ISO 8601 time, such as 2026-03-01T12:00:00+01:00"
        raise InvalidInputError(f"the time of {place} is {format_value(value)}: {fix}") from error
    return in_zone(moment, zone)


def in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return a time with a zone: its own, else `zone`, else this machine's."""
    if moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()


def read_text(content: Any) -> str:
    """Return the text of a message: a text, a list of texts and parts with `text`, or an object with `parts`."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        if isinstance(content.get("text"), str):
            return str(content["text"])
        content = content.get("parts")
    return "\n".join(filter(None, map(read_text, content))) if isinstance(content, list) else ""
