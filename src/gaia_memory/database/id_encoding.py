"""Ids in a form that every database accepts."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote, unquote

from gaia_memory.language.printable_text import replace_unstorable as replace_unstorable

_UNRESERVED_PATTERN = re.compile(r"[A-Za-z0-9_.~-]*")
"""Ids that stay the same when encoded, as most generated ids do."""

MAX_KEY_CHARACTERS = 256
"""Maximum characters of an id in an index; server databases limit index entries."""


def encode_id(identifier: str) -> str:
    """Return an id in ASCII without special characters; different ids stay different."""
    if _UNRESERVED_PATTERN.fullmatch(identifier):
        return identifier
    return quote(identifier, safe="", errors="surrogatepass")


def decode_id(encoded: str) -> str:
    """Return the id that `encode_id` encoded."""
    return unquote(encoded, errors="surrogatepass")


def index_key(*identifiers: str) -> str:
    """Return one index key for several ids; different lists of ids have different keys."""
    joined = ":".join(encode_id(identifier) for identifier in identifiers)
    if len(joined) <= MAX_KEY_CHARACTERS:
        return joined
    return "sha256-" + hashlib.sha256(joined.encode()).hexdigest()
