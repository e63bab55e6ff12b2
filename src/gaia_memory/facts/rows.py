"""Converts rows of the tables to values, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sqlalchemy import ColumnElement, Delete, Row, Select, Table, Text, Update, type_coerce

from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts.tables import facts
from gaia_memory.models import LABELS, UNCONFIRMED_KEY, Fact, IndexedFact, Metadata, NewFact, Scope, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gaia_memory.ports import Transaction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VECTOR_DTYPE = np.dtype("<f4")

MAX_VALUES_PER_STATEMENT = 500
"""Values in one `IN (…)`: databases limit the variables of a statement."""

VECTORS_PER_STATEMENT = 250
"""Vectors looked up in one statement, by two values each."""

_TIME_DETAILS = ("due_at", "reminded_at", "valid_from", "valid_until", "first_said_at", "in_doubt_since")
DETAIL_DEFAULTS: Mapping[str, Any] = {
    **LABELS,
    "key": None,
    "sensitive": False,
    "due_zone": None,
    "due_all_day": False,
    "every": None,
    **dict.fromkeys(_TIME_DETAILS),
}
"""The columns from `category` on, with the values that most facts have."""

_details = attrgetter(*DETAIL_DEFAULTS)
_NO_DETAILS = tuple(DETAIL_DEFAULTS.values())

_PLAIN_NAMES = ("row", "id", "text", "source", "created_at", "updated_at", "said_at", "session_id", "seq", "metadata")
FACT_COLUMN_NAMES = (*_PLAIN_NAMES, *DETAIL_DEFAULTS)
FACT_COLUMNS = tuple(facts.c[name] for name in FACT_COLUMN_NAMES)
"""The columns that `fact_of` reads; most of the rest of a row is its vector."""

_INDEXED_NAMES = (
    *("id", "session_id", "seq", "said_at", "created_at", "traits"),
    *("sensitive", "context", "valid_from", "valid_until", "in_doubt_since"),
)


def is_marked(table: Table, name: str) -> ColumnElement[bool]:
    """Return the condition that `name` is true in the metadata of a fact."""
    # Within a value, the quotation marks would be escaped.
    return type_coerce(table.c.metadata, Text).contains(f'"{name}":true', autoescape=True)


def indexed_columns(table: Table) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of an `IndexedFact`; most of the rest of a row is its vector."""
    is_unconfirmed = is_marked(table, UNCONFIRMED_KEY).label("is_unconfirmed")
    return *(table.c[name] for name in _INDEXED_NAMES), is_unconfirmed


INDEXED_FACT_COLUMNS = indexed_columns(facts)

Item = TypeVar("Item")


def in_chunks(items: Iterable[Item], size: int = MAX_VALUES_PER_STATEMENT) -> Iterator[list[Item]]:
    """Yield the items in lists short enough for one statement."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


async def select_in(
    tx: Transaction, statement: Select[Any], column: ColumnElement[Any], values: Iterable[Any]
) -> list[Row[Any]]:
    """Return the rows of a statement in which a column has one of these values, however many there are."""
    return [row for chunk in in_chunks(values) for row in await tx.execute(statement.where(column.in_(chunk)))]


async def change_in(
    tx: Transaction, statement: Update | Delete, column: ColumnElement[Any], values: Iterable[Any]
) -> int:
    """Update or delete the rows in which a column has one of these values; return how many."""
    return sum([(await tx.execute(statement.where(column.in_(chunk)))).rowcount for chunk in in_chunks(values)])


def to_epoch_seconds(moment: datetime) -> float:
    """Return an aware time as seconds since the epoch."""
    return (moment - _EPOCH).total_seconds()


def to_optional_seconds(moment: datetime | None) -> float | None:
    """Return an aware time as seconds since the epoch, and None as None."""
    return None if moment is None else to_epoch_seconds(moment)


def from_epoch_seconds(since_epoch: float) -> datetime:
    """Return seconds since the epoch as an aware time in UTC."""
    return _EPOCH + timedelta(seconds=since_epoch)


def pack_vector(vector: Vector) -> bytes:
    """Return a vector in its stored form."""
    return np.asarray(vector, _VECTOR_DTYPE).tobytes()


def unpack_vector(packed: bytes) -> Vector:
    """Return a stored vector."""
    return tuple(np.frombuffer(packed, dtype="<f4").tolist())


def stack_vectors(packed: Sequence[bytes]) -> NDArray[np.float32]:
    """Return stored vectors of one length as the rows of a matrix."""
    if not packed:
        return np.empty((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(packed), dtype="<f4").astype(np.float32, copy=False).reshape(len(packed), -1)


def fact_of(row: Row[Any], scope: Scope) -> Fact:
    """Return the fact of a row."""
    return build_fact(row, scope, _changed_details(row))


def build_fact(row: Row[Any] | SimpleNamespace, scope: Scope, columns: Mapping[str, Any]) -> Fact:
    """Return the fact of a row, which is or will be in the database; `columns` are those that `details_of` returns."""
    created_at = from_epoch_seconds(row.created_at)
    details: dict[str, Any] = {
        name: from_epoch_seconds(value) if name in _TIME_DETAILS and value is not None else value
        for name, value in columns.items()
    }
    return Fact(
        id=row.id,
        scope=scope,
        text=row.text,
        source=row.source,
        created_at=created_at,
        updated_at=created_at if row.updated_at == row.created_at else from_epoch_seconds(row.updated_at),
        said_at=None if row.said_at is None else from_epoch_seconds(row.said_at),
        session_id=None if row.session_id is None else decode_id(row.session_id),
        seq=row.seq,
        metadata=_with_labels(row.metadata, details),
        **details,
    )


def to_indexed_fact(row: Row[Any], recomputed: bytes | None = None) -> IndexedFact:
    """Return what recall compares of a row with `indexed_columns`, with these features if they are given."""
    return IndexedFact(
        row.id,
        row.session_id,
        row.seq,
        row.said_at,
        row.created_at,
        row.traits if recomputed is None else recomputed,
        row.sensitive,
        row.context,
        row.valid_from,
        row.valid_until,
        is_in_doubt=row.in_doubt_since is not None,
        is_unconfirmed=row.is_unconfirmed,
    )


def details_of(fact: NewFact) -> dict[str, Any]:
    """Return those columns from `category` on in which a new fact differs from the defaults."""
    details = {name: stored_detail(name, value) for name, value in _changed_details(fact).items()}
    if fact.first_said_at is None and fact.said_at is not None:
        details["first_said_at"] = to_epoch_seconds(fact.said_at)
    return details


def stored_detail(name: str, value: Any) -> Any:
    """Return the value of one of those columns in its stored form."""
    return to_epoch_seconds(value) if value is not None and name in _TIME_DETAILS else value


def _changed_details(of: Row[Any] | NewFact) -> dict[str, Any]:
    """Return the details that differ from the defaults; most facts have none, which one comparison shows."""
    values = _details(of)
    if values == _NO_DETAILS:
        return {}
    return {
        name: value
        for name, value, default in zip(DETAIL_DEFAULTS, values, _NO_DETAILS, strict=True)
        if value != default
    }


def fill_defaults(rows: Sequence[dict[str, Any]], defaults: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Give each row the columns that any of them has; one that none has is left to the database, which is faster."""
    named = {name for row in rows for name in row} & defaults.keys()
    return [{**{name: defaults[name] for name in named}, **row} for row in rows] if named else rows


def _with_labels(metadata: Metadata, details: Mapping[str, Any]) -> Metadata:
    """Return metadata in which the texts under the names of labels are those of the columns, which are the truth."""
    if metadata.keys().isdisjoint(details):
        return metadata
    return {
        name: details[name] if name in LABELS and name in details and isinstance(value, str) else value
        for name, value in metadata.items()
    }


def scope_of(app: str | None, user: str) -> Scope:
    """Return the scope of an encoded app and user."""
    if app is not None and not user:
        return Scope.app_wide(decode_id(app))
    return Scope(None if app is None else decode_id(app), decode_id(user))
