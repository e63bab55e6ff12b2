"""The values of an export: each is validated, and named by its path in the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast, get_args

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models import EndingReason, FactEnd, Source, TurnUsage
from gaia_memory.models.validation import raise_invalid, require_text, require_time

_MAX_TEXT_CHARACTERS = 1_000
"""Characters of a short text about a source, such as an excerpt."""

_TIMES = ("ended_at", "noted_at", "undone_at")
_TEXTS = ("fact_id", "ended_by", "why", "actor", "app", "session_id", "note")


def require_mapping(value: object, path: str, *, known_keys: frozenset[str] | None = None) -> Mapping[str, Any]:
    """Return a mapping; with `known_keys`, one without other keys."""
    if not isinstance(value, Mapping):
        raise_invalid(path, value, "pass a mapping (a JSON object)")
    for key in value:
        if not isinstance(key, str) or (known_keys is not None and key not in known_keys):
            raise_invalid(f"a key of {path}", key, f"omit it or use one of {', '.join(sorted(known_keys or ['text']))}")
    return value


def require_sequence(value: object, path: str) -> Sequence[Any]:
    """Return a list."""
    if not isinstance(value, list | tuple):
        raise_invalid(path, value, "pass a list")
    return value


def parse_optional_id(value: object, path: str) -> str | None:
    """Return an id or None."""
    if value is not None and (not isinstance(value, str) or not value):
        raise_invalid(path, value, "pass an id as text, or null")
    return value


def parse_ids(value: object, path: str) -> tuple[str, ...]:
    """Return a list of ids; None has none."""
    ids = require_sequence(value or [], path)
    return tuple(require_text(f"{path}[{at}]", each) for at, each in enumerate(ids))


def parse_optional_text(value: object, path: str) -> str | None:
    """Return a short text or None."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _MAX_TEXT_CHARACTERS:
        raise_invalid(path, value, f"pass text of at most {_MAX_TEXT_CHARACTERS} characters, or null")
    return replace_unstorable(value)


def parse_source(value: object, path: str) -> Source:
    """Return the kind of a source, by default that of an import."""
    if value is None:
        return "import"
    if value not in (known := get_args(Source)):
        raise_invalid(path, value, f"omit it or use one of {', '.join(known)}")
    return cast("Source", value)


def parse_time(value: object, path: str) -> datetime | None:
    """Return an aware time or None."""
    if value is None:
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    return require_time(path, value)


def to_iso(moment: datetime | None) -> str | None:
    """Return a time in ISO 8601, or None."""
    return None if moment is None else moment.isoformat()


def used_to_dict(used: TurnUsage) -> dict[str, Any]:
    """Return what a turn used as JSON-compatible data."""
    return {
        "ended_at": datetime.fromtimestamp(used.ended_at, UTC).isoformat(),
        "app": used.key.app,
        "session_id": used.key.session,
        "channel": used.channel,
        "command": used.command,
        "tools": [{"name": name, "outcome": outcome} for name, outcome in used.tools],
    }


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
        name: parse_optional_text(ending.get(name), f"{path}[{name!r}]")
        for name in ("ended_by", "app", "session_id", "note")
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
