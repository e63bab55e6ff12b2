"""What a statement is compared with that is learned later than what was said after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.language.distinctive_words import word_forms
from gaia_memory.models import Fact, Scope, StoredFact
from gaia_memory.ports import FactStore
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database


@dataclass(frozen=True, slots=True)
class LateStatements:
    """Finds what was true or was said after a time, among current and past facts."""

    database: Database
    facts: FactStore

    async def past_since(self, scope: Scope, moment: datetime | None) -> list[StoredFact]:
        """Return the past facts that ended after a time: none, if the statement is the newest word."""
        if moment is None:
            return []
        async with self.database.read_transaction() as tx:
            return list((await self.facts.past(tx, scope, ended_after=moment)).values())

    async def said_around(
        self, scope: Scope, moment: datetime, words: str, current: Sequence[Fact]
    ) -> list[tuple[Fact, datetime]]:
        """Return these current facts, and past ones with one of the words, with the times they were said.

        That is the last time. If a fact was said or ended after `moment`, it is the last time before, if it was true at
        `moment`, and the first time after.
        """
        past = await self.past_since(scope, moment)
        similar = await run_in_thread(_with_words, [each.fact for each in past], words)
        if not similar and all(fact.last_said_at <= moment for fact in current):
            return [(fact, fact.last_said_at) for fact in current]
        known = [*current, *similar]
        async with self.database.read_transaction() as tx:
            around = await self.facts.said_around(tx, scope, [fact.id for fact in known], moment)
        return [(fact, said) for fact in known for said in around.get(fact.id, ()) if said is not None]


def _with_words(facts: Sequence[Fact], words: str) -> list[Fact]:
    wanted = word_forms(words) if facts else frozenset()
    return [fact for fact in facts if not wanted.isdisjoint(word_forms(fact.text))]
