"""Text and ids in the form in which every database takes them."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote, unquote

from gaia_memory.language.printable_text import replace_unstorable as replace_unstorable

_UNRESERVED_PATTERN = re.compile(r"[A-Za-z0-9_.~-]*")
"""An id that is the same encoded: nearly all of those that programs make."""

MAX_KEY_CHARACTERS = 256
"""Characters of an id that stands in an index: server databases limit an index entry."""


def encode_id(identifier: str) -> str:
    """Return any id as ASCII, one to one: what it holds can neither trouble a database nor mean anything to it."""
    if _UNRESERVED_PATTERN.fullmatch(identifier):
        return identifier
    return quote(identifier, safe="", errors="surrogatepass")


def decode_id(encoded: str) -> str:
    """Return the id that `encode_id` was given."""
    return unquote(encoded, errors="surrogatepass")


def index_key(*identifiers: str) -> str:
    """Return ids as one key that fits into an index; two lists of ids share a key only when they are equal."""
    joined = ":".join(encode_id(identifier) for identifier in identifiers)
    if len(joined) <= MAX_KEY_CHARACTERS:
        return joined
    return "sha256-" + hashlib.sha256(joined.encode()).hexdigest()
