"""Which facts are meant: filters in mem0's form, over a fact's own fields and its metadata."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.models.fact import RESERVED_METADATA, Fact, Scalar
from gaia_memory.models.validation import refuse, shown

Filters = Mapping[str, Any]
Holds = Callable[[Fact], bool]

DEEPEST = 32
"""How deep AND, OR and NOT may stand in each other."""

_Value = Scalar | datetime | None
_Compares = Callable[[_Value], bool]

_TIMES: Mapping[str, Callable[[Fact], datetime]] = {
    "said_at": lambda fact: fact.said_at or fact.created_at,
    "created_at": lambda fact: fact.created_at,
    "updated_at": lambda fact: fact.updated_at,
}
_FIELDS: Mapping[str, Callable[[Fact], _Value]] = {
    "id": lambda fact: fact.id,
    "source": lambda fact: fact.source,
    "session_id": lambda fact: fact.session_id,
    "seq": lambda fact: fact.seq,
    **_TIMES,
}
_JOINED: Mapping[str, Callable[[list[bool]], bool]] = {
    "AND": all,
    "OR": any,
    "NOT": lambda held: not any(held),
}
_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}
_OPERATORS = ("eq", "ne", *_ORDERED, "in", "nin", "contains", "icontains")
_ANY = "*"


def holds(filters: Filters) -> Holds:
    """Return what says of a fact whether these filters hold for it; without any they hold for every fact.

    A filter maps names to what is wanted, and all of them must hold: a value to be equal to, `"*"` for any value, or
    operators with what they compare to (`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin`, `contains`, `icontains`).
    `AND`, `OR` and `NOT` take a list of filters; `NOT` wants none of them to hold. A name is a fact's own field
    (`id`, `source`, `session_id`, `seq`, `said_at`, `created_at`, `updated_at`) or one of its metadata.

    A time is compared to an aware `datetime`, a `date` or their ISO text; a day begins at midnight UTC. `said_at` is
    when it was said or, where nobody knows, when it was kept. Values of two kinds are neither equal nor in an order:
    `5` is not `"5"`. What a fact has no value for is not equal to anything.

    Raises:
        InvalidInputError: the filters are of another form; it names the place, the value and what to pass.
    """
    return _all_of(filters, "filters", depth=0)


def _all_of(filters: object, place: str, *, depth: int) -> Holds:
    if not isinstance(filters, Mapping):
        refuse(place, filters, "pass a mapping of names to what is wanted, such as {'category': 'health'}")
    if depth > DEEPEST:
        raise InvalidInputError(f"filters stand in each other more than {DEEPEST} deep: make them flatter")
    tests = [_test(name, wanted, place, depth=depth) for name, wanted in filters.items()]
    return lambda fact: all(test(fact) for test in tests)


def _test(name: object, wanted: object, place: str, *, depth: int) -> Holds:
    if not isinstance(name, str):
        refuse(f"a name in {place}", name, "name a field or metadata with text")
    here = f"{place}[{shown(name)}]"
    if name in _JOINED:
        if not isinstance(wanted, list | tuple) or not wanted:
            refuse(here, wanted, "pass a list of one filter or more")
        tests = [_all_of(each, f"{here}[{number}]", depth=depth + 1) for number, each in enumerate(wanted)]
        joined = _JOINED[name]
        return lambda fact: joined([test(fact) for test in tests])
    if name in RESERVED_METADATA - _FIELDS.keys():
        fix = "the scope says whose memory it is; name another field, or metadata"
        raise InvalidInputError(f"{place} names {name!r}, which no fact can be filtered by: {fix}")
    value_of = _FIELDS.get(name) or (lambda fact: fact.metadata.get(name))
    compares = _comparison(wanted, here, is_time=name in _TIMES)
    return lambda fact: compares(value_of(fact))


def _comparison(wanted: object, place: str, *, is_time: bool) -> _Compares:
    if not isinstance(wanted, Mapping):
        return _compared("eq", wanted, place, is_time=is_time)
    if not wanted:
        refuse(place, wanted, f"pass a value, or operators: {', '.join(_OPERATORS)}")
    tests = []
    for operator, bound in wanted.items():
        if operator not in _OPERATORS:
            refuse(f"an operator in {place}", operator, f"use one of {', '.join(_OPERATORS)}")
        tests.append(_compared(operator, bound, f"{place}[{operator!r}]", is_time=is_time))
    return lambda value: all(test(value) for test in tests)


def _compared(operator: str, bound: object, place: str, *, is_time: bool) -> _Compares:
    if operator in ("eq", "ne") and bound == _ANY:
        is_wanted = operator == "eq"
        return lambda value: (value is not None) is is_wanted
    if operator in ("in", "nin"):
        if not isinstance(bound, list | tuple | set | frozenset):
            refuse(place, bound, "pass a list of values")
        among = [_bound(each, place, is_time=is_time) for each in bound]
        is_in = operator == "in"
        return lambda value: any(_equal(value, each) for each in among) is is_in
    if operator in ("contains", "icontains"):
        return _part(operator, bound, place, is_time=is_time)
    given = _bound(bound, place, is_time=is_time)
    if operator in ("eq", "ne"):
        is_equal = operator == "eq"
        return lambda value: _equal(value, given) is is_equal
    ordered, kind = _ORDERED[operator], _kind(given)
    if kind is bool:
        refuse(place, bound, "pass a number, a text or a time: true and false are in no order")
    return lambda value: value is not None and _kind(value) is kind and ordered(value, given)


def _part(operator: str, bound: object, place: str, *, is_time: bool) -> _Compares:
    if not isinstance(bound, str) or is_time:
        refuse(place, bound, "use gt, gte, lt or lte with a time" if is_time else "pass a text")
    part = _composed(bound)
    if operator == "contains":
        return lambda value: isinstance(value, str) and part in _composed(value)
    folded = part.casefold()
    return lambda value: isinstance(value, str) and folded in _composed(value).casefold()


def _bound(bound: object, place: str, *, is_time: bool) -> Scalar | datetime:
    if is_time:
        return _moment(bound, place)
    if not isinstance(bound, str | int | float):
        refuse(place, bound, "pass a text, a number or true/false")
    return bound


def _moment(given: object, place: str) -> datetime:
    read = _iso(given) if isinstance(given, str) else given
    if isinstance(read, date) and not isinstance(read, datetime):
        return datetime.combine(read, time(), UTC)
    if not isinstance(read, datetime) or read.utcoffset() is None:
        fix = "pass a time with a time zone or a day, such as '2026-03-01' or '2026-03-01T18:00:00+02:00'"
        refuse(place, given, fix)
    return read


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _kind(value: Scalar | datetime) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _equal(value: _Value, other: Scalar | datetime) -> bool:
    if isinstance(value, str) and isinstance(other, str):
        return _composed(value) == _composed(other)
    return value is not None and _kind(value) is _kind(other) and value == other


def _composed(text: str) -> str:
    """Return a text with each letter and its accent as one: some keyboards write two."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
