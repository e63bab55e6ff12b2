"""Vectors that an embedder gave lately, by what they are of."""

from __future__ import annotations

import secrets
from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from gaia_memory.models import Vector

MAX_NUMBERS_PER_PURPOSE = 500_000
"""Numbers kept for each purpose, 4 MB: 1,300 vectors of 384, 160 of 3,072."""


class VectorCache:
    """The last vectors of one embedder, apart for each purpose: texts added in bulk push no question out.

    It holds no text. A vector is found by a hash of its text under a key that is made at random, kept nowhere and gone
    with the process: what was forgotten cannot be read from it, nor can anybody test a guess on it later.
    """

    def __init__(self, *, max_numbers: int = MAX_NUMBERS_PER_PURPOSE) -> None:
        """Keep at most so many numbers for each purpose."""
        self._max_numbers = max_numbers
        self._hash_key = secrets.token_bytes(32)
        self._entries: defaultdict[str, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)

    def get_many(self, texts: Iterable[str], purpose: str) -> dict[str, Vector]:
        """Return the vectors that are known of these texts."""
        entries, found = self._entries[purpose], dict[str, Vector]()
        for text in texts:
            key = self._key(text)
            if key in entries:
                entries.move_to_end(key)
                found[text] = array("d", entries[key])
        return found

    def put_many(self, vectors: Iterable[tuple[str, Vector]], purpose: str) -> None:
        """Take in vectors with their texts; those that were not asked for longest leave."""
        entries = self._entries[purpose]
        for text, vector in vectors:
            key = self._key(text)
            # Bytes: nobody changes them, and numbers of Python's own take four times as much and as long.
            entries[key] = array("d", vector).tobytes()
            entries.move_to_end(key)
            while entries and len(entries) * len(vector) > self._max_numbers:
                entries.popitem(last=False)

    def _key(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._hash_key).digest()
