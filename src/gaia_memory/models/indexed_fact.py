"""A fact as recall compares it: the features of its text, its conversation and its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gaia_memory.language.text_features import extract_features
from gaia_memory.models.new_fact import DEFAULT_CONTEXT, Metadata


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """The values of a fact that decide whether it is found, and its rank. Times are seconds since the epoch.

    `conversation` identifies a conversation within the scope; `features` are the packed features of the text.
    """

    id: str
    conversation: str | None
    seq: int | None
    said_at: float | None
    stored_at: float
    features: bytes
    sensitive: bool = False
    context: str = DEFAULT_CONTEXT
    valid_from: float | None = None
    valid_until: float | None = None
    is_in_doubt: bool = False
    is_unconfirmed: bool = False


class PastIndex(NamedTuple):
    """The facts that have ended as recall compares them, and the vectors of one embedder with the ids of their facts.

    The vectors are a float32 matrix with one row for each id.
    """

    facts: list[IndexedFact]
    ids: list[str]
    vectors: Any


def extract_fact_features(text: str, metadata: Metadata) -> bytes:
    """Return the packed features of a text, with the speaker in its metadata."""
    return extract_features(text, find_author(metadata))


def find_author(metadata: Metadata) -> str | None:
    """Return the speaker or author in the metadata; None without one."""
    author = metadata.get("speaker") or metadata.get("author")
    return author if isinstance(author, str) and author else None


def is_same_embedder(one: str, other: str) -> bool:
    """Return whether two identities, `provider/model/dimensions`, mean the same embedder.

    Unknown dimensions and models (`?`, `default`) match any.
    """
    if one == other:
        return True
    provider, _, rest = one.partition("/")
    other_provider, _, other_rest = other.partition("/")
    model, _, dimensions = rest.rpartition("/")
    other_model, _, other_dimensions = other_rest.rpartition("/")
    return (
        provider == other_provider
        and "?" in (dimensions, other_dimensions)
        and (model == other_model or "default" in (model, other_model))
    )
