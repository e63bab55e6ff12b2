"""A fact as recall looks at it: the traits of what it says, where and when."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_memory.language.text_features import traits_of
from gaia_memory.models.fact import Fact, Metadata


@dataclass(frozen=True, slots=True)
class Line:
    """What of a fact counts for its place among others. Times are seconds since the epoch.

    `conversation` tells conversations of one scope apart; `traits` are those of its text, packed.
    """

    id: str
    conversation: str | None
    seq: int | None
    said_at: float | None
    kept_at: float
    traits: bytes


def line_of(fact: Fact) -> Line:
    """Return the line of a fact."""
    said_at = None if fact.said_at is None else fact.said_at.timestamp()
    traits = traits_in(fact.text, fact.metadata)
    return Line(fact.id, fact.session_id, fact.seq, said_at, fact.created_at.timestamp(), traits)


def traits_in(text: str, metadata: Metadata) -> bytes:
    """Return the traits of a text, said by whom its metadata name."""
    return traits_of(text, author_in(metadata))


def author_in(metadata: Metadata) -> str | None:
    """Return who said it, as a host or ADK notes it; None where nobody did."""
    author = metadata.get("speaker") or metadata.get("author")
    return author if isinstance(author, str) and author else None
