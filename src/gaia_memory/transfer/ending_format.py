"""The endings of facts in an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import EndingReason, FactEnd
from gaia_memory.models.validation import raise_invalid, require_text, require_time
from gaia_memory.transfer.export_values import (
    parse_optional_text,
    parse_time,
    require_mapping,
    require_sequence,
    to_iso,
)

_TIMES = ("ended_at", "noted_at", "undone_at")
_TEXTS = ("fact_id", "ended_by", "why", "actor", "app", "session_id")


def ending_to_dict(ending: FactEnd) -> dict[str, Any]:
    """Return an ending as JSON-compatible data."""
    texts = {name: getattr(ending, name) for name in _TEXTS}
    return {**texts, **{name: to_iso(getattr(ending, name)) for name in _TIMES}}


def parse_endings(data: Mapping[str, Any]) -> list[FactEnd]:
    """Validate the endings of an export; those of version 1 and of other programs have none.

    Raises:
        InvalidInputError: a value is invalid; the message names its path, the value and the fix.
    """
    try:
        listed = require_sequence(data.get("endings") or [], "data['endings']")
        return [_parse_ending(ending, f"data['endings'][{at}]") for at, ending in enumerate(listed)]
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; nothing was imported") from error


def _parse_ending(data: object, path: str) -> FactEnd:
    ending = require_mapping(data, path, known_keys=frozenset({*_TIMES, *_TEXTS}))
    why = ending.get("why")
    if why not in (known := get_args(EndingReason)):
        raise_invalid(f"{path}['why']", why, f"use one of {', '.join(known)}")
    texts: dict[str, Any] = {
        name: parse_optional_text(ending.get(name), f"{path}[{name!r}]") for name in ("ended_by", "app", "session_id")
    }
    ended_at, noted_at, undone_at = (parse_time(ending.get(name), f"{path}[{name!r}]") for name in _TIMES)
    return FactEnd(
        fact_id=require_text(f"{path}['fact_id']", ending.get("fact_id")),
        actor=require_text(f"{path}['actor']", ending.get("actor")),
        ended_at=require_time(f"{path}['ended_at']", ended_at),
        noted_at=noted_at,
        undone_at=undone_at,
        **{**texts, "why": why},
    )
