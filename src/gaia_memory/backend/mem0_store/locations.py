"""Where the mem0 store stands, and what opening, beginning anew and erasing mean there."""

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
    """Whether the store is a folder of this process: then it is repaired by beginning anew."""

    retains_deleted: bool
    """Whether what is deleted stays in its log, as Chroma's does: then it is erased from by beginning anew."""

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of a store are; None where they are not ours."""
        ...

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Return the store that carries `label`, open; None when it is missing, another or damaged."""
        ...

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Return an empty store that carries `label`; nothing is left of an earlier one of this database.

        What something else has filled is set aside, or refused where that is not possible. `erasures` are those
        whose text is gone from the database already.
        """
        ...

    def erasures_before(self, label: StoreLabel) -> set[int]:
        """Return the erasures that `create` was given for this store, where that outlives the process."""
        ...

    def quarantined(self) -> list[str]:
        """Return where stores stand that were set aside, as far as is known here."""
        ...

    def mark_closed(self, label: StoreLabel) -> None:
        """Take note that the store was closed in order."""
        ...

    def cancel_probe(self) -> None:
        """Give up what takes long; from any thread."""
        ...


class EmbeddedLocation:
    """Embedded Chroma: a folder under `folders` for each store."""

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
        """Open the folder of `label` if that does no harm, and remove all others.

        One that is not as it was closed is unproven: foreign bytes may stand where a probe reads text.
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
            # Whatever Chroma raises about this folder, a new one does not have it
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
        """Return what was noted beside the folder."""
        return self._folders.erasures_before(label.store_id)

    def quarantined(self) -> list[str]:
        """Return the folders of stores that were set aside."""
        return [str(folder) for folder in self._folders.quarantined()]

    def mark_closed(self, label: StoreLabel) -> None:
        """Note the folder's files."""
        self._folders.note_clean_close(label.store_id)

    def cancel_probe(self) -> None:
        """End a probe."""
        self._folders.cancel_probe()


class ServerLocation:
    """A store that stands elsewhere and looks after its own files."""

    is_embedded = False

    def __init__(
        self, backend: Mem0Builder, home: Path, opener: Callable[..., Mem0Store], *, retains_deleted: bool = False
    ) -> None:
        """Open the store with `opener`; `home` is the place of what an engine keeps beside it."""
        self.retains_deleted = retains_deleted
        self._backend = backend
        self._folder = home / "store"
        self._open = opener
        self._quarantined: list[str] = []

    def folder(self, store_id: str) -> Path | None:
        """Return None: it looks after its own."""
        return None

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Open the store if it carries `label`."""
        try:
            return self._open_store(label, fresh=False)
        except LookupError:
            return None

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Empty the store and let it carry `label`."""
        return self._open_store(label, fresh=True)

    def erasures_before(self, label: StoreLabel) -> set[int]:
        """Return nothing: rows leave the store one by one."""
        return set()

    def quarantined(self) -> list[str]:
        """Return what the server kept when the store was opened here last."""
        return self._quarantined

    def _open_store(self, label: StoreLabel, *, fresh: bool) -> Mem0Store:
        store = self._open(self._backend, self._folder, label, fresh=fresh)
        self._quarantined = store.quarantined
        return store

    def mark_closed(self, label: StoreLabel) -> None:
        """Nothing is to be noted."""

    def cancel_probe(self) -> None:
        """Nothing takes long."""


def resolve_location(backend: Mem0Builder, store: Provider, home: Path) -> tuple[StoreLocation, Path]:
    """Return the place a configured store stands at, and the path of the lock that an embedded one is owned by."""
    is_remote = any(store.config.get(key) for key in REMOTE_STORE_KEYS)
    if store.name != CHROMA:
        return ServerLocation(backend, home, open_adapter_store), home / "store.lock"
    if is_remote:
        return ServerLocation(backend, home, open_chroma_server, retains_deleted=True), home / "store.lock"
    if configured_path := store.config.get("path"):
        root = Path(str(configured_path)).expanduser()
        return EmbeddedLocation(backend, StoreFolders(root, is_shared=True)), root.with_name(root.name + ".lock")
    return EmbeddedLocation(backend, StoreFolders(home / "store")), home / "store.lock"
