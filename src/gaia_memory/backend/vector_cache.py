"""A cache of an embedder's latest vectors."""

from __future__ import annotations

import secrets
from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from gaia_memory.models import Vector

MAX_NUMBERS_PER_PURPOSE = 500_000
"""Numbers kept for each purpose, 4 MB: 1,300 vectors of 384 dimensions, or 160 of 3,072."""


class VectorCache:
    """The latest vectors of one embedder, separate for each purpose, so that texts added in bulk evict no questions.

    It contains no text. A vector's key is a hash of its text, keyed with a random secret that exists only in this
    process. So forgotten texts can neither be read from it nor guessed later.
    """

    def __init__(self, *, max_numbers: int = MAX_NUMBERS_PER_PURPOSE) -> None:
        """Keep at most `max_numbers` for each purpose."""
        self._max_numbers = max_numbers
        self._hash_key = secrets.token_bytes(32)
        self._entries: defaultdict[str, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)

    def get_many(self, texts: Iterable[str], purpose: str) -> dict[str, Vector]:
        """Return the cached vectors of these texts."""
        entries, found = self._entries[purpose], dict[str, Vector]()
        for text in texts:
            key = self._key(text)
            if key in entries:
                entries.move_to_end(key)
                found[text] = array("d", entries[key])
        return found

    def put_many(self, vectors: Iterable[tuple[str, Vector]], purpose: str) -> None:
        """Add vectors with their texts, and evict the least recently used."""
        entries = self._entries[purpose]
        for text, vector in vectors:
            key = self._key(text)
            # Bytes are immutable, and Python's own numbers take four times as much memory and time.
            entries[key] = array("d", vector).tobytes()
            entries.move_to_end(key)
            while entries and len(entries) * len(vector) > self._max_numbers:
                entries.popitem(last=False)

    def _key(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._hash_key).digest()
