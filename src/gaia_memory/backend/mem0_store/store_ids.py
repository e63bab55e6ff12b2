"""Store ids: all stores of one database share a prefix, which identifies the database of a store."""

from __future__ import annotations

import re
import secrets

QUARANTINE_SUFFIX = "-set-aside"
"""Suffix of the folder or collection for quarantined stores."""

_STORE_ID = re.compile(r"[0-9a-f]{32}")
_SHARED_CHARACTERS = 16
"""Length of the prefix that all stores of a database share."""


def next_store_id(current: str) -> str:
    """Return the id of a new store of the database whose store is `current`; that is blank before the first."""
    prefix = (
        current[:_SHARED_CHARACTERS] if _STORE_ID.fullmatch(current) else secrets.token_hex(_SHARED_CHARACTERS // 2)
    )
    return prefix + secrets.token_hex(_SHARED_CHARACTERS // 2)


def is_same_database(found: object, own_id: str) -> bool:
    """Return whether the store `found` belongs to the database whose store is `own_id`, which can then refill it."""
    return isinstance(found, str) and found[:_SHARED_CHARACTERS] == own_id[:_SHARED_CHARACTERS]
