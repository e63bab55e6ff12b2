"""Options that give facts metadata, and filter facts by metadata and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.language.dates import Direction
    from gaia_memory.models import Scalar

_CONDITION = re.compile(
    r"\s*(?P<name>[^=<>!~\s](?:[^=<>!~]*[^=<>!~\s])?)\s*(?P<sign>[!<>]?=|[<>~])(?![=<>~])\s*(?P<value>.+)", re.DOTALL
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?")
_ORDER_OPERATORS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_TIME_FIELDS = ("said_at", "created_at", "updated_at")
_BOOLEAN_WORDS = {"true": True, "false": False}


class Condition(NamedTuple):
    """A condition of `--where`, as a filter."""

    filters: dict[str, Any]


class Period(NamedTuple):
    """A local day from midnight to midnight, or a time and None."""

    start: datetime
    end: datetime | None


def parse_condition(text: str) -> Condition:
    """Return a condition of `--where`.

    A day is a local day, as in tables. `=` with a number, or with true or false, also matches the same text; `<` and
    `>` compare numbers with numbers. A value in quotes, or with a leading zero, is text.

    Raises:
        typer.BadParameter: it has another form; the message names what to pass.
    """
    from gaia_memory.models import compile_filters

    parsed = _CONDITION.fullmatch(text)
    if parsed is None:
        hint = "pass a name, one of =, !=, <, <=, >, >= and ~, and a value, such as category=health"
        raise typer.BadParameter(f"{text!r}: {hint}")
    name, sign, value = parsed["name"], parsed["sign"], parsed["value"]
    condition = _filter(name, sign, value)
    try:
        compile_filters(condition)
    except InvalidInputError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from error
    return Condition(condition)


def _filter(name: str, sign: str, value: str) -> dict[str, Any]:
    if sign == "~":
        return {name: {"icontains": value}}
    if value == "*" and sign in ("=", "!="):
        return {name: {"eq" if sign == "=" else "ne": value}}
    if name in _TIME_FIELDS:
        return _time_filter(name, sign, parse_period(value))
    if sign in _ORDER_OPERATORS:
        return {name: {_ORDER_OPERATORS[sign]: _scalar(value)}}
    return {name: {"in" if sign == "=" else "nin": [_unquoted(value), _scalar(value)]}}


def _time_filter(name: str, sign: str, period: Period) -> dict[str, Any]:
    start, end = period
    within: dict[str, Any] = {name: {"gte": start, "lt": end} if end else {"eq": start}}
    if sign in ("=", "!="):
        return within if sign == "=" else {"NOT": [within]}
    if end is None or sign in (">=", "<"):
        return {name: {_ORDER_OPERATORS[sign]: start}}
    return {name: {"gte" if sign == ">" else "lt": end}}


def _scalar(text: str) -> Scalar:
    """Return the number or the truth value that a text says, else the text without its quotes."""
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return _BOOLEAN_WORDS.get(text.casefold(), _unquoted(text))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def parse_period(text: str, direction: Direction = "past") -> Period:
    """Return the day or the time that a text names.

    Raises:
        typer.BadParameter: it names neither.
    """
    from gaia_memory.language.dates import read_date
    from gaia_memory.models.recurrence import machine_zone

    found = read_date(text, datetime.now(machine_zone()), machine_zone(), direction=direction)
    if found is None or found.every or found.unread_zone:
        hint = "pass a day or a time, such as yesterday, 2026-03-01 or 2026-03-01T18:00"
        raise typer.BadParameter(f"{text!r}: {hint}")
    return Period(found.start, None if found.has_time else found.end)


def parse_as_of(text: str) -> datetime:
    """Return a time, for a day its end in the local zone."""
    start, end = parse_period(text)
    if end is None:
        return start
    now = datetime.now(start.tzinfo)
    # Today ends now: what will be over by midnight is still true.
    return now if start <= now < end else end - timedelta.resolution


def parse_valid_until(text: str) -> datetime:
    """Return a time, for a day its end in the local zone."""
    start, end = parse_period(text, "future")
    return end or start


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
        metadata[name] = _scalar(text)
    return metadata


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
ValidUntilOption = Annotated[
    datetime | None,
    typer.Option(
        "--valid-until",
        metavar="DATE",
        parser=parse_valid_until,
        help="The facts hold until this time or the end of this day.",
    ),
]
WhereOption = Annotated[
    list[Condition] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="NAME=VALUE",
        parser=parse_condition,
        help="Only facts whose category, metadata, or source, agent, said_at …, match: `=`, `!=`, `<`, `<=`, `>`, "
        "`>=`, or `~` for a part of the value; `NAME=*` matches any value. A number in quotes is text. Several "
        "options must all match.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """The options that choose among the facts about a user."""

    category: Annotated[
        str | None,
        typer.Option(
            "--category", help="Only facts of this category, as with `--where category=…`.", show_default=False
        ),
    ] = None
    where: WhereOption = None
    since: Annotated[
        Period | None,
        typer.Option("--since", metavar="DATE", parser=parse_period, help="Only facts said on this day or later."),
    ] = None
    until: Annotated[
        Period | None,
        typer.Option("--until", metavar="DATE", parser=parse_period, help="Only facts said on this day or earlier."),
    ] = None
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            metavar="DATE",
            parser=parse_as_of,
            help="Facts that were true at this time or at the end of this day.",
        ),
    ] = None

    @property
    def filters(self) -> dict[str, Any] | None:
        """The filters of these options; None if there are none."""
        filters = [each.filters for each in self.where or ()]
        if self.category is not None:
            filters.append({"category": {"in": [self.category]}})
        if self.since is not None:
            filters.append(_time_filter("said_at", ">=", self.since))
        if self.until is not None:
            filters.append(_time_filter("said_at", "<=", self.until))
        return {"AND": filters} if filters else None
