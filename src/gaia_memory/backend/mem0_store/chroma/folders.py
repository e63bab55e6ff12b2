"""The folders of embedded stores: one for each store, a link to the current one, and the note of a clean close."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from typing_extensions import override

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore, open_chroma
from gaia_memory.backend.mem0_store.store import (
    Mem0Builder,
    StoreLabel,
    StoreLocation,
    is_same_database,
    require_writable,
)
from gaia_memory.database.files.empty_tables import has_rows
from gaia_memory.errors import UnusableStoreError
from gaia_memory.files.private_files import replace_file, sync_to_disk

CURRENT, CHROMA_FILE, CHROMA_TABLES = "current", "chroma.sqlite3", ("embeddings", "embeddings_queue")
CLOSED_SUFFIX = ".closed"

_STORE_ENTRY = re.compile(r"[0-9a-f]{32}(\.(link|closed|closed\.part|(closed|begun)\.(json|part)))?")
"""A folder or a note of ours; other files in the root are left alone."""


class EmbeddedLocation(StoreLocation):
    """Embedded Chroma: a root with one folder for each store, readable only by the file owner.

    Plain mem0 opens `address`, a link to the folder of the current store. A folder is opened only if it was closed
    cleanly: Chroma may crash the process that opens one of a killed process. Folders of another database are left
    alone, because one may be the last copy of its facts.
    """

    is_embedded = True
    retains_deleted = True

    def __init__(self, backend: Mem0Builder, root: Path) -> None:
        """Keep stores in `root`."""
        self._backend = backend
        self._root = root

    @property
    @override
    def address(self) -> Path:
        return self._root / CURRENT

    @override
    def folder(self, store_id: str) -> Path:
        return self._root / store_id

    @override
    def reopen(self, label: StoreLabel) -> ChromaStore | None:
        assert_off_event_loop("opening the mem0 store")
        note, folder = self._note_path(label.store_id), self.folder(label.store_id)
        if not note.exists():
            return None
        # A process that dies with the folder open leaves no note.
        note.unlink()
        try:
            store = open_chroma(self._backend, folder, label, fresh=False, is_embedded=True)
        except Exception:
            # Whatever Chroma raises about this folder, a new one is free of it.
            return None
        self._link(folder)
        return store

    @override
    def create(self, label: StoreLabel, erasures: Collection[int]) -> ChromaStore:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root.chmod(0o700)
        # An attempt that failed has left its folder.
        self._remove_others(label.store_id, keep=self.address.readlink().name if self.address.is_symlink() else "")
        folder = self.folder(label.store_id)
        folder.mkdir(mode=0o700)
        store = open_chroma(self._backend, folder, label, fresh=True, erasures=erasures, is_embedded=True)
        try:
            self._link(folder)
            self._remove_others(label.store_id, keep=label.store_id)
        except BaseException:
            store.close()
            raise
        return store

    @override
    def mark_closed(self, label: StoreLabel) -> None:
        assert_off_event_loop("noting a store's close")
        folder = self.folder(label.store_id)
        sync_to_disk(path for path in folder.rglob("*") if path.is_file())
        replace_file(self._note_path(label.store_id), b"")

    @override
    def require_usable(self, store_id: str) -> None:
        require_writable(self._root)
        self._require_own_address()

    @override
    def foreign_stores(self, store_id: str) -> list[str]:
        try:
            folders = [entry for entry in self._entries() if entry.is_dir()]
        except OSError:
            # No descriptor is free, or the folder may not be read: whoever asks wants to know about more than this.
            return []
        return [str(folder) for folder in folders if not is_same_database(folder.name, store_id)]

    def _link(self, folder: Path) -> None:
        """Let `address` lead to `folder`. Nobody finds it missing meanwhile.

        Raises:
            UnusableStoreError: another program has put something there.
        """
        if self.address.is_symlink() and self.address.readlink().name == folder.name:
            return
        self._require_own_address()
        if self.address.is_dir() and not self.address.is_symlink():
            self.address.rename(self._root / f"{CURRENT}-{folder.name}")
        link = self._root / f"{folder.name}.link"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name, target_is_directory=True)
        link.replace(self.address)

    def _require_own_address(self) -> None:
        """Return if `address` is ours or free, or has what plain mem0 made of it before our first store: no row."""
        if (
            not self.address.exists()
            or self.address.is_symlink()
            or not has_rows(self.address / CHROMA_FILE, CHROMA_TABLES)
        ):
            return
        remedy = (
            "delete it if it came with a copy of this home; else take its facts over with "
            "`gaia memory import --from-mem0`, and move it elsewhere"
        )
        raise UnusableStoreError(f"{self.address} is not a link of ours", remedy=remedy)

    def remove_all(self, store_id: str) -> None:
        """Remove what the database whose store is `store_id` has kept here before it had its store elsewhere.

        Raises:
            OSError: an entry could not be removed.
        """
        assert_off_event_loop("removing stores")
        if self.address.is_symlink() and is_same_database(self.address.readlink().name, store_id):
            self.address.unlink()
        self._remove_others(store_id, keep="")

    def _remove_others(self, store_id: str, *, keep: str) -> None:
        """Remove every folder and note of the database whose store is `store_id`, but the entry `keep`.

        Raises:
            OSError: an entry could not be removed.
        """
        for entry in self._entries():
            if is_same_database(entry.name, store_id) and entry.name != keep:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def _entries(self) -> list[Path]:
        entries = sorted(self._root.iterdir()) if self._root.is_dir() else []
        return [entry for entry in entries if _STORE_ENTRY.fullmatch(entry.name)]

    def _note_path(self, store_id: str) -> Path:
        return self._root / (store_id + CLOSED_SUFFIX)
