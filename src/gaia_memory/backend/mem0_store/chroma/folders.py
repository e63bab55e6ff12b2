"""The folders of embedded stores: one for each store, named by its id, and the note of its clean close."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from typing_extensions import override

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.chroma.chroma_store import ChromaStore, open_chroma
from gaia_memory.backend.mem0_store.store import Mem0Builder, StoreLabel, StoreLocation, is_same_database
from gaia_memory.files.private_files import replace_file, sync_to_disk

CLOSED_SUFFIX = ".closed.json"

_STORE_ENTRY = re.compile(r"[0-9a-f]{32}(\.(closed|begun)\.(json|part))?")
"""A folder or a note of ours; other files in the root are left alone."""


class EmbeddedLocation(StoreLocation):
    """Embedded Chroma: a root with one folder for each store, readable only by the file owner.

    A folder is opened only if its files are those of its last clean close: Chroma may crash the process that opens
    any other. Folders of another database are left alone, because one may be the last copy of its facts.
    """

    is_embedded = True
    retains_deleted = True

    def __init__(self, backend: Mem0Builder, root: Path) -> None:
        """Keep stores in `root`."""
        self._backend = backend
        self._root = root

    @override
    def folder(self, store_id: str) -> Path:
        return self._root / store_id

    @override
    def reopen(self, label: StoreLabel) -> ChromaStore | None:
        assert_off_event_loop("opening the mem0 store")
        note, folder = self._note_path(label.store_id), self.folder(label.store_id)
        noted = _read_note(note)
        # A process that dies with the folder open leaves no note.
        note.unlink(missing_ok=True)
        if noted is None or noted != _file_states(folder):
            return None
        try:
            return open_chroma(self._backend, folder, label, fresh=False, is_embedded=True)
        except Exception:
            # Whatever Chroma raises about this folder, a new one is free of it.
            return None

    @override
    def create(self, label: StoreLabel, erasures: Collection[int]) -> ChromaStore:
        self.remove_all(label.store_id)
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root.chmod(0o700)
        folder = self.folder(label.store_id)
        folder.mkdir(mode=0o700)
        return open_chroma(self._backend, folder, label, fresh=True, erasures=erasures, is_embedded=True)

    @override
    def mark_closed(self, label: StoreLabel) -> None:
        assert_off_event_loop("noting a store's files")
        folder, note = self.folder(label.store_id), self._note_path(label.store_id)
        states = _file_states(folder)
        sync_to_disk(folder / name for name in states)
        replace_file(note, json.dumps(states).encode())

    @override
    def foreign_stores(self, store_id: str) -> list[str]:
        try:
            folders = [entry for entry in self._entries() if entry.is_dir()]
        except OSError:
            # No descriptor is free, or the folder may not be read: whoever asks wants to know about more than this.
            return []
        return [str(folder) for folder in folders if not is_same_database(folder.name, store_id)]

    def remove_all(self, store_id: str) -> None:
        """Remove every folder and note of the database whose store is `store_id`.

        Raises:
            OSError: an entry could not be removed.
        """
        assert_off_event_loop("removing stores")
        for entry in self._entries():
            if is_same_database(entry.name, store_id):
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def _entries(self) -> list[Path]:
        entries = sorted(self._root.iterdir()) if self._root.is_dir() else []
        return [entry for entry in entries if _STORE_ENTRY.fullmatch(entry.name)]

    def _note_path(self, store_id: str) -> Path:
        return self._root / (store_id + CLOSED_SUFFIX)


def _read_note(note: Path) -> object:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _file_states(folder: Path) -> dict[str, list[int]]:
    """Return size and modification time of every file, without opening any: that would drop locks."""
    states = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state = path.stat()
            states[path.relative_to(folder).as_posix()] = [state.st_size, state.st_mtime_ns]
    return states
