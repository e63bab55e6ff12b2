"""Whose a store is: the ids of all stores that one database ever had begin alike."""

from __future__ import annotations

import re
import secrets

QUARANTINE_SUFFIX = "-set-aside"
"""How the name of the place ends where stores go that another database has filled."""

_STORE_ID = re.compile(r"[0-9a-f]{32}")
_SHARED_CHARACTERS = 16
"""How many letters of an id stay the same for a database."""


def next_store_id(current: str) -> str:
    """Return an id for a new store of the database whose store is `current`; of its first one where that is blank."""
    prefix = (
        current[:_SHARED_CHARACTERS] if _STORE_ID.fullmatch(current) else secrets.token_hex(_SHARED_CHARACTERS // 2)
    )
    return prefix + secrets.token_hex(_SHARED_CHARACTERS // 2)


def is_same_database(found: object, own_id: str) -> bool:
    """Say whether a store was filled by the database whose store is `own_id`: then that can fill it anew."""
    return isinstance(found, str) and found[:_SHARED_CHARACTERS] == own_id[:_SHARED_CHARACTERS]
