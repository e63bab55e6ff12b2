"""Who sent a request, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_USER_PREFIX = "user:"


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
