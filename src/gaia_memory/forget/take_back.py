"""Takes back what tools did: changes of facts, and facts that were forgotten and are not erased yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.database.pooling.conflicts import retries_conflicts
from gaia_memory.drafts.write_verbatim import WriteDrafts
from gaia_memory.forget.delete import Forgetter
from gaia_memory.models import (
    AddResult,
    Draft,
    NotedChange,
    Scope,
    SessionKey,
    ToolTurn,
    Undone,
    join_changes,
)
from gaia_memory.ports import Transaction

if TYPE_CHECKING:
    from gaia_memory.facts import FactStore


@dataclass(frozen=True, slots=True)
class Undoer(Forgetter):
    """Forgets facts so that this can be taken back for a while, and takes back the changes of a turn."""

    @retries_conflicts
    async def withdraw(self, scope: Scope, fact_id: str, turn: ToolTurn, *, now: datetime, erase_at: datetime) -> None:
        """Forget one fact for a tool; its rows are kept until `erase_at`, where no reader finds them."""
        async with self.database.transaction() as tx:
            await self.facts.state(tx, scope)
            line = await self.facts.history.earlier_ids(tx, scope, [fact_id])
            if not line:
                return
            rows = await self.facts.tool_changes.stored_rows(tx, scope, line)
            number = (await self.facts.tool_changes.before_change(tx, scope, fact_id=fact_id)).get("number", 0)
            skips = []
            for key, event_ids in (await self.facts.provenance.sources(tx, scope, line)).items():
                skipped = await self.ledger.skipped_events(tx, key, event_ids=event_ids)
                skips.append((key.app, key.session, sorted(event_ids - skipped)))
            await self._forget_facts(tx, scope, [fact_id], time.time())
            rows |= {"number": number, "skips": skips, "erase_at": erase_at.timestamp() if erase_at > now else None}
            if not await self.facts.tool_changes.note_change(tx, scope, turn, fact_id, rows, now=now):
                await self.outbox.record_erasure(tx, scope, now=now.timestamp())

    @retries_conflicts
    async def undo(self, scope: Scope, key: SessionKey, *, now: datetime) -> Undone | None:
        """Take back the last turn of a conversation that has changes; None if there is none."""
        async with self.database.transaction() as tx:
            await self.facts.state(tx, scope)
            noted = await self.facts.tool_changes.noted_changes(tx, scope, key)
            if not noted:
                return None
            changes, turn = join_changes(each.change for each in noted), noted[0].turn
            erased = {each.change["id"] for each in noted if each.change["action"] == "forgot" and not each.state}
            failed: set[str] = set()
            while noted:
                if not await self._take_back(tx, scope, noted[-1], now):
                    failed.add(noted[-1].change["id"])
                # What is put back may bring earlier notes of the turn.
                noted = await self.facts.tool_changes.noted_changes(tx, scope, key, turn.invocation_id)
        return Undone(
            taken_back=[each for each in changes if each["id"] not in failed],
            changed_since=[each for each in changes if each["id"] in failed - erased],
            erased=[each for each in changes if each["id"] in erased],
        )

    async def _take_back(self, tx: Transaction, scope: Scope, noted: NotedChange, now: datetime) -> bool:
        is_done = await self.facts.tool_changes.take_back(tx, scope, noted, now=now)
        if is_done and noted.change["action"] == "remembered":
            await self._forget_facts(tx, scope, [noted.change["id"]], time.time())
            await self.outbox.record_erasure(tx, scope, now=now.timestamp())
        for app, session, event_ids in (noted.state or {}).get("skips", ()) if is_done else ():
            await self.ledger.learn_again(tx, SessionKey(app, scope.user, session), event_ids)
        return is_done


def note_written(facts: FactStore, scope: Scope, turn: ToolTurn, write: WriteDrafts, now: datetime) -> WriteDrafts:
    """Return what writes the draft of a tool and notes what that changed."""

    async def note(tx: Transaction, drafts: Sequence[Draft]) -> AddResult:
        before = await facts.tool_changes.before_change(tx, scope, text=drafts[0].fact.text)
        written = await write(tx, drafts)
        await facts.tool_changes.note_change(tx, scope, turn, written[0].id, before, now=now)
        return written

    return note
