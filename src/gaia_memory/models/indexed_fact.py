"""A fact as recall looks at it: the traits of what it says, where and when."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_memory.language.text_features import extract_features
from gaia_memory.models.fact import Fact, Metadata


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """What of a fact counts for its place among others. Times are seconds since the epoch.

    `conversation` tells conversations of one scope apart; `features` are those of its text, packed.
    """

    id: str
    conversation: str | None
    seq: int | None
    said_at: float | None
    stored_at: float
    features: bytes


def index_fact(fact: Fact) -> IndexedFact:
    """Return the line of a fact."""
    said_at = None if fact.said_at is None else fact.said_at.timestamp()
    features = extract_fact_features(fact.text, fact.metadata)
    return IndexedFact(fact.id, fact.session_id, fact.seq, said_at, fact.created_at.timestamp(), features)


def extract_fact_features(text: str, metadata: Metadata) -> bytes:
    """Return the traits of a text, said by whom its metadata name."""
    return extract_features(text, find_author(metadata))


def find_author(metadata: Metadata) -> str | None:
    """Return who said it, as a host or ADK notes it; None where nobody did."""
    author = metadata.get("speaker") or metadata.get("author")
    return author if isinstance(author, str) and author else None
