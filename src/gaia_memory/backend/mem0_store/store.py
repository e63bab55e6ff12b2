"""The interface of a mem0 store, which is used in worker threads and never on the event loop."""

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
    """The id of a store and the embedder of its vectors."""

    store_id: str
    embedder: str

    @property
    def dimensions(self) -> int:
        """Length of the store's vectors: the last part of the embedder's identity."""
        last = self.embedder.rpartition("/")[2]
        return int(last) if last.isdigit() else 1


class Mem0Builder(Protocol):
    """Builds mem0 from the configuration."""

    def mem0_config(self, store_path: Path) -> Any:
        """Import mem0 safely and return its configuration."""
        ...

    def open_memory(self, store_path: Path, *, client: Any = None) -> Any:
        """Return a `mem0.Memory` over the store in `store_path`."""
        ...


class StoreContents(Protocol):
    """The contents of a store. Every method blocks and raises anything when the store is unreadable."""

    def contains(self, facts: Sequence[StoredFact]) -> bool:
        """Return whether it contains all of `facts`, unchanged."""
        ...

    def count(self) -> int:
        """Return the number of facts."""
        ...


class Mem0Store(Protocol):
    """One open store. Every method blocks."""

    memory: Any
    """The `mem0.Memory` over the store, valid until `close`."""

    label: StoreLabel

    unverified: StoreContents | None
    """The contents to compare with the database before the store is used; None after a clean close."""

    quarantined: list[str]
    """Quarantined stores at the same location."""

    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        """Write `facts` and remove `removed_ids`; return the ids of facts that the store refuses.

        Raises:
            Exception: the store is not writable; writing again later is harmless.
        """
        ...

    def still_exists(self) -> bool:
        """Return whether the store is still where it was opened.

        Raises:
            Exception: the server does not answer.
        """
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


def insert_all(
    insert: Callable[[Sequence[StoredFact]], None], facts: Sequence[StoredFact], *, check_alive: Callable[[], object]
) -> list[str]:
    """Insert `facts` at once or, when one is refused, one by one; return the ids of the refused.

    `check_alive` is called after a refusal and raises when the whole store is down.
    """
    if not facts:
        return []
    try:
        insert(facts)
    except Exception as error:
        # Every store has its own errors.
        if not _is_refusal(error):
            raise
        check_alive()
        if len(facts) == 1:
            return [facts[0].fact.id]
        return [fact_id for stored in facts for fact_id in insert_all(insert, [stored], check_alive=check_alive)]
    return []


def _is_refusal(error: Exception) -> bool:
    """Return whether a store rejects the data, rather than being unable to write."""
    return (
        isinstance(error, ValueError | TypeError | OverflowError)
        or type(error).__name__ == "InvalidArgumentError"
        or getattr(error, "status_code", None) in _REFUSAL_STATUSES
    )


def require_label(label: StoreLabel, store_id: object, embedder: object) -> None:
    """Return if a store has `label`.

    Raises:
        LookupError: it has another label, or none.
    """
    if store_id != label.store_id or not is_same_embedder(label.embedder, str(embedder)):
        raise LookupError(f"the store is {store_id!r} of {embedder!r}, not {label.store_id!r} of {label.embedder!r}")


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
