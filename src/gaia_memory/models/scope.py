"""Identifies a memory and a conversation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from gaia_memory.models.validation import raise_invalid, require_id

MAX_PARTITION_CHARACTERS = 512
"""Characters of a partition before it is replaced by a digest: server databases limit an index entry."""


_MEM0_SPECIAL = re.compile(r"[\s*%:\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _percent_encode(identifier: str) -> str:
    return quote(identifier, safe="", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a memory: the hard border of every read, write and delete.

    `app` is None if one memory spans all apps (`memory.scope: user`). Ids are compared by their bytes: no trimming, no
    case folding, no Unicode normalisation. Memory stores any id. An id with NUL or a lone surrogate cannot be used in a
    `Conversation`, because ADK's session database cannot store it.
    """

    app: str | None
    user: str

    @classmethod
    def app_wide(cls, app: str | int) -> Scope:
        """Return the scope of facts that every user of an app may be told. Its user is empty, as no person's is.

        Raises:
            InvalidInputError: `app` is empty, or neither text nor a whole number.
        """
        scope = object.__new__(cls)
        object.__setattr__(scope, "app", require_id("app", app, "pass a non-empty id"))
        object.__setattr__(scope, "user", "")
        return scope

    @property
    def is_app_wide(self) -> bool:
        """Whether the scope belongs to all users of its app."""
        return not self.user

    def __post_init__(self) -> None:
        """Convert numbers to text and refuse invalid ids, which would match every user or none.

        Raises:
            InvalidInputError: `app` or `user` is empty, or neither text nor a whole number.
        """
        object.__setattr__(self, "user", require_id("Scope.user", self.user, "pass a non-empty id"))
        if self.app is not None:
            object.__setattr__(self, "app", require_id("Scope.app", self.app, "pass a non-empty id, or None"))

    @property
    def mem0_user_id(self) -> str:
        """The `user_id` of the facts in the mem0 store: the user where one memory spans all apps, else `app:user`.

        What mem0 or a store interprets is percent-encoded: white space, `*`, `%`, control characters, a colon in an id.
        Facts of a whole app are under `app::app`, which is no user's.
        """
        user = ":app" if self.is_app_wide else _MEM0_SPECIAL.sub(lambda found: _percent_encode(found[0]), self.user)
        if self.app is None:
            return user
        return f"{_MEM0_SPECIAL.sub(lambda found: _percent_encode(found[0]), self.app)}:{user}"

    @property
    def partition(self) -> str:
        """The scope as one opaque ASCII id, `app:user` with both halves percent-encoded; app-wide, `app::app`.

        Only equal scopes share a partition: no percent-encoded user contains a colon. It contains neither wildcards nor
        white space, which some vector stores interpret. A very long id becomes a digest, which has no colon and so
        never equals an encoded one.
        """
        user = ":app" if self.is_app_wide else _percent_encode(self.user)
        joined = f"{'' if self.app is None else _percent_encode(self.app)}:{user}"
        if len(joined) <= MAX_PARTITION_CHARACTERS:
            return joined
        return "sha256-" + hashlib.sha256(joined.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSummary:
    """What is stored about a person: counts, and when something last happened."""

    scope: Scope
    facts: int = 0
    """Current facts."""
    pending: int = 0
    """Conversations that are not learned yet."""
    last_message_at: datetime | None = None
    """When the last turn began or ended in any conversation."""
    last_change_at: datetime | None = None
    """When a current fact was last written or confirmed."""


def require_scopes(name: str, value: object) -> None:
    """Check that `value` is a sequence of scopes.

    Raises:
        InvalidInputError: it is not.
    """
    if not isinstance(value, Sequence) or not all(isinstance(each, Scope) for each in value):
        raise_invalid(name, value, "pass a list of Scope, such as [gaia.scope('household')]")


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Identifies a conversation: the session `session` of `user` in the ADK app `app`."""

    app: str
    user: str
    session: str

    @property
    def channel(self) -> str | None:
        """The channel in a session id of the form `user:channel`; None in any other."""
        user, channel = self.session[: len(self.user) + 1], self.session[len(self.user) + 1 :]
        return channel if channel and user == f"{self.user}:" else None
