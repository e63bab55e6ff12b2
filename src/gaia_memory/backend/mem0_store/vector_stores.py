"""Where the mem0 store is, and how it is opened and created there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from typing_extensions import override

from gaia_memory.backend.mem0_store.chroma.chroma_store import open_chroma, require_usable_chroma
from gaia_memory.backend.mem0_store.chroma.folders import EmbeddedLocation
from gaia_memory.backend.mem0_store.mem0_adapter import open_adapter_store, require_usable_adapter
from gaia_memory.backend.mem0_store.store import Mem0Builder, Mem0Store, StoreLabel, StoreLocation
from gaia_memory.backend.providers.resolve_provider import CHROMA, NO_STORE
from gaia_memory.config.sections.provider_section import REMOTE_STORE_KEYS
from gaia_memory.models import StoredFact


class ServerLocation(StoreLocation):
    """A store on a server, or in another engine, which keeps its own files."""

    def __init__(self, backend: Mem0Builder, home: Path, opener: Callable[..., Mem0Store], looker: Callable[..., None]):
        """Open the store with `opener`, look at it with `looker`; an engine may keep files of its own in `home`."""
        self.retains_deleted = opener is open_chroma
        self._look = looker
        self._backend = backend
        self._folder = home / "store"
        self._open = opener
        self._earlier = EmbeddedLocation(backend, self._folder)

    @override
    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        try:
            return self._open(self._backend, self._folder, label, fresh=False)
        except LookupError:
            return None

    @override
    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        store = self._open(self._backend, self._folder, label, fresh=True, erasures=erasures)
        self._earlier.remove_all(label.store_id)
        return store

    @override
    def require_usable(self, store_id: str) -> None:
        self._look(self._backend, self._folder, StoreLabel(store_id, self._backend.embedder.identity))

    @property
    @override
    def address(self) -> Path:
        return self._folder


class NoStore(Mem0Store, StoreLocation):
    """The store of `provider: none`, in which nothing is kept: vectors and erasures are still completed."""

    is_embedded = True
    retains_deleted = False
    erased = ()

    def __init__(self, earlier: EmbeddedLocation) -> None:
        """Keep nothing, and remove the `earlier` stores in the home."""
        self._earlier = earlier

    @override
    def reopen(self, label: StoreLabel) -> Mem0Store:
        self._earlier.remove_all(label.store_id)
        self.label = label
        return self

    @override
    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        return self.reopen(label)

    @override
    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        return []

    @override
    def still_exists(self) -> bool:
        return True

    @override
    def close(self) -> None:
        return


def resolve_location(backend: Mem0Builder, home: Path) -> tuple[StoreLocation, Path]:
    """Return the location of the configured store, and the path of the lock of an embedded one."""
    store = backend.store_provider
    lock_path = home / "store.lock"
    if store.name == NO_STORE:
        return NoStore(EmbeddedLocation(backend, home / "store")), lock_path
    if store.name != CHROMA:
        return ServerLocation(backend, home, open_adapter_store, require_usable_adapter), lock_path
    if any(store.config.get(key) for key in REMOTE_STORE_KEYS):
        return ServerLocation(backend, home, open_chroma, require_usable_chroma), lock_path
    if configured_path := store.config.get("path"):
        root = Path(str(configured_path)).expanduser()
        return EmbeddedLocation(backend, root), root.with_name(root.name + ".lock")
    return EmbeddedLocation(backend, home / "store"), lock_path
