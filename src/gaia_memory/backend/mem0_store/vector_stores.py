"""Where the mem0 store is, and how it is opened, recreated and erased from there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from gaia_memory.backend.mem0_store.chroma.chroma_store import open_chroma_server, open_folder
from gaia_memory.backend.mem0_store.chroma.folders import StoreFolders
from gaia_memory.backend.mem0_store.mem0_adapter import open_adapter_store
from gaia_memory.backend.mem0_store.store import Mem0Builder, Mem0Store, StoreLabel
from gaia_memory.backend.providers.provider_specs import REMOTE_STORE_KEYS, Provider
from gaia_memory.errors import GaiaMemoryError

CHROMA = "chroma"


class StoreLocation(Protocol):
    """One way to keep a store. Every method but `cancel_probe` blocks."""

    is_embedded: bool
    """Whether the store is a folder of this process, which is repaired by recreating it."""

    retains_deleted: bool
    """Whether deleted text stays in its log, as in Chroma's, so that erasing means recreating."""

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of a store are; None when another program keeps them."""
        ...

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Open the store with `label`; None when it is missing, damaged or has another label."""
        ...

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Return an empty store with `label`, and remove earlier ones of this database.

        A store that another database or program has filled is quarantined, or refused if that is impossible. The text
        of `erasures` is already gone from the database.
        """
        ...

    def erasures_before(self, label: StoreLabel) -> set[int]:
        """Return the erasures that `create` received for this store, if they were noted."""
        ...

    def quarantined(self) -> list[str]:
        """Return where quarantined stores are, as far as this process knows."""
        ...

    def mark_closed(self, label: StoreLabel) -> None:
        """Record that the store was closed cleanly."""
        ...

    def cancel_probe(self) -> None:
        """Abort a running probe; callable from any thread."""
        ...


class EmbeddedLocation:
    """Embedded Chroma: one folder under `folders` for each store."""

    is_embedded = True
    retains_deleted = True

    def __init__(self, backend: Mem0Builder, folders: StoreFolders) -> None:
        """Keep stores in `folders`."""
        self._backend = backend
        self._folders = folders

    def folder(self, store_id: str) -> Path | None:
        """Return the store's own folder."""
        return self._folders.folder(store_id)

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Open the folder of `label` if that is safe, and remove all others.

        A folder that changed after its last close is unverified: a probe cannot tell foreign bytes from text.
        """
        was_clean = self._folders.was_closed_cleanly(label.store_id)
        if not was_clean and not self._folders.is_openable(label.store_id):
            return None
        self._folders.remove_all(store_id=label.store_id, keep_current=True)
        try:
            store = open_folder(self._backend, self._folders.folder(label.store_id), label, fresh=False)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about this folder, a new one is free of it.
            return None
        store.unverified = None if was_clean else store
        return store

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Remove every folder of this database and open a new one."""
        self._folders.remove_all(store_id=label.store_id)
        folder = self._folders.create(label.store_id)
        if erasures:
            self._folders.note_erasures(label.store_id, erasures)
        return open_folder(self._backend, folder, label, fresh=True)

    def erasures_before(self, label: StoreLabel) -> set[int]:
        """Return the erasures that were noted next to the folder."""
        return self._folders.erasures_before(label.store_id)

    def quarantined(self) -> list[str]:
        """Return the folders of quarantined stores."""
        return [str(folder) for folder in self._folders.quarantined()]

    def mark_closed(self, label: StoreLabel) -> None:
        """Record the folder's files."""
        self._folders.note_clean_close(label.store_id)

    def cancel_probe(self) -> None:
        """End a probe."""
        self._folders.cancel_probe()


class ServerLocation:
    """A store on a server, or in another engine, which keeps its own files."""

    is_embedded = False

    def __init__(
        self, backend: Mem0Builder, home: Path, opener: Callable[..., Mem0Store], *, retains_deleted: bool = False
    ) -> None:
        """Open the store with `opener`; an engine may keep files of its own in `home`."""
        self.retains_deleted = retains_deleted
        self._backend = backend
        self._folder = home / "store"
        self._open = opener
        self._quarantined: list[str] = []

    def folder(self, store_id: str) -> Path | None:
        """Return None: the engine keeps its own files."""
        return None

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Open the store if it has `label`."""
        try:
            return self._open_store(label, fresh=False)
        except LookupError:
            return None

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Empty the store and give it `label`."""
        return self._open_store(label, fresh=True)

    def erasures_before(self, label: StoreLabel) -> set[int]:
        """Return nothing: rows are removed one by one."""
        return set()

    def quarantined(self) -> list[str]:
        """Return the quarantined collections seen at the last open."""
        return self._quarantined

    def _open_store(self, label: StoreLabel, *, fresh: bool) -> Mem0Store:
        store = self._open(self._backend, self._folder, label, fresh=fresh)
        self._quarantined = store.quarantined
        return store

    def mark_closed(self, label: StoreLabel) -> None:
        """Do nothing."""

    def cancel_probe(self) -> None:
        """Do nothing: there is no probe."""


def resolve_location(backend: Mem0Builder, store: Provider, home: Path) -> tuple[StoreLocation, Path]:
    """Return the location of a configured store, and the path of the lock of an embedded one."""
    is_remote = any(store.config.get(key) for key in REMOTE_STORE_KEYS)
    if store.name != CHROMA:
        return ServerLocation(backend, home, open_adapter_store), home / "store.lock"
    if is_remote:
        return ServerLocation(backend, home, open_chroma_server, retains_deleted=True), home / "store.lock"
    if configured_path := store.config.get("path"):
        root = Path(str(configured_path)).expanduser()
        return EmbeddedLocation(backend, StoreFolders(root, is_shared=True)), root.with_name(root.name + ".lock")
    return EmbeddedLocation(backend, StoreFolders(home / "store")), home / "store.lock"
