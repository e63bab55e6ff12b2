"""The short ids of facts, and the record of which facts a conversation was shown."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

from gaia_memory.models import Scope, SessionKey
from gaia_memory.ports.transaction import Transaction


class ShortId(NamedTuple):
    """`#` and characters with which no other id of the scope begins, and whether a conversation was shown the fact."""

    text: str
    is_shown: bool


class ShownFacts(Protocol):
    """The part of the fact store that gives facts short ids and notes which facts a conversation was shown."""

    async def short_ids(
        self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]
    ) -> dict[str, ShortId]:
        """Return the short id of each of these facts of the scope, and whether a conversation was shown the fact."""

    async def record_shown(self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]) -> None:
        """Note that a conversation was shown these facts of the scope."""

    async def shown_ids(self, tx: Transaction, scope: Scope, key: SessionKey) -> list[str]:
        """Return the ids of the current facts of the scope that a conversation was shown."""

    async def forget_shown(self, tx: Transaction, key: SessionKey) -> None:
        """Note that a conversation begins from scratch and was shown nothing."""
