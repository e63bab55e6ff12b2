"""Filters in mem0's form, over the fields and the metadata of a fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.homoglyphs import compose
from gaia_memory.models.fact import Fact
from gaia_memory.models.new_fact import LABELS, RESERVED_METADATA, Scalar
from gaia_memory.models.validation import format_value, parse_key, raise_invalid

Filters = Mapping[str, Any]
FactPredicate = Callable[[Fact], bool]

MAX_FILTER_DEPTH = 32
"""Levels of nested AND, OR and NOT."""

_Value = Scalar | datetime | None
_ValuePredicate = Callable[[_Value], bool]

_TIME_FIELDS: Mapping[str, Callable[[Fact], datetime]] = {
    "said_at": lambda fact: fact.said_at or fact.created_at,
    "created_at": lambda fact: fact.created_at,
    "updated_at": lambda fact: fact.updated_at,
}
_FIELDS: Mapping[str, Callable[[Fact], _Value]] = {
    "id": lambda fact: fact.id,
    "text": lambda fact: fact.text,
    "source": lambda fact: fact.source,
    "session_id": lambda fact: fact.session_id,
    "seq": lambda fact: fact.seq,
    "key": lambda fact: fact.key or _fold_keys(fact.metadata.get("key")),
    "sensitive": lambda fact: fact.sensitive,
    **_TIME_FIELDS,
}

_COMBINATORS: Mapping[str, Callable[[list[bool]], bool]] = {
    "AND": all,
    "OR": any,
    "NOT": lambda results: not any(results),
}
_ORDER_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}
_OPERATORS = ("eq", "ne", *_ORDER_OPERATORS, "in", "nin", "contains", "icontains")
_WILDCARD = "*"


def compile_filters(filters: Filters) -> FactPredicate:
    """Return a function that tests whether a fact passes these filters; without filters every fact passes.

    A filter maps names to conditions that must all be true: an equal value, `"*"` for any value, or operators with
    operands (`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin`, `contains`, `icontains`). `AND`, `OR` and `NOT` take a
    list of filters; `NOT` requires all of them to fail. A name is a field of a fact (`id`, `text`, `source`,
    `session_id`, `seq`, `said_at`, `created_at`, `updated_at`, `category`, `entity`, `context`, `agent`, `key`,
    `sensitive`) or a name in its metadata.

    A time is compared with an aware `datetime`, a `date` or their ISO text; a day begins at midnight UTC. `said_at` is
    the creation time for facts without one. Values of different types are neither equal nor ordered: `5` is not `"5"`.
    A missing value is not equal to anything.

    Raises:
        InvalidInputError: the filters have another form; the error names the path, the value and what to pass.
    """
    return _compile_all(filters, "filters", depth=0)


def require_conditions(filters: Filters) -> Filters:
    """Return filters that have a condition in each part: an empty part is passed by every fact.

    Raises:
        InvalidInputError: one has none.
    """
    parts = [filters]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            if not part:
                raise_invalid("filters", filters, "name a field in each part, such as {'source': 'grow'}")
            parts += [each for name in _COMBINATORS if isinstance(part.get(name), list | tuple) for each in part[name]]
    return filters


def _compile_all(filters: object, path: str, *, depth: int) -> FactPredicate:
    if not isinstance(filters, Mapping):
        raise_invalid(path, filters, "pass a mapping of names to conditions, such as {'category': 'health'}")
    if depth > MAX_FILTER_DEPTH:
        raise InvalidInputError(f"filters are nested more than {MAX_FILTER_DEPTH} levels deep: make them flatter")
    tests = [_compile_condition(name, wanted, path, depth=depth) for name, wanted in filters.items()]
    return lambda fact: all(test(fact) for test in tests)


def _compile_condition(name: object, condition: object, path: str, *, depth: int) -> FactPredicate:
    if not isinstance(name, str):
        raise_invalid(f"a name in {path}", name, "name a field or metadata with text")
    condition_path = f"{path}[{format_value(name)}]"
    if name in _COMBINATORS:
        if not isinstance(condition, list | tuple) or not condition:
            raise_invalid(condition_path, condition, "pass a list of one filter or more")
        tests = [
            _compile_all(each, f"{condition_path}[{number}]", depth=depth + 1) for number, each in enumerate(condition)
        ]
        combine = _COMBINATORS[name]
        return lambda fact: combine([test(fact) for test in tests])
    if name in RESERVED_METADATA - _FIELDS.keys():
        fix = "the scope says whose memory it is; name another field, or metadata"
        raise InvalidInputError(f"{path} names {name!r}, which no fact can be filtered by: {fix}")
    if name == "key":
        condition = _fold_keys(condition)
    value_of = _FIELDS.get(name) or _metadata_getter(name)
    matches = _compile_comparison(condition, condition_path, is_time=name in _TIME_FIELDS)
    return lambda fact: matches(value_of(fact))


def _fold_keys(value: Any) -> Any:
    """Return keys in their normal form, as facts have them; anything else as it is."""
    if isinstance(value, Mapping):
        return {name: _fold_keys(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_fold_keys(each) for each in value]
    try:
        return parse_key("key", value)
    except InvalidInputError:
        return value


def _metadata_getter(name: str) -> Callable[[Fact], _Value]:
    if name in LABELS:
        # Metadata under the name of a label agrees with it, unless it cannot be one, such as a number.
        return lambda fact: fact.metadata.get(name, getattr(fact, name))
    return lambda fact: fact.metadata.get(name)


def _compile_comparison(condition: object, path: str, *, is_time: bool) -> _ValuePredicate:
    if not isinstance(condition, Mapping):
        return _compile_operator("eq", condition, path, is_time=is_time)
    if not condition:
        raise_invalid(path, condition, f"pass a value, or operators: {', '.join(_OPERATORS)}")
    tests = []
    for operator, operand in condition.items():
        if operator not in _OPERATORS:
            raise_invalid(f"an operator in {path}", operator, f"use one of {', '.join(_OPERATORS)}")
        tests.append(_compile_operator(operator, operand, f"{path}[{operator!r}]", is_time=is_time))
    return lambda value: all(test(value) for test in tests)


def _compile_operator(operator: str, operand: object, path: str, *, is_time: bool) -> _ValuePredicate:
    if operator in ("eq", "ne") and operand == _WILDCARD:
        must_exist = operator == "eq"
        return lambda value: (value is not None) is must_exist
    if operator in ("in", "nin"):
        if not isinstance(operand, list | tuple | set | frozenset):
            raise_invalid(path, operand, "pass a list of values")
        operands = [_parse_operand(each, path, is_time=is_time) for each in operand]
        is_in = operator == "in"
        return lambda value: any(_equal(value, each) for each in operands) is is_in
    if operator in ("contains", "icontains"):
        return _compile_substring(operator, operand, path, is_time=is_time)
    parsed_operand = _parse_operand(operand, path, is_time=is_time)
    if operator in ("eq", "ne"):
        is_equal = operator == "eq"
        return lambda value: _equal(value, parsed_operand) is is_equal
    compare_order, operand_type = _ORDER_OPERATORS[operator], _comparable_type(parsed_operand)
    if operand_type is bool:
        raise_invalid(path, operand, "pass a number, a text or a time: true and false are in no order")
    return lambda value: (
        value is not None and _comparable_type(value) is operand_type and compare_order(value, parsed_operand)
    )


def _compile_substring(operator: str, operand: object, path: str, *, is_time: bool) -> _ValuePredicate:
    if not isinstance(operand, str) or is_time:
        raise_invalid(path, operand, "use gt, gte, lt or lte with a time" if is_time else "pass a text")
    substring = compose(operand)
    if operator == "contains":
        return lambda value: isinstance(value, str) and substring in compose(value)
    folded = substring.casefold()
    return lambda value: isinstance(value, str) and folded in compose(value).casefold()


def _parse_operand(operand: object, path: str, *, is_time: bool) -> Scalar | datetime:
    if is_time:
        return _parse_time(operand, path)
    if not isinstance(operand, str | int | float):
        raise_invalid(path, operand, "pass a text, a number or true/false")
    return operand


def _parse_time(operand: object, path: str) -> datetime:
    parsed = _parse_iso(operand) if isinstance(operand, str) else operand
    if isinstance(parsed, date) and not isinstance(parsed, datetime):
        return datetime.combine(parsed, time(), UTC)
    if not isinstance(parsed, datetime) or parsed.utcoffset() is None:
        fix = "pass a time with a time zone or a day, such as '2026-03-01' or '2026-03-01T18:00:00+02:00'"
        raise_invalid(path, operand, fix)
    return parsed


def _parse_iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _comparable_type(value: Scalar | datetime) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _equal(value: _Value, other: Scalar | datetime) -> bool:
    if isinstance(value, str) and isinstance(other, str):
        return compose(value) == compose(other)
    return value is not None and _comparable_type(value) is _comparable_type(other) and value == other
