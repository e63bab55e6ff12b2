"""What a mem0 store is to its follower: opened, written and closed on a worker thread, never on the event loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gaia_memory.models import StoredFact

EMBEDDER_KEY = "gaia_embedder"

_REFUSAL_STATUSES = (400, 413, 422)


@dataclass(frozen=True, slots=True)
class StoreLabel:
    """What a store carries: its id, and the embedder whose vectors it holds."""

    store_id: str
    embedder: str

    @property
    def dimensions(self) -> int:
        """Length of the store's vectors, the last part of the embedder's identity."""
        last = self.embedder.rpartition("/")[2]
        return int(last) if last.isdigit() else 1


class Mem0Builder(Protocol):
    """What builds mem0 from the configuration."""

    def mem0_config(self, store_path: Path) -> Any:
        """Return mem0's configuration, importing mem0 as it should be."""
        ...

    def open_memory(self, store_path: Path, *, client: Any = None) -> Any:
        """Return a `mem0.Memory` over the store in `store_path`."""
        ...


class StoreContents(Protocol):
    """What a store says of what it holds. Every method blocks, and raises anything where it cannot be read."""

    def contains(self, facts: Sequence[StoredFact]) -> bool:
        """Say whether it holds all of `facts` exactly as they are."""
        ...

    def count(self) -> int:
        """Return how many facts it holds."""
        ...


class Mem0Store(Protocol):
    """One open store. Every method blocks."""

    memory: Any
    """The `mem0.Memory` over it, valid until `close`."""

    label: StoreLabel

    unverified: StoreContents | None
    """What is to be compared with the database before the store is used; None where it is as it was left."""

    quarantined: list[str]
    """What was set aside at the same place, for something else had filled it."""

    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        """Put `facts` as they are and remove `removed_ids`; return the ids of facts the store refuses to hold.

        Raises:
            Exception: the store cannot be written; writing again later is harmless.
        """
        ...

    def still_exists(self) -> bool:
        """Say whether it still stands where it was opened.

        Raises:
            Exception: nobody answers there.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def insert_all(
    insert: Callable[[Sequence[StoredFact]], None], facts: Sequence[StoredFact], *, check_alive: Callable[[], object]
) -> list[str]:
    """Insert `facts` at once or, when one is refused, one by one; return the ids of those refused.

    `check_alive` is called after a refusal and raises when the store does not work at all.
    """
    if not facts:
        return []
    try:
        insert(facts)
    except Exception as error:
        # Every store has its own errors; what they mean is told apart here, and the rest raised again.
        if not _is_refusal(error):
            raise
        check_alive()
        if len(facts) == 1:
            return [facts[0].fact.id]
        return [fact_id for stored in facts for fact_id in insert_all(insert, [stored], check_alive=check_alive)]
    return []


def _is_refusal(error: Exception) -> bool:
    """Say whether a store objects to what is written, rather than being unable to write."""
    return (
        isinstance(error, ValueError | TypeError | OverflowError)
        or type(error).__name__ == "InvalidArgumentError"
        or getattr(error, "status_code", None) in _REFUSAL_STATUSES
    )


def require_label(label: StoreLabel, store_id: object, embedder: object) -> None:
    """Return if a store carries `label`.

    Raises:
        LookupError: it carries another, or none.
    """
    if store_id != label.store_id or not is_same_embedder(label.embedder, str(embedder)):
        raise LookupError(
            f"the store carries {store_id!r} of {embedder!r}, not {label.store_id!r} of {label.embedder!r}"
        )


def is_same_embedder(one: str, other: str) -> bool:
    """Say whether two identities, `provider/model/dimensions`, name one embedder.

    Dimensions and model that are not known yet (`?`, `default`) match any.
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
