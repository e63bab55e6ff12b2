"""Whose a store is: the ids of all stores that one database ever had begin alike."""

from __future__ import annotations

import re
import secrets

ASIDE = "-set-aside"
"""How the name of the place ends where stores go that another database has filled."""

_ID = re.compile(r"[0-9a-f]{32}")
_SHARED = 16
"""How many letters of an id stay the same for a database."""


def next_id(current: str) -> str:
    """Return an id for a new store of the database whose store is `current`; of its first one where that is blank."""
    shared = current[:_SHARED] if _ID.fullmatch(current) else secrets.token_hex(_SHARED // 2)
    return shared + secrets.token_hex(_SHARED // 2)


def is_own(found: object, mine: str) -> bool:
    """Say whether a store was filled by the database whose store is `mine`: then that can fill it anew."""
    return isinstance(found, str) and found[:_SHARED] == mine[:_SHARED]
