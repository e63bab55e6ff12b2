"""What callers give, refused in one form: its name, its value and what to pass instead."""

from __future__ import annotations

from typing import NoReturn
from uuid import UUID

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank

_MAX_VALUE_CHARACTERS = 80


def raise_invalid(name: str, value: object, fix: str) -> NoReturn:
    """Refuse an argument.

    Raises:
        InvalidInputError: always.
    """
    raise InvalidInputError(f"{name} is {format_value(value)}: {fix}")


def format_value(value: object) -> str:
    """Return a value as a message can show it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to write whole numbers of thousands of digits.
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= _MAX_VALUE_CHARACTERS else text[: _MAX_VALUE_CHARACTERS - 1] + "…"


def require_id(name: str, value: object, fix: str) -> str:
    """Return an id as text: a number is the id of its digits, a UUID that of its usual form.

    Raises:
        InvalidInputError: it is missing, empty, or none of these.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | UUID) or value == "":
        raise_invalid(name, value, fix)
    return str(value)


def require_text(name: str, value: object) -> str:
    """Return a text in which something can be seen.

    Raises:
        InvalidInputError: it is blank, or no text.
    """
    if not isinstance(value, str) or is_blank(value):
        raise_invalid(name, value, "pass a sentence")
    return value


def require_int(name: str, value: object, *, minimum: int, maximum: int, fix: str) -> int:
    """Return a whole number from `minimum` to `maximum`.

    Raises:
        InvalidInputError: it is none, or lies outside.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise_invalid(name, value, fix)
    return value
