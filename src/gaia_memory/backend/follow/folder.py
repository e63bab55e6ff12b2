"""The folders of embedded stores under the home: one a store, named by its id, and the note of its clean close."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from gaia_memory.backend.door import refuse_on_loop

PROBE_SECONDS = 60.0
NOTE_SUFFIX = ".closed.json"
_POLL_SECONDS = 0.05
_COUNT = slice(20, 28)
"""Where the header of an index file says how many vectors it holds."""

_OURS = re.compile(r"[0-9a-f]{32}(\.closed\.(json|part))?")


class StoreFolders:
    """A folder in which each embedded store has a folder of its own, readable by its owner only."""

    def __init__(self, root: Path, *, shared: bool = False, probe_seconds: float = PROBE_SECONDS) -> None:
        """Give a probe `probe_seconds` before a store counts as damaged.

        In a `shared` root somebody else may keep files: there only what is named like a store is removed.
        """
        self.root = root
        self._shared = shared
        self._probe_seconds = probe_seconds
        self._ended = threading.Event()

    def folder(self, store_id: str) -> Path:
        """Return the folder of a store."""
        return self.root / store_id

    def make(self, store_id: str) -> Path:
        """Return a new, empty folder for a store."""
        refuse_on_loop("making a store's folder")
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.root.chmod(0o700)
        folder = self.folder(store_id)
        folder.mkdir(mode=0o700)
        return folder

    def is_sound(self, store_id: str) -> bool:
        """Say whether the folder of a store is there and can be opened without harm.

        It can when its files are those of its last clean close; otherwise a child process tries it first.
        The note is used up: whoever opens the folder changes it.
        """
        refuse_on_loop("looking at a store's folder")
        folder = self.folder(store_id)
        noted = self._take_note(store_id)
        if not store_id or not folder.is_dir() or folder.is_symlink():
            return False
        return noted == _files(folder) or self._probe(folder)

    def note_clean_close(self, store_id: str) -> None:
        """Write down the files of a store as its last client left them."""
        refuse_on_loop("noting a store's files")
        note = self._note(store_id)
        draft = note.with_suffix(".part")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(_files(self.folder(store_id)), file)
        draft.replace(note)

    def remove_all(self, *, but: str | None = None) -> None:
        """Remove every folder and note but those of one store.

        Raises:
            OSError: something could not be removed.
        """
        refuse_on_loop("removing stores")
        if not self.root.is_dir():
            return
        kept = set() if but is None else {but, but + NOTE_SUFFIX}
        for entry in self.root.iterdir():
            if entry.name in kept or (self._shared and not _OURS.fullmatch(entry.name)):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def end(self) -> None:
        """End a probe that is under way; it may be called from any thread."""
        self._ended.set()

    def _note(self, store_id: str) -> Path:
        return self.root / (store_id + NOTE_SUFFIX)

    def _take_note(self, store_id: str) -> object:
        path = self._note(store_id)
        try:
            noted: object = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        path.unlink()
        return noted

    def _probe(self, folder: Path) -> bool:
        """Open and search the folder in a child process; a crash, a failure or a time-out is a no."""
        environment = dict(os.environ, ANONYMIZED_TELEMETRY="False", PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        child = subprocess.Popen(
            [sys.executable, "-m", "gaia_memory.backend.follow.probe", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        with child:
            give_up = time.monotonic() + self._probe_seconds
            while child.poll() is None and time.monotonic() < give_up and not self._ended.is_set():
                time.sleep(_POLL_SECONDS)
            if child.poll() is None:
                child.kill()
        return child.returncode == 0


def blank_unused(folder: Path) -> None:
    """Overwrite with zeros what Chroma wrote into the index files of `folder` without meaning to.

    It writes an index that holds nothing yet as a piece of memory that was never cleared: whatever the process
    had there before, forgotten text too, would stay in the file. An index that holds vectors is left alone.
    """
    for header in folder.glob("*/header.bin"):
        if (header.parent / "index_metadata.pickle").exists() or any(header.read_bytes()[_COUNT]):
            continue
        for name in ("data_level0.bin", "length.bin"):
            path = header.with_name(name)
            if path.is_file() and any(path.read_bytes()):
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))


def keep_private(folder: Path) -> None:
    """Take other people's rights from the files of `folder`: Chroma makes them as the process's mask has it."""
    for path in folder.rglob("*"):
        # What Chroma removes meanwhile needs no rights.
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o700 if path.is_dir() else 0o600)


def _files(folder: Path) -> dict[str, list[int]]:
    """Return size and time of change of every file: a look from outside, since reading would drop locks."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state = path.stat()
            found[path.relative_to(folder).as_posix()] = [state.st_size, state.st_mtime_ns]
    return found
