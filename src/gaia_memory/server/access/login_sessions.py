"""Sessions of browsers that logged in with a token."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from gaia_memory.server.access.access_tokens import hash_token

LIFETIME_SECONDS = 12 * 3600
_MAX_SESSIONS = 1000


class LoginSessions:
    """Maps random session ids to the hashed tokens behind them. A restart of the server ends all."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Take a monotonic clock in seconds."""
        self._now = now
        self._sessions: dict[str, tuple[str, float]] = {}

    def open(self, hashed_token: str) -> str:
        """Begin a session for a token, and return its id."""
        self._sessions = {key: each for key, each in self._sessions.items() if each[1] > self._now()}
        while len(self._sessions) >= _MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        session = secrets.token_urlsafe(32)
        self._sessions[hash_token(session)] = hashed_token, self._now() + LIFETIME_SECONDS
        return session

    def token_of(self, session: str) -> str | None:
        """Return the hashed token of a session; None if it is unknown or over."""
        hashed_token, until = self._sessions.get(hash_token(session), ("", 0.0))
        return hashed_token if until > self._now() else None

    def close(self, session: str) -> None:
        """End a session."""
        self._sessions.pop(hash_token(session), None)
