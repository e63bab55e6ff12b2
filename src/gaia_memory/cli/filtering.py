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
        help="Only facts whose metadata, source or session_id hold this: `=`, `!=`, `<`, `<=`, `>`, `>=`, or `~` for "
        "a part of it; `NAME=*` for any value. More than one must all hold.",
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
_ORDERED = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_NAMED = {"true": True, "false": False}


def filters_of(where: Sequence[str] | None, since: str | None, until: str | None) -> dict[str, Any] | None:
    """Return the filters that these options ask for; None where there are none.

    A day is one of this machine's calendar, as tables show it. A value that reads as a number or as true or false
    stands for that, too: metadata may hold either.

    Raises:
        typer.BadParameter: an option is of another form; it names what to pass.
    """
    from gaia_memory.models import holds

    conditions = [_condition(each) for each in where or ()]
    if since is not None:
        conditions.append({"said_at": {"gte": _moment("--since", since, days=0)}})
    if until is not None:
        sign = "lt" if _is_day(until) else "lte"
        conditions.append({"said_at": {sign: _moment("--until", until, days=1)}})
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
    if sign == "~":
        return {name: {"icontains": value}}
    if sign in _ORDERED:
        number = _number(value)
        return {name: {_ORDERED[sign]: value if number is None else number}}
    if value == "*":
        return {name: value} if sign == "=" else {"NOT": [{name: value}]}
    values = [each for each in (value, _number(value), _NAMED.get(value.casefold())) if each is not None]
    return {name: {"in" if sign == "=" else "nin": values}}


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _moment(option: str, text: str, *, days: int) -> datetime:
    """Return a moment, or the midnight so many days after a day began."""
    try:
        if _is_day(text):
            return datetime.combine(date.fromisoformat(text) + timedelta(days=days), time()).astimezone()
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        fix = "pass a day or a time, such as 2026-03-01 or 2026-03-01T18:00"
        raise typer.BadParameter(f"{option} is {text!r}: {fix}") from error
