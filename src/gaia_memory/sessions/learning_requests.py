"""What callbacks and tools gave to learn during a turn, as the ledger stores it: one JSON object a line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter

from gaia_memory.models import Metadata, Turn


@dataclass(frozen=True, slots=True)
class LearningRequest:
    """Turns to learn with metadata for the facts; without turns, the session as far as it goes."""

    turns: tuple[Turn, ...] | None = None
    metadata: Metadata | None = None


@cache
def _adapter() -> TypeAdapter[LearningRequest]:
    return TypeAdapter(LearningRequest)


def encode_request(request: LearningRequest) -> str:
    """Return a request as a line."""
    return _adapter().dump_json(request).decode() + "\n"


def decode_requests(stored: str | None) -> list[LearningRequest]:
    """Return stored requests in order."""
    return [_adapter().validate_json(line) for line in (stored or "").splitlines()]
