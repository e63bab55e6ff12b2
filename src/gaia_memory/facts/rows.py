"""Converts rows of the tables to values, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sqlalchemy import Row

from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts.tables import facts
from gaia_memory.models import Fact, Metadata, Scope, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VECTOR_DTYPE = np.dtype("<f4")

MAX_VALUES_PER_STATEMENT = 500
"""Values in one `IN (…)`: databases limit the variables of a statement."""

VECTORS_PER_STATEMENT = 250
"""Vectors looked up in one statement, by two values each."""

FACT_COLUMNS = tuple(
    facts.c[name]
    for name in ("row", "id", "text", "source", "created_at", "updated_at", "said_at", "session_id", "seq", "metadata")
)
"""The columns that `fact_of` reads; most of the rest of a row is its vector."""

INDEXED_FACT_COLUMNS = tuple(facts.c[name] for name in ("id", "session_id", "seq", "said_at", "created_at", "traits"))
"""The columns of an `IndexedFact`; most of the rest of a row is its vector."""

Item = TypeVar("Item")


def in_chunks(items: Iterable[Item], size: int = MAX_VALUES_PER_STATEMENT) -> Iterator[list[Item]]:
    """Yield the items in lists short enough for one statement."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def to_epoch_seconds(moment: datetime) -> float:
    """Return an aware time as seconds since the epoch."""
    return (moment - _EPOCH).total_seconds()


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
    metadata: Metadata = row.metadata
    created_at = from_epoch_seconds(row.created_at)
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
        metadata=metadata,
    )


def scope_of(app: str | None, user: str) -> Scope:
    """Return the scope of an encoded app and user."""
    return Scope(None if app is None else decode_id(app), decode_id(user))
