"""Finds remains of forgotten texts and vectors in the files of a home, in a child process.

Opening Chroma's database, or closing any file of it, in the process that has the client would drop SQLite's locks:
`find_residual_data` starts `python -m support.storage.residual_data HOME`, which reads the search terms from its
standard input.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

_SQLITE_HEADER = b"SQLite format 3\0"
_ROWS_PER_PAGE = 2000
"""The number of rows that are searched at once."""
_RUN_LENGTH, _MIN_DISTINCT_VALUES = 12, 8
"""The length of a run of a vector's numbers, and how many of them differ and are not 0: no other vector contains it."""


@dataclass(frozen=True)
class SearchTerms:
    """Texts and vectors that no file may contain."""

    words: Sequence[str] = ()
    """Made-up words; a word is also found in part, as an index that shares beginnings stores it."""

    vectors: Sequence[Sequence[float]] = ()
    excluded_prefixes: Sequence[str] = field(default=())
    """Prefixes of the file names to skip."""

    def byte_patterns(self) -> dict[bytes, str]:
        """Return the bytes to search for, each with the term it is part of."""
        found = {spelling: word for word in self.words for spelling in encodings_of(word)}
        for number, vector in enumerate(self.vectors):
            found |= dict.fromkeys(vector_runs(vector), f"vector {number}")
        return found


def encodings_of(word: str) -> set[bytes]:
    """Return a word in each encoding that a file may use; an ASCII word also without its first letters."""
    forms = {word, word.lower()} | ({word[4:], word.lower()[4:]} if word.isascii() and len(word) > 11 else set())
    found: set[bytes] = set()
    for form in forms:
        plain = form.encode()
        found |= {plain, form.encode("utf-16-le"), form.encode("utf-16-be"), json.dumps(form)[1:-1].encode()}
        found |= {quote(form, safe="").encode(), quote(form, safe="").lower().encode()}
        # The letters of base64 that depend only on the word, at each of three offsets.
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + plain)
            found.add(encoded[-(-shift * 8 // 6) : -4 if (shift + len(plain)) % 3 else None])
    return {form for form in found if len(form) > 6}


def vector_runs(vector: Sequence[float]) -> Iterator[bytes]:
    """Return pieces of a vector's bytes, unchanged and normalized to length 1."""
    given = np.asarray(vector, dtype="<f4")
    length = float(np.linalg.norm(given))
    for array in (given, (given / length).astype("<f4")) if length else ():
        starts = [
            start for start in range(len(array) - _RUN_LENGTH) if _is_distinctive(array[start : start + _RUN_LENGTH])
        ]
        for start in starts[:: max(1, len(starts) // 4)]:
            yield array[start : start + _RUN_LENGTH].tobytes()


async def find_residual_data(home: Path, terms: SearchTerms) -> list[str]:
    """Return the places under `home` that contain a search term: a file, or a table and column of one."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    needles = [[needle.hex(), meant] for needle, meant in terms.byte_patterns().items()]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.storage.residual_data", str(home)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environ,
    )
    answer, _ = await child.communicate(json.dumps([needles, list(terms.excluded_prefixes)]).encode())
    assert child.returncode == 0
    found: list[str] = json.loads(answer)
    return found


def _is_distinctive(run: Any) -> bool:
    return len(set(run[run != 0].tolist())) >= _MIN_DISTINCT_VALUES


def _scan(home: Path, needles: dict[bytes, str], excluded_prefixes: tuple[str, ...]) -> Iterator[str]:
    for path in sorted(home.rglob("*")):
        if path.is_file() and not (excluded_prefixes and path.name.startswith(excluded_prefixes)):
            name = path.relative_to(home).as_posix()
            content = path.read_bytes()
            yield from (f"{name}: {meant}" for meant in _matches_in(content, needles))
            if content.startswith(_SQLITE_HEADER):
                yield from _scan_tables(path, name, needles)


def _scan_tables(path: Path, name: str, needles: dict[bytes, str]) -> Iterator[str]:
    """Search every value of every table: a value that spans several pages is never contiguous in the file."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        indexes = [table for table, sql in tables if "fts5" in str(sql).lower()]
        for number, index in enumerate(indexes):
            # An index stores a word without the beginning that it shares with its neighbour.
            database.execute(f"CREATE VIRTUAL TABLE temp.terms{number} USING fts5vocab(main, '{index}', 'row')")
        tables += [(f"terms{number}", "") for number in range(len(indexes))]
        for table, _ in tables:
            rows = database.execute(f'SELECT * FROM "{table}"')
            while page := rows.fetchmany(_ROWS_PER_PAGE):
                yield from (f"{name} {table}: {meant}" for meant in _matches_in(_join_values(page), needles))


def _join_values(rows: Iterable[Iterable[object]]) -> bytes:
    values = (value for row in rows for value in row)
    return b"\xff\0\xff".join(
        value if isinstance(value, bytes) else str(value).encode("utf-8", "replace") for value in values
    )


def _matches_in(content: bytes, needles: dict[bytes, str]) -> list[str]:
    return sorted({meant for needle, meant in needles.items() if needle in content})


if __name__ == "__main__":
    given, left_out = json.load(sys.stdin)
    sought_bytes = {bytes.fromhex(needle): meant for needle, meant in given}
    json.dump(sorted(set(_scan(Path(sys.argv[1]), sought_bytes, tuple(left_out)))), sys.stdout)
