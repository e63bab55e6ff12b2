"""Where the mem0 store stands, and what opening, beginning anew and erasing mean there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gaia_memory.backend.follow.chroma import open_chroma_server, open_folder
from gaia_memory.backend.follow.folder import StoreFolders
from gaia_memory.backend.follow.server import open_server
from gaia_memory.backend.follow.store import Builder, Label, Mem0Store
from gaia_memory.backend.providers import Provider
from gaia_memory.errors import GaiaMemoryError

CHROMA = "chroma"
_ELSEWHERE = ("host", "url", "client", "api_key", "tenant")


class Place(Protocol):
    """One way to keep a store. Every method but `end` blocks."""

    embedded: bool
    """Whether the store is a folder of this process: then it is erased and repaired by beginning anew."""

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of a store are; None where they are not ours."""
        ...

    def reopen(self, label: Label) -> Mem0Store | None:
        """Return the store that carries `label`, open; None when it is missing, another or damaged."""
        ...

    def begin(self, label: Label) -> Mem0Store:
        """Return an empty store that carries `label`; nothing is left of an earlier one."""
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

    def __init__(self, backend: Builder, folders: StoreFolders) -> None:
        """Keep stores in `folders`."""
        self._backend = backend
        self._folders = folders

    def folder(self, store_id: str) -> Path | None:
        """Return the store's own folder."""
        return self._folders.folder(store_id)

    def reopen(self, label: Label) -> Mem0Store | None:
        """Open the folder of `label` if it is sound, and remove all others."""
        if not self._folders.is_sound(label.store_id):
            return None
        self._folders.remove_all(but=label.store_id)
        try:
            return open_folder(self._backend, self._folders.folder(label.store_id), label, fresh=False)
        except GaiaMemoryError:
            raise
        except Exception:
            # Whatever Chroma raises about this folder, a new one does not have it
            return None

    def begin(self, label: Label) -> Mem0Store:
        """Remove every folder and open a new one."""
        self._folders.remove_all()
        return open_folder(self._backend, self._folders.make(label.store_id), label, fresh=True)

    def closed(self, label: Label) -> None:
        """Note the folder's files."""
        self._folders.note_clean_close(label.store_id)

    def end(self) -> None:
        """End a probe."""
        self._folders.end()


class ServerPlace:
    """A store that stands elsewhere and looks after its own files."""

    embedded = False

    def __init__(self, backend: Builder, home: Path, opener: Callable[..., Mem0Store]) -> None:
        """Open the store with `opener`; `home` is the place of what an engine keeps beside it."""
        self._backend = backend
        self._folder = home / "store"
        self._open = opener

    def folder(self, store_id: str) -> Path | None:
        """Return None: it looks after its own."""
        return None

    def reopen(self, label: Label) -> Mem0Store | None:
        """Open the store if it carries `label`."""
        try:
            return self._open(self._backend, self._folder, label, fresh=False)
        except LookupError:
            return None

    def begin(self, label: Label) -> Mem0Store:
        """Empty the store and let it carry `label`."""
        return self._open(self._backend, self._folder, label, fresh=True)

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
        return ServerPlace(backend, home, open_chroma_server), home / "store.lock"
    if chosen := store.config.get("path"):
        root = Path(str(chosen)).expanduser()
        return FolderPlace(backend, StoreFolders(root, shared=True)), root.with_name(root.name + ".lock")
    return FolderPlace(backend, StoreFolders(home / "store")), home / "store.lock"
