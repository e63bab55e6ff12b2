"""What was said while the clock was behind is learned before what comes after the watermark."""

from __future__ import annotations

from dataclasses import replace

from gaia_memory.errors import LeaseLostError
from gaia_memory.models import LedgerRow
from gaia_memory.ports import Database, Ledger
from gaia_memory.sessions.learning.async_iter import each
from gaia_memory.sessions.learning.learner import Learner, Learning
from gaia_memory.sessions.transcript_registry import Transcripts


class LateTalk:
    """Learns the turns of conversations that a reading from their watermark on misses."""

    def __init__(
        self, database: Database, ledger: Ledger, transcripts: Transcripts, learner: Learner, *, owner: str
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._transcripts = transcripts
        self._learner = learner
        self._owner = owner

    async def learn(self, learning: Learning) -> LedgerRow:
        """Learn them and remember them no more; return the row with their turns counted.

        Their events are marked one by one: killed in between, none of them is asked for again.
        """
        row, key = learning.row, learning.row.key
        async with self._database.reading() as tx:
            began = await self._ledger.late_turns(tx, key)
        if not began:
            return row
        turns = await self._transcripts.late(key, began, after=row.watermark, turns_before=row.learned_turns)
        if turns is None:
            return row
        await self._learner.learn(learning, each(turns))
        async with self._database.transaction() as tx:
            if not await self._ledger.late_learned(tx, key, self._owner, invocations=began, turns=len(turns)):
                raise LeaseLostError(f"conversation {key.session!r} was taken over: nothing was written")
        return replace(row, learned_turns=row.learned_turns + len(turns))
