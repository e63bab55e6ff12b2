"""The values of an export: each is validated, and named by its path in the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, cast, get_args

from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models import Source
from gaia_memory.models.validation import raise_invalid, require_text, require_time

_MAX_TEXT_CHARACTERS = 1_000
"""Characters of a short text about a source, such as an excerpt."""


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
