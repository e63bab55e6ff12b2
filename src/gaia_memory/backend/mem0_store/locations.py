"""Where the mem0 store stands, and what opening, beginning anew and erasing mean there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from gaia_memory.backend.mem0_store.chroma.chroma_store import open_chroma_server, open_folder
from gaia_memory.backend.mem0_store.chroma.folders import StoreFolders
from gaia_memory.backend.mem0_store.mem0_adapter import open_server
from gaia_memory.backend.mem0_store.store import Builder, Label, Mem0Store
from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.errors import GaiaMemoryError

CHROMA = "chroma"
_ELSEWHERE = ("host", "url", "client", "api_key", "tenant")


class Place(Protocol):
    """One way to keep a store. Every method but `end` blocks."""

    embedded: bool
    """Whether the store is a folder of this process: then it is repaired by beginning anew."""

    keeps_deleted: bool
    """Whether what is deleted stays in its log, as Chroma's does: then it is erased from by beginning anew."""

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of a store are; None where they are not ours."""
        ...

    def reopen(self, label: Label) -> Mem0Store | None:
        """Return the store that carries `label`, open; None when it is missing, another or damaged."""
        ...

    def begin(self, label: Label, erasures: Collection[int]) -> Mem0Store:
        """Return an empty store that carries `label`; nothing is left of an earlier one of this database.

        What something else has filled is set aside, or refused where that is not possible. `erasures` are those
        whose text is gone from the database already.
        """
        ...

    def begun_after(self, label: Label) -> set[int]:
        """Return the erasures that `begin` was given for this store, where that outlives the process."""
        ...

    def aside(self) -> list[str]:
        """Return where stores stand that were set aside, as far as is known here."""
        ...

    def closed(self, label: Label) -> None:
        """Take note that the store was closed in order."""
        ...

    def end(self) -> None:
        """Give up what takes long; from any thread."""
        ...


class FolderPlace:
    """Embedded Chroma: a folder under `folders` for each store."""

    embedded = True
    keeps_deleted = True

    def __init__(self, backend: Builder, folders: StoreFolders) -> None:
        """Keep stores in `folders`."""
        self._backend = backend
        self._folders = folders

    def folder(self, store_id: str) -> Path | None:
        """Return the store's own folder."""
        return self._folders.folder(store_id)

    def reopen(self, label: Label) -> Mem0Store | None:
        """Open the folder of `label` if that does no harm, and remove all others.

        One that is not as it was closed is unproven: foreign bytes may stand where a probe reads text.
        """
        as_closed = self._folders.is_as_closed(label.store_id)
        if not as_closed and not self._folders.can_be_opened(label.store_id):
            return None
        self._folders.remove_all(of=label.store_id, but_it=True)
        try:
            store = open_folder(self._backend, self._folders.folder(label.store_id), label, fresh=False)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about this folder, a new one does not have it
            return None
        store.unproven = None if as_closed else store
        return store

    def begin(self, label: Label, erasures: Collection[int]) -> Mem0Store:
        """Remove every folder of this database and open a new one."""
        self._folders.remove_all(of=label.store_id)
        folder = self._folders.make(label.store_id)
        if erasures:
            self._folders.note_begun(label.store_id, erasures)
        return open_folder(self._backend, folder, label, fresh=True)

    def begun_after(self, label: Label) -> set[int]:
        """Return what was noted beside the folder."""
        return self._folders.begun_after(label.store_id)

    def aside(self) -> list[str]:
        """Return the folders of stores that were set aside."""
        return [str(folder) for folder in self._folders.aside()]

    def closed(self, label: Label) -> None:
        """Note the folder's files."""
        self._folders.note_clean_close(label.store_id)

    def end(self) -> None:
        """End a probe."""
        self._folders.end()


class ServerPlace:
    """A store that stands elsewhere and looks after its own files."""

    embedded = False

    def __init__(
        self, backend: Builder, home: Path, opener: Callable[..., Mem0Store], *, keeps_deleted: bool = False
    ) -> None:
        """Open the store with `opener`; `home` is the place of what an engine keeps beside it."""
        self.keeps_deleted = keeps_deleted
        self._backend = backend
        self._folder = home / "store"
        self._open = opener
        self._aside: list[str] = []

    def folder(self, store_id: str) -> Path | None:
        """Return None: it looks after its own."""
        return None

    def reopen(self, label: Label) -> Mem0Store | None:
        """Open the store if it carries `label`."""
        try:
            return self._opened(label, fresh=False)
        except LookupError:
            return None

    def begin(self, label: Label, erasures: Collection[int]) -> Mem0Store:
        """Empty the store and let it carry `label`."""
        return self._opened(label, fresh=True)

    def begun_after(self, label: Label) -> set[int]:
        """Return nothing: rows leave the store one by one."""
        return set()

    def aside(self) -> list[str]:
        """Return what the server kept when the store was opened here last."""
        return self._aside

    def _opened(self, label: Label, *, fresh: bool) -> Mem0Store:
        store = self._open(self._backend, self._folder, label, fresh=fresh)
        self._aside = store.aside
        return store

    def closed(self, label: Label) -> None:
        """Nothing is to be noted."""

    def end(self) -> None:
        """Nothing takes long."""


def place(backend: Builder, store: Provider, home: Path) -> tuple[Place, Path]:
    """Return the place a configured store stands at, and the path of the lock that an embedded one is owned by."""
    elsewhere = any(store.config.get(key) for key in _ELSEWHERE)
    if store.name != CHROMA:
        return ServerPlace(backend, home, open_server), home / "store.lock"
    if elsewhere:
        return ServerPlace(backend, home, open_chroma_server, keeps_deleted=True), home / "store.lock"
    if chosen := store.config.get("path"):
        root = Path(str(chosen)).expanduser()
        return FolderPlace(backend, StoreFolders(root, shared=True)), root.with_name(root.name + ".lock")
    return FolderPlace(backend, StoreFolders(home / "store")), home / "store.lock"
