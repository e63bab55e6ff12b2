"""The folders of embedded stores under the home: one a store, named by its id, and the note of its clean close."""

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
"""Where the header of an index file says how many vectors it holds."""

_DATA_TABLES = ("embeddings", "embeddings_queue")
"""The tables in which Chroma keeps what it was given."""

_STORE_ENTRY = re.compile(r"[0-9a-f]{32}(\.(closed|begun)\.(json|part))?")


class StoreFolders:
    """A folder in which each embedded store has a folder of its own, readable by its owner only."""

    def __init__(self, root: Path, *, is_shared: bool = False, probe_seconds: float = PROBE_SECONDS) -> None:
        """Give a probe `probe_seconds` before a store counts as damaged.

        In a `is_shared` root somebody else may keep files: there only what is named like a store is removed.
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
        """Say whether the files of a store are those of its last clean close.

        The note is used up: whoever opens the folder changes it.
        """
        assert_off_event_loop("looking at a store's folder")
        noted = self._consume_note(store_id)
        return self._exists(store_id) and noted == _file_states(self.folder(store_id))

    def is_openable(self, store_id: str) -> bool:
        """Say whether the folder of a store is there and can be opened without harm: a child process tries it.

        An index that was cut short while it was rewritten may open and crash a later search.
        """
        assert_off_event_loop("trying a store's folder")
        folder = self.folder(store_id)
        return self._exists(store_id) and not flush_marker.was_interrupted(folder) and self._probe(folder)

    def note_clean_close(self, store_id: str) -> None:
        """Write down the files of a store as its last client left them."""
        assert_off_event_loop("noting a store's files")
        _write_note(self._note_path(store_id), _file_states(self.folder(store_id)))

    def note_erasures(self, store_id: str, erasures: Collection[int]) -> None:
        """Write down the erasures that a new store has nothing of: a pass that is cut short need not begin again."""
        assert_off_event_loop("noting the beginning of a store")
        _write_note(self.root / (store_id + ERASURES_SUFFIX), sorted(erasures))

    def erasures_before(self, store_id: str) -> set[int]:
        """Return what `note_erasures` was given; nothing where it cannot be read or the folder is gone."""
        assert_off_event_loop("looking for the beginning of a store")
        noted = _read_note(self.root / (store_id + ERASURES_SUFFIX)) if self._exists(store_id) else None
        return {each for each in noted if isinstance(each, int)} if isinstance(noted, list) else set()

    def remove_all(self, *, store_id: str, keep_current: bool = False) -> None:
        """Remove every folder and note of the database whose store is `store_id`.

        With `keep_current` except that store's.

        What another database has filled may be the last copy of its facts: it is set aside.

        Raises:
            OSError: something could not be removed.
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
        """Return the folders of stores that were set aside, the newest of each database."""
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
        log.warning("a store that another database filled is set aside: %s", moved, extra=log_fields("store.set_aside"))

    def cancel_probe(self) -> None:
        """End a probe that is under way; it may be called from any thread."""
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
        """Open and search the folder in a child process; a crash, a failure or a time-out is a no."""
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
    """Say whether a store holds facts, or may: one that cannot be read is not known to be empty."""
    file = folder / "chroma.sqlite3"
    if not file.is_file():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as store:
            return any(store.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in _DATA_TABLES)
    except sqlite3.Error:
        return True


def zero_unused_index_files(folder: Path) -> None:
    """Overwrite with zeros what Chroma wrote into the index files of `folder` without meaning to.

    It writes an index that holds nothing yet as a piece of memory that was never cleared: whatever the process
    had there before, forgotten text too, would stay in the file. An index that holds vectors is left alone.
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
    """Take other people's rights from the files of `folder`: Chroma makes them as the process's mask has it."""
    for path in folder.rglob("*"):
        # What Chroma removes meanwhile needs no rights.
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o700 if path.is_dir() else 0o600)


def _file_states(folder: Path) -> dict[str, list[int]]:
    """Return size and time of change of every file: a look from outside, since reading would drop locks."""
    states = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state = path.stat()
            states[path.relative_to(folder).as_posix()] = [state.st_size, state.st_mtime_ns]
    return states
