"""Takes facts that became sensitive out of what agents are shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gaia_memory.models import AddResult, Fact, Scope
from gaia_memory.ports import Transaction

if TYPE_CHECKING:
    from gaia_memory.facts import FactStore
    from gaia_memory.ledger import Ledger


def may_have_become_sensitive(written: AddResult) -> list[Fact]:
    """Return the sensitive facts of a write that were known before, and so may be in a profile."""
    return [fact for fact, is_new in zip(written.facts, written.is_new, strict=True) if fact.sensitive and not is_new]


async def hide_sensitive(
    facts: FactStore, ledger: Ledger, tx: Transaction, scope: Scope, sensitive: Iterable[Fact]
) -> None:
    """Drop the profiles that may contain facts, and mark their earlier wordings as sensitive, too."""
    if fact_ids := {fact.id for fact in sensitive}:
        await facts.corrections.hide_wordings(tx, scope, fact_ids)
        await ledger.drop_profiles(tx, user=scope.user, app=scope.app)
