"""Options that give facts metadata, and filter facts by metadata and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import print_waiting
from gaia_memory.cli.ui.terminal import print_note
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.language.dates import Direction
    from gaia_memory.models import Scalar, Scope

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="NAME=VALUE",
        help="Only facts whose category, metadata, or source, agent, said_at …, match: `=`, `!=`, `<`, `<=`, `>`, "
        "`>=`, or `~` for a part of the value; `NAME=*` matches any value. A number in quotes is text. Several "
        "options must all match.",
        show_default=False,
    ),
]
CategoryOption = Annotated[
    str | None,
    typer.Option("--category", help="Only facts of this category, as with `--where category=…`.", show_default=False),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="WHOSE/WHAT",
        help="What there is one of at a time, such as user/home: a later fact with the same key replaces this one.",
        show_default=False,
    ),
]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        "-m",
        metavar="NAME=VALUE",
        help="Metadata of the facts: text, a number, true or false. A number in quotes is text. Repeat it for more.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="DATE", help="Only facts said on this day or later.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="Only facts said on this day or earlier.")
]
ValidUntilOption = Annotated[
    str | None,
    typer.Option("--valid-until", metavar="DATE", help="The facts hold until this time or the end of this day."),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Facts that were true at this time or at the end of this day."),
]

_CONDITION = re.compile(
    r"\s*(?P<name>[^=<>!~\s](?:[^=<>!~]*[^=<>!~\s])?)\s*(?P<sign>!=|>=|<=|=|>|<|~)\s*(?P<value>.*)", re.DOTALL
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?")
_ORDER_OPERATORS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_TIME_FIELDS = ("said_at", "created_at", "updated_at")
_BOOLEAN_WORDS = {"true": True, "false": False}


def parse_metadata(options: Sequence[str] | None) -> dict[str, Scalar]:
    """Return the metadata of these options; a value has the type that `--where` compares with it.

    Raises:
        typer.BadParameter: an option has another form, or a name occurs twice; the message names what to pass.
    """
    metadata: dict[str, Scalar] = {}
    for option in options or ():
        name, sign, text = (part.strip() for part in option.partition("="))
        if not sign or not name:
            raise typer.BadParameter(f"--metadata is {option!r}: pass a name, = and a value, such as level=5")
        if name in metadata:
            raise typer.BadParameter(f"--metadata names {name!r} twice: pass each name once")
        number, word = _number(text), _BOOLEAN_WORDS.get(text.casefold())
        metadata[name] = number if number is not None else word if word is not None else _unquoted(text)
    return metadata


def build_filters(where: Sequence[str] | None, since: str | None, until: str | None) -> dict[str, Any] | None:
    """Return the filters of these options; None if there are none.

    A day is a local day, as in tables. `=` with a number, or with true or false, also matches the same text; `<` and
    `>` compare numbers with numbers. A value in quotes, or with a leading zero, is text.

    Raises:
        typer.BadParameter: an option has another form; the message names what to pass.
    """
    from gaia_memory.models import compile_filters

    conditions = [_condition(each) for each in where or ()]
    if since is not None:
        conditions.append(_time_filter("--since", "said_at", ">=", since))
    if until is not None:
        conditions.append(_time_filter("--until", "said_at", "<=", until))
    if not conditions:
        return None
    filters = {"AND": conditions}
    try:
        compile_filters(filters)
    except InvalidInputError as error:
        raise typer.BadParameter(f"--where is invalid: {error}") from error
    return filters


def conditions_of(where: Sequence[str] | None, category: str | None) -> list[str]:
    """Return the conditions of `--where`, with one for the category if it is named."""
    return [*(where or ()), *([] if category is None else [f'category="{category}"'])]


def _condition(text: str) -> dict[str, Any]:
    parsed = _CONDITION.fullmatch(text)
    if parsed is None:
        raise typer.BadParameter(f"--where is {text!r}: pass a name, an operator and a value, such as category=health")
    name, operator, value = parsed["name"], parsed["sign"], parsed["value"]
    if value.startswith(("=", "<", ">", "~")) or (operator in _ORDER_OPERATORS and not value):
        raise typer.BadParameter(f"--where is {text!r}: use one of =, !=, <, <=, >, >= and ~, followed by a value")
    if value == "*" and operator in ("=", "!="):
        return {name: {"eq" if operator == "=" else "ne": value}}
    if name in _TIME_FIELDS and operator != "~":
        return _time_filter("--where", name, operator, value)
    if operator == "~":
        return {name: {"icontains": value}}
    if operator in _ORDER_OPERATORS:
        number = _number(value)
        return {name: {_ORDER_OPERATORS[operator]: _unquoted(value) if number is None else number}}
    values = [
        each for each in (_unquoted(value), _number(value), _BOOLEAN_WORDS.get(value.casefold())) if each is not None
    ]
    return {name: {"in" if operator == "=" else "nin": values}}


def _number(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _time_filter(option: str, name: str, operator: str, text: str) -> dict[str, Any]:
    """Return the filter of a moment, or of a local day from midnight to midnight."""
    start, end = _time_bounds(option, text)
    within: dict[str, Any] = {name: {"gte": start, "lt": end} if end else {"eq": start}}
    if operator in ("=", "!="):
        return within if operator == "=" else {"NOT": [within]}
    if end is None or operator in (">=", "<"):
        return {name: {_ORDER_OPERATORS[operator]: start}}
    return {name: {"gte" if operator == ">" else "lt": end}}


def parse_as_of(text: str | None) -> datetime | None:
    """Return the time of `--as-of`, for a day its end in the local zone; None without one.

    Raises:
        typer.BadParameter: it is neither a day nor a time.
    """
    if text is None:
        return None
    start, end = _time_bounds("--as-of", text)
    if end is None:
        return start
    now = datetime.now(start.tzinfo)
    # Today ends now: what will be over by midnight is still true.
    return now if start <= now < end else end - timedelta.resolution


def parse_valid_until(text: str | None) -> datetime | None:
    """Return the time of `--valid-until`, for a day its end in the local zone; None without one.

    Raises:
        typer.BadParameter: it is neither a day nor a time.
    """
    if text is None:
        return None
    start, end = _time_bounds("--valid-until", text, "future")
    return end or start


def _time_bounds(option: str, text: str, direction: Direction = "past") -> tuple[datetime, datetime | None]:
    """Return the period of a date in the local zone, or a time and None."""
    from gaia_memory.language.dates import read_date
    from gaia_memory.models.time_zone import machine_zone

    found = read_date(text, datetime.now(machine_zone()), machine_zone(), direction=direction)
    if found is None or found.every or found.unread_zone:
        hint = "pass a day or a time, such as yesterday, 2026-03-01 or 2026-03-01T18:00"
        raise typer.BadParameter(f"{option} is {text!r}: {hint}")
    return found.start, None if found.has_time else found.end


async def explain_nothing(engine: Engine, scope: Scope, where: Sequence[str] | None) -> None:
    """Print on the error stream why nothing may be found: a misspelled filter, or what is not learned yet."""
    from gaia_memory.models import explain_no_match

    conditions = [
        (found["name"], _unquoted(found["value"]) if found["sign"] == "=" else None)
        for found in filter(None, map(_CONDITION.fullmatch, where or ()))
    ]
    for hint in explain_no_match(conditions, await engine.memory.facts(scope)):
        print_note(hint)
    await print_waiting(engine, scope)
