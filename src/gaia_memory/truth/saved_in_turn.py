"""Recognises what an agent's tool has saved in the turn from which it is learned once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gaia_memory.language.distinctive_words import role_stems
from gaia_memory.language.stems import stem
from gaia_memory.language.stop_words import STOP_WORDS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import Draft, Fact, NewFact, Scope, StoredFact, is_of_model
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore

MAX_TURN_TIME = timedelta(minutes=5)
"""How far two readings of "in an hour" are apart: learning counts from the message, a tool from its call."""


@dataclass(frozen=True, slots=True)
class SavedInTurn:
    """Finds the fact that a tool saved in the turn of a draft."""

    database: Database
    facts: FactStore

    async def find(self, scope: Scope, draft: Draft, candidates: Sequence[Fact]) -> StoredFact | None:
        """Return the one of these facts that a tool saved of a draft's turn and that says the same; None without."""
        same = await run_in_thread(lambda: [each for each in candidates if says_the_same(each, draft.fact)])
        if not same:
            return None
        ids = [each.id for each in same]
        async with self.database.read_transaction() as tx:
            origins = await self.facts.provenance.origins(tx, scope, ids)
            stored = await self.facts.history.stored(tx, scope, ids)
        for fact_id in ids:
            by_tool = [each for each in origins.get(fact_id, ()) if each.source == "agent"]
            events = {event for origin in by_tool for event in origin.turn_event_ids}
            if fact_id in stored and not events.isdisjoint(draft.turn_event_ids):
                return stored[fact_id]
        return None


def says_the_same(saved: Fact, learned: NewFact) -> bool:
    """Return whether a fact that a tool saved says what is learned of the same turn.

    A reminder does if it is due then and has more than half of the words of the shorter text. Any other fact does in
    the same words, but for the name of the user: "Lives in Graz" is "User lives in Graz". What the user did not say
    does not.
    """
    if is_of_model(saved.metadata):
        return False
    if saved.due_at is None or learned.due_at is None:
        return saved.due_at == learned.due_at and _words(saved.text) == _words(learned.text)
    # Of a recurring one, the time after the first may be the next already.
    is_due_then = abs(saved.due_at - learned.due_at) <= MAX_TURN_TIME or None not in (saved.every, learned.every)
    asked, told = ({*_words(text)} - STOP_WORDS for text in (saved.text, learned.text))
    return is_due_then and 2 * len(asked & told) > min(len(asked), len(told))


def _words(text: str) -> list[str]:
    return [word for word in map(stem, index_tokens(text)) if word not in role_stems()]
