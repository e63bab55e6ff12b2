"""`python -m gaia_memory.backend.mem0_store.chroma.probe FOLDER`.

Exit 0 when an embedded Chroma folder opens and can be searched.

It runs in its own process because a damaged folder can crash the process that opens it. It reports only through its
exit code and prints no stored text.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
from pathlib import Path

from gaia_memory.backend.mem0_store.chroma import flush_marker

EXIT_SOUND = 0
EXIT_DAMAGED = 1
EXIT_ABANDONED = 4
PAGE_ROWS = 1000


def probe(folder: Path) -> bool:
    """Return whether the folder's database is intact and each of its collections can be read and searched.

    Every row is read, because a damaged index page shows only when it is used. Chroma's errors are not caught.
    """
    length = _log_length_if_intact(folder / "chroma.sqlite3")
    if length is None or length >= flush_marker.FLUSH_THRESHOLD_WRITES:
        # Chroma would rewrite its index at once, and this process may be killed in the middle.
        return False
    import chromadb
    from chromadb.config import Settings

    with chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False)) as client:
        if not all(_is_searchable(collection) for collection in client.list_collections()):
            return False
    flush_marker.write_log_length(folder, length)
    return True


def _log_length_if_intact(path: Path) -> int | None:
    """Return the number of writes in the log; None when the file is damaged.

    SQLite reads the file before Chroma opens it: the two must never have it open in one process.
    """
    if not path.is_file():
        return None
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as connection:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            return None
        return int(connection.execute("SELECT count(*) FROM embeddings_queue").fetchone()[0])


def _is_searchable(collection: object) -> bool:
    count = collection.count()  # type: ignore[attr-defined]
    read_count = 0
    vector = None
    while read_count < count:
        page = collection.get(limit=PAGE_ROWS, offset=read_count, include=["metadatas"])  # type: ignore[attr-defined]
        if not page["ids"] or any(not metadata for metadata in page["metadatas"]):
            return False
        read_count += len(page["ids"])
    if count:
        vector = collection.get(limit=1, include=["embeddings"])["embeddings"][0]  # type: ignore[attr-defined]
        found = collection.query(query_embeddings=[vector], n_results=1, include=[])  # type: ignore[attr-defined]
        return bool(found["ids"][0])
    return True


def _exit_with_parent() -> None:
    """Exit when the parent process is gone: its successor must not find the folder open."""
    sys.stdin.buffer.read()
    os._exit(EXIT_ABANDONED)


def main(arguments: list[str]) -> int:
    """Return the exit code for `arguments`, the folder to probe."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        return EXIT_SOUND if probe(Path(arguments[0])) else EXIT_DAMAGED
    except Exception as error:
        # Whatever an open raises, the folder is damaged.
        sys.stderr.write(f"{type(error).__name__}\n")
        return EXIT_DAMAGED


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # Chroma's threads may be in any state: exit without the interpreter's clean-up.
    os._exit(code)
