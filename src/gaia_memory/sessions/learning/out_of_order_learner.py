"""Learns out-of-order turns, which ran while the clock was behind, before the messages after the watermark."""

from __future__ import annotations

from dataclasses import replace

from gaia_memory.errors import LeaseLostError
from gaia_memory.models import LedgerRow
from gaia_memory.sessions.learning.async_iter import to_async_iter
from gaia_memory.sessions.learning.learner import Learner, LearningState
from gaia_memory.sessions.ledger_client import LedgerClient
from gaia_memory.sessions.transcript_registry import TranscriptRegistry


class OutOfOrderLearner:
    """Learns the turns of conversations that reading from the watermark misses."""

    def __init__(self, client: LedgerClient, transcripts: TranscriptRegistry, learner: Learner) -> None:
        self._client = client
        self._transcripts = transcripts
        self._learner = learner

    async def learn(self, learning: LearningState) -> LedgerRow:
        """Learn them and delete their records; return the row with their turns counted.

        Their events are marked as learned with each chunk: after a crash, the model is not asked about them again.
        """
        row, key = learning.row, learning.row.key
        async with self._client.database.read_transaction() as tx:
            turn_starts = await self._client.ledger.out_of_order_turns(tx, key)
        if not turn_starts:
            return row
        turns = await self._transcripts.read_out_of_order(
            key, turn_starts, after=row.progress.watermark, turns_before=row.progress.learned_turns
        )
        if turns is None:
            return row
        await self._learner.learn(learning, to_async_iter(turns))
        async with self._client.database.transaction() as tx:
            if not await self._client.ledger.complete_out_of_order(
                tx, key, self._client.owner, invocations=turn_starts, turn_count=len(turns)
            ):
                raise LeaseLostError(f"conversation {key.session!r} was taken over: nothing was written")
        learned_turns = row.progress.learned_turns + len(turns)
        return replace(row, progress=replace(row.progress, learned_turns=learned_turns))
