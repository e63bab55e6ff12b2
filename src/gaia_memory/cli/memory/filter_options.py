"""Options that say which facts are meant: what their metadata hold, and when they were said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any

import typer

from gaia_memory.errors import InvalidInputError

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="NAME=VALUE",
        help="Only facts whose metadata, or source, session_id, seq, said_at …, hold this: `=`, `!=`, `<`, `<=`, `>`, "
        "`>=`, or `~` for a part of it; `NAME=*` for any value. A number in quotes is text. Several must all "
        "hold.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="DATE", help="Only facts said on this day or later.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="Only facts said on this day or earlier.")
]

_CONDITION = re.compile(r"\s*(?P<name>[^=<>!~]*[^=<>!~\s])\s*(?P<sign>!=|>=|<=|=|>|<|~)\s*(?P<value>.*)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?")
_ORDERED = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_TIMES = ("said_at", "created_at", "updated_at")
_NAMED = {"true": True, "false": False}


def filters_of(where: Sequence[str] | None, since: str | None, until: str | None) -> dict[str, Any] | None:
    """Return the filters that these options ask for; None where there are none.

    A day is one of this machine's calendar, as tables show it. What is equal to a number, or to true or false, may be
    kept as text as well; in an order, numbers are compared to numbers. A value in quotes, or with a leading zero, is
    text.

    Raises:
        typer.BadParameter: an option is of another form; it names what to pass.
    """
    from gaia_memory.models import holds

    conditions = [_condition(each) for each in where or ()]
    if since is not None:
        conditions.append(_in_time("--since", "said_at", ">=", since))
    if until is not None:
        conditions.append(_in_time("--until", "said_at", "<=", until))
    if not conditions:
        return None
    filters = {"AND": conditions}
    try:
        holds(filters)
    except InvalidInputError as error:
        raise typer.BadParameter(f"--where cannot be used so: {error}") from error
    return filters


def _condition(text: str) -> dict[str, Any]:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"--where is {text!r}: pass a name, a sign and a value, such as category=health")
    name, sign, value = found["name"], found["sign"], found["value"]
    if value.startswith(("=", "<", ">", "~")) or (sign in _ORDERED and not value):
        raise typer.BadParameter(f"--where is {text!r}: the signs are =, !=, <, <=, >, >= and ~, and a value follows")
    if value == "*" and sign in ("=", "!="):
        return {name: {"eq" if sign == "=" else "ne": value}}
    if name in _TIMES and sign != "~":
        return _in_time("--where", name, sign, value)
    if sign == "~":
        return {name: {"icontains": value}}
    if sign in _ORDERED:
        number = _number(value)
        return {name: {_ORDERED[sign]: _unquoted(value) if number is None else number}}
    values = [each for each in (_unquoted(value), _number(value), _NAMED.get(value.casefold())) if each is not None]
    return {name: {"in" if sign == "=" else "nin": values}}


def _number(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _in_time(option: str, name: str, sign: str, text: str) -> dict[str, Any]:
    """Return the filter of a moment, or of a day of this machine's calendar from its midnight to the next one."""
    first, after = _span(option, text)
    within: dict[str, Any] = {name: {"gte": first, "lt": after} if after else {"eq": first}}
    if sign in ("=", "!="):
        return within if sign == "=" else {"NOT": [within]}
    if after is None or sign in (">=", "<"):
        return {name: {_ORDERED[sign]: first}}
    return {name: {"gte" if sign == ">" else "lt": after}}


def _span(option: str, text: str) -> tuple[datetime, datetime | None]:
    try:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return datetime.fromisoformat(text).astimezone(), None
        first, after = datetime.combine(day, time()), datetime.combine(day + timedelta(days=1), time())
        return first.astimezone(), after.astimezone()
    except OverflowError:
        raise typer.BadParameter(f"{option} is {text!r}, at the end of the calendar: leave it out") from None
    except (ValueError, OSError) as error:
        fix = "pass a day or a time, such as 2026-03-01 or 2026-03-01T18:00"
        raise typer.BadParameter(f"{option} is {text!r}: {fix}") from error
