"""Tokens, of the admin's file and of `server.tokens`, what their holders may do, and the sessions of browsers."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaia_memory.errors import ConfigError
from gaia_memory.files.private_files import create_private_file

TOKEN_FILE_NAME = "server.token"
ADMIN = "admin"

_USER_PREFIX = "user:"

LIFETIME_SECONDS = 12 * 3600
_MAX_SESSIONS = 1000


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the hash of a token as `server.tokens` lists it. Tokens are random, so one fast hash is enough."""
    return "sha256:" + hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def find_role(hashed: str, roles: Mapping[str, str]) -> str | None:
    """Return the role of a hashed token; takes as long for a wrong one as for a right one."""
    found = None
    for known, role in roles.items():
        if hmac.compare_digest(known, hashed):
            found = role
    return found


def ensure_admin_token(home: Path) -> tuple[str, bool]:
    """Return the admin's token, and whether this call made it. Blocking.

    Raises:
        ConfigError: the file is empty.
    """
    path = home / TOKEN_FILE_NAME
    try:
        create_private_file(path)
    except FileExistsError:
        if token := path.read_text(encoding="utf-8").strip():
            return token, False
        raise ConfigError(["it is empty: delete it, and the next start makes a new token"], source=str(path)) from None
    token = new_token()
    path.write_text(f"{token}\n", encoding="utf-8")
    return token, True


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender of a request; `user` is set for the role `user` alone."""

    role: Literal["admin", "reader", "user"]
    user: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether the caller may do everything."""
        return self.role == "admin"

    @property
    def actor(self) -> str:
        """Who corrects a fact, as history notes it."""
        return "person" if self.role == "user" else "host"

    def may_read(self, user: str) -> bool:
        """Return whether the caller may read the memory of this user."""
        return self.role != "user" or self.user == user

    def may_write(self, user: str) -> bool:
        """Return whether the caller may change the memory of this user."""
        return self.is_admin or (self.role == "user" and self.user == user)


def caller_of(role: str) -> Caller:
    """Return the caller with a role as `server.tokens` names it: `admin`, `reader` or `user:ID`."""
    if role.startswith(_USER_PREFIX):
        return Caller("user", role.removeprefix(_USER_PREFIX))
    return Caller("admin" if role == "admin" else "reader")


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
