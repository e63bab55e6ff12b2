"""A fact as mem0 itself would have stored it: the payload next to a vector."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from gaia_memory.models import LABELS, RESERVED_METADATA, Scalar

if TYPE_CHECKING:
    from datetime import datetime

    from gaia_memory.models import Fact

WRITER_KEY = "written_by"


def is_own(row_id: str, payload: Mapping[str, Any]) -> bool:
    """Return whether a row is ours, and no copy of one with an id of its own."""
    return payload.get(WRITER_KEY) == _writer(row_id)


def _writer(row_id: str) -> str:
    return f"gaia-memory/{row_id}"


_MOMENT = timedelta.resolution
_INTEGER_LIMIT = 2**63


def build_payload(fact: Fact, *, with_search_text: bool) -> dict[str, Scalar]:
    """Return mem0's payload for `fact`, of flat scalars that every store takes.

    The owner is `Scope.mem0_user_id`. The fact's metadata keeps its names, without reserved ones, which could hide the
    fact or give it to another user; labels such as the category stand beside it. `with_search_text` adds
    the copy of the text for stores with their own keyword search.
    """
    text = _encodable(fact.text)
    fields: dict[str, Scalar] = {
        key: _storable(value) for key, value in fact.metadata.items() if key and key not in RESERVED_METADATA
    }
    labels = {name: getattr(fact, name) for name, default in LABELS.items() if getattr(fact, name) != default}
    fields = {name: _storable(label) for name, label in labels.items()} | fields
    if fact.sensitive:
        fields["sensitive"] = True
    fields |= {
        "data": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "user_id": fact.scope.mem0_user_id,
        "created_at": _iso(fact.created_at),
        "updated_at": _iso(fact.updated_at),
        "source": fact.source,
        WRITER_KEY: _writer(fact.id),
    }
    if fact.valid_until is not None:
        # mem0 hides a fact after the day of this name, in UTC.
        fields["expiration_date"] = (fact.valid_until.astimezone(UTC) - _MOMENT).date().isoformat()
    if fact.said_at is not None:
        fields["said_at"] = _iso(fact.said_at)
    if fact.session_id is not None:
        fields["session_id"] = _encodable(fact.session_id)
    if fact.seq is not None:
        fields["seq"] = fact.seq
    if with_search_text:
        fields["text_lemmatized"] = text.lower()
    return fields


def _storable(value: Scalar) -> Scalar:
    """Return a value that every store can keep: Chroma drops a whole payload for one number out of its range."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INTEGER_LIMIT <= value < _INTEGER_LIMIT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _encodable(str(value))


def _encodable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
