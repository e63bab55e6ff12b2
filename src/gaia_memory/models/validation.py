"""Validates arguments; each error names the argument, its value and what to pass instead."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import NoReturn
from uuid import UUID

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank

MAX_LABEL_CHARACTERS = 200
"""Characters of a category, an entity, a context or the name of an agent."""

MAX_KEY_CHARACTERS = 80
"""Characters of the key of a fact, such as `user/home`."""

_MAX_VALUE_CHARACTERS = 80
_KEY_FIX = f"pass whose/what, such as user/home, in 3 to {MAX_KEY_CHARACTERS} characters, or None"
_MIN_TIME = datetime.min.replace(tzinfo=UTC)
_MAX_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def raise_invalid(name: str, value: object, fix: str) -> NoReturn:
    """Refuse an argument.

    Raises:
        InvalidInputError: always.
    """
    # The name of an entry, such as one of a filter, is the caller's own text.
    hint = f"{name}: {fix}" if name.replace(".", "_").isidentifier() else fix
    raise InvalidInputError(f"{name} is {format_value(value)}: {fix}", hint=hint)


def format_value(value: object) -> str:
    """Return a value as text for a message, truncated if it is long."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to print whole numbers with thousands of digits.
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= _MAX_VALUE_CHARACTERS else text[: _MAX_VALUE_CHARACTERS - 1] + "…"


def require_id(name: str, value: object, fix: str) -> str:
    """Return an id as text: a number becomes its digits, a UUID its usual form.

    Raises:
        InvalidInputError: it is missing, empty, or none of these.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | UUID) or value == "":
        raise_invalid(name, value, fix)
    return str(value)


def require_text(name: str, value: object, *, fix: str = "pass a sentence") -> str:
    """Return the value if it is a text with visible characters.

    Raises:
        InvalidInputError: it is blank or not a string.
    """
    if not isinstance(value, str) or is_blank(value):
        raise_invalid(name, value, fix)
    return value


def is_label(value: object) -> bool:
    """Return whether a value can be a label: a short visible text without control characters."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_LABEL_CHARACTERS
        and not is_blank(value)
        and (value.isprintable() or not any(unicodedata.category(char) in ("Cc", "Cs") for char in value))
    )


def require_label(name: str, value: object) -> None:
    """Check that a value is a label.

    Raises:
        InvalidInputError: it is blank, too long, no text, or has control characters.
    """
    if not is_label(value):
        raise_invalid(name, value, f"pass a visible text of at most {MAX_LABEL_CHARACTERS} characters in one line")


def parse_key(name: str, value: object) -> str:
    """Return the key of a fact in its normal form: case folded, white space as `-`, without invisible characters.

    Raises:
        InvalidInputError: it is no text of the form `whose/what`, too long, or has control characters.
    """
    if not isinstance(value, str):
        raise_invalid(name, value, _KEY_FIX)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    parts = ["-".join(part.split()) for part in visible.split("/")]
    key = "/".join(parts)
    if len(parts) < 2 or not all(parts) or len(key) > MAX_KEY_CHARACTERS or not key.isprintable():
        raise_invalid(name, value, _KEY_FIX)
    return key


def require_bool(name: str, value: object) -> None:
    """Check that a value is true or false.

    Raises:
        InvalidInputError: it is not.
    """
    if not isinstance(value, bool):
        raise_invalid(name, value, "pass True or False")


def require_time(name: str, value: object) -> datetime:
    """Return an aware time of the years 1 to 9999 in UTC: a database may round times beyond what `datetime` holds.

    Raises:
        InvalidInputError: it is not a time, has no time zone or is outside the range.
    """
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise_invalid(name, value, "pass a time with a time zone, such as 2026-03-01T12:00:00+00:00, or None")
    if not _MIN_TIME <= value <= _MAX_TIME:
        raise_invalid(name, value, "pass a time in the years 1 to 9999, also in UTC")
    return value


def require_int(name: str, value: object, *, minimum: int, maximum: int, fix: str) -> int:
    """Return a whole number from `minimum` to `maximum`.

    Raises:
        InvalidInputError: it is not a whole number or outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise_invalid(name, value, fix)
    return value
