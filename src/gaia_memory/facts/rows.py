"""Rows of the tables as the values that travel, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sqlalchemy import Row

from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts.tables import facts
from gaia_memory.models import Fact, IndexedFact, Metadata, Scope, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VECTOR_DTYPE = np.dtype("<f4")
_UUID_VARIANT_DIGITS = "89ab"
"""Digits by which a UUID of version 4 says what it is."""

MAX_VALUES_PER_STATEMENT = 500
"""How many values go into one `IN (…)`: databases limit the variables of a statement."""

FACT_COLUMNS = tuple(
    facts.c[name]
    for name in ("row", "id", "text", "source", "created_at", "updated_at", "said_at", "session_id", "seq", "metadata")
)
"""What `fact_of` reads. The rest of a row is its vector, for the most part."""

INDEXED_FACT_COLUMNS = tuple(facts.c[name] for name in ("id", "session_id", "seq", "said_at", "created_at", "traits"))
"""What `indexed_fact_of` reads."""

Item = TypeVar("Item")


def in_chunks(items: Iterable[Item], size: int = MAX_VALUES_PER_STATEMENT) -> Iterator[list[Item]]:
    """Cut items into lists short enough for one statement."""
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
    """Return a vector as it is kept."""
    return np.asarray(vector, _VECTOR_DTYPE).tobytes()


def unpack_vector(packed: bytes) -> Vector:
    """Return a vector that was kept."""
    return tuple(np.frombuffer(packed, dtype="<f4").tolist())


def stack_vectors(packed: Sequence[bytes]) -> NDArray[np.float32]:
    """Return vectors of one length as the rows of a matrix."""
    if not packed:
        return np.empty((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(packed), dtype="<f4").astype(np.float32, copy=False).reshape(len(packed), -1)


def new_ids(count: int) -> list[str]:
    """Return random UUIDs; asked for them one by one, the system takes longer than all else about a row."""
    digits = os.urandom(16 * count).hex()
    chunks = [digits[start : start + 32] for start in range(0, len(digits), 32)]
    return [
        f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{_UUID_VARIANT_DIGITS[int(one[16], 16) & 3]}{one[17:20]}-{one[20:]}"
        for one in chunks
    ]


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


def indexed_fact_of(row: Row[Any], traits: bytes) -> IndexedFact:
    """Return what recall looks at of a row, with these traits; its conversation stays as it is kept."""
    return IndexedFact(row.id, row.session_id, row.seq, row.said_at, row.created_at, traits)


def scope_of(app: str | None, user: str) -> Scope:
    """Return the scope of two encoded halves."""
    return Scope(None if app is None else decode_id(app), decode_id(user))
