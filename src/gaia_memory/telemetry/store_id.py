"""The name that a person's memory goes by in traces and logs."""

from __future__ import annotations

import hashlib

from gaia_memory.models import Scope

_ID_LENGTH = 16


def store_id(scope: Scope) -> str:
    """Return the id of a scope's memory: the same everywhere and for ever, and not the person's user id.

    It is the beginning of the SHA-256 of `scope.partition`, so whoever knows app and user can work it out.
    """
    return hashlib.sha256(scope.partition.encode()).hexdigest()[:_ID_LENGTH]
