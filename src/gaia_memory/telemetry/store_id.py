"""The id of a user's memory in traces and logs."""

from __future__ import annotations

import hashlib

from gaia_memory.models import Scope

_ID_LENGTH = 16


def store_id(scope: Scope) -> str:
    """Return a stable id of a scope that does not reveal the user id.

    It is the start of the SHA-256 of `scope.partition`, so it can be computed from app and user.
    """
    return hashlib.sha256(scope.partition.encode()).hexdigest()[:_ID_LENGTH]
