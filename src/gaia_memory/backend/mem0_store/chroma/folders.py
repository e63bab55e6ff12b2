"""The folders of embedded stores: one for each store, named by its id, and the note of its clean close."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.mem0_store.chroma import flush_marker
from gaia_memory.backend.mem0_store.store_ids import QUARANTINE_SUFFIX, is_same_database
from gaia_memory.log import logger_for
from gaia_memory.telemetry import log_fields

log = logger_for(__name__)

PROBE_SECONDS = 60.0
CLOSED_SUFFIX = ".closed.json"
ERASURES_SUFFIX = ".begun.json"
_POLL_SECONDS = 0.05
_VECTOR_COUNT_BYTES = slice(20, 28)
"""Where the header of an index file has the number of its vectors."""

_DATA_TABLES = ("embeddings", "embeddings_queue")
"""The tables in which Chroma stores rows."""

_STORE_ENTRY = re.compile(r"[0-9a-f]{32}(\.(closed|begun)\.(json|part))?")


class StoreFolders:
    """A root folder with one folder for each embedded store, readable only by the file owner."""

    def __init__(self, root: Path, *, is_shared: bool = False, probe_seconds: float = PROBE_SECONDS) -> None:
        """Give a probe `probe_seconds` before a store counts as damaged.

        A root that `is_shared` may have other files: only entries named like a store are removed there.
        """
        self.root = root
        self._is_shared = is_shared
        self._probe_seconds = probe_seconds
        self._cancelled = threading.Event()

    def folder(self, store_id: str) -> Path:
        """Return the folder of a store."""
        return self.root / store_id

    def create(self, store_id: str) -> Path:
        """Return a new, empty folder for a store."""
        assert_off_event_loop("making a store's folder")
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.root.chmod(0o700)
        folder = self.folder(store_id)
        folder.mkdir(mode=0o700)
        return folder

    def was_closed_cleanly(self, store_id: str) -> bool:
        """Return whether the files of a store are those of its last clean close.

        This deletes the note, because opening the folder changes its files.
        """
        assert_off_event_loop("looking at a store's folder")
        noted = self._consume_note(store_id)
        return self._exists(store_id) and noted == _file_states(self.folder(store_id))

    def is_openable(self, store_id: str) -> bool:
        """Return whether a store's folder exists and can be opened safely, which a child process tries.

        An index whose rewrite was interrupted may open and then crash a search.
        """
        assert_off_event_loop("trying a store's folder")
        folder = self.folder(store_id)
        return self._exists(store_id) and not flush_marker.was_interrupted(folder) and self._probe(folder)

    def note_clean_close(self, store_id: str) -> None:
        """Record the files of a store as its last client left them."""
        assert_off_event_loop("noting a store's files")
        _write_note(self._note_path(store_id), _file_states(self.folder(store_id)))

    def note_erasures(self, store_id: str, erasures: Collection[int]) -> None:
        """Record the erasures that a new store is free of, so that an interrupted rebuild can continue."""
        assert_off_event_loop("noting the beginning of a store")
        _write_note(self.root / (store_id + ERASURES_SUFFIX), sorted(erasures))

    def erasures_before(self, store_id: str) -> set[int]:
        """Return the erasures of `note_erasures`; none when the note is unreadable or the folder is gone."""
        assert_off_event_loop("looking for the beginning of a store")
        noted = _read_note(self.root / (store_id + ERASURES_SUFFIX)) if self._exists(store_id) else None
        return {each for each in noted if isinstance(each, int)} if isinstance(noted, list) else set()

    def remove_all(self, *, store_id: str, keep_current: bool = False) -> None:
        """Remove every folder and note of the database whose store is `store_id`; `keep_current` keeps that store's.

        A store of another database may be the last copy of its facts, so it is quarantined.

        Raises:
            OSError: an entry could not be removed.
        """
        assert_off_event_loop("removing stores")
        kept_names = {store_id, store_id + CLOSED_SUFFIX, store_id + ERASURES_SUFFIX} if keep_current else set()
        for entry in _entries(self.root):
            if entry.name in kept_names or (self._is_shared and not _STORE_ENTRY.fullmatch(entry.name)):
                continue
            if _STORE_ENTRY.fullmatch(entry.name) and not is_same_database(entry.name, store_id) and _has_data(entry):
                self._quarantine(entry)
            else:
                _remove(entry)
        for entry in self.quarantined():
            if is_same_database(entry.name, store_id):
                _remove(entry)

    def quarantined(self) -> list[Path]:
        """Return the folders of quarantined stores, one for each database."""
        assert_off_event_loop("looking for stores that were set aside")
        with contextlib.suppress(OSError):
            return [entry for entry in _entries(self._quarantine_root) if _STORE_ENTRY.fullmatch(entry.name)]
        return []

    @property
    def _quarantine_root(self) -> Path:
        return self.root.with_name(self.root.name + QUARANTINE_SUFFIX)

    def _quarantine(self, folder: Path) -> None:
        for earlier in self.quarantined():
            if is_same_database(earlier.name, folder.name):
                _remove(earlier)
        self._quarantine_root.mkdir(mode=0o700, exist_ok=True)
        moved = shutil.move(folder, self._quarantine_root / folder.name)
        log.warning("a store of another database is quarantined: %s", moved, extra=log_fields("store.set_aside"))

    def cancel_probe(self) -> None:
        """Abort a running probe; callable from any thread."""
        self._cancelled.set()

    def _exists(self, store_id: str) -> bool:
        folder = self.folder(store_id)
        return bool(store_id) and folder.is_dir() and not folder.is_symlink()

    def _note_path(self, store_id: str) -> Path:
        return self.root / (store_id + CLOSED_SUFFIX)

    def _consume_note(self, store_id: str) -> object:
        path = self._note_path(store_id)
        if (noted := _read_note(path)) is not None:
            path.unlink()
        return noted

    def _probe(self, folder: Path) -> bool:
        """Open and search the folder in a child process; False for a crash, a failure or a time-out."""
        environment = dict(os.environ, ANONYMIZED_TELEMETRY="False", PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        child = subprocess.Popen(
            [sys.executable, "-m", "gaia_memory.backend.mem0_store.chroma.probe", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        with child:
            deadline = time.monotonic() + self._probe_seconds
            while child.poll() is None and time.monotonic() < deadline and not self._cancelled.is_set():
                time.sleep(_POLL_SECONDS)
            if child.poll() is None:
                child.kill()
        return child.returncode == 0


def _write_note(note: Path, content: object) -> None:
    draft = note.with_suffix(".part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    draft.replace(note)


def _read_note(note: Path) -> object:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _has_data(folder: Path) -> bool:
    """Return whether a store may contain facts: one that is unreadable counts as filled."""
    file = folder / "chroma.sqlite3"
    if not file.is_file():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as store:
            return any(store.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in _DATA_TABLES)
    except sqlite3.Error:
        return True


def zero_unused_index_files(folder: Path) -> None:
    """Overwrite the files of empty indexes in `folder` with zeros.

    Chroma writes an empty index from uninitialized memory, so any text of the process, even a forgotten one, could end
    up in the file. An index with vectors is left alone.
    """
    for header in folder.glob("*/header.bin"):
        if (header.parent / "index_metadata.pickle").exists() or any(header.read_bytes()[_VECTOR_COUNT_BYTES]):
            continue
        for name in ("data_level0.bin", "length.bin"):
            path = header.with_name(name)
            if path.is_file() and any(path.read_bytes()):
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))


def restrict_permissions(folder: Path) -> None:
    """Remove the permissions of other users from the files of `folder`: Chroma follows the process's umask."""
    for path in folder.rglob("*"):
        # Chroma may remove a file in between.
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o700 if path.is_dir() else 0o600)


def _file_states(folder: Path) -> dict[str, list[int]]:
    """Return size and modification time of every file, without opening any: that would drop locks."""
    states = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state = path.stat()
            states[path.relative_to(folder).as_posix()] = [state.st_size, state.st_mtime_ns]
    return states
