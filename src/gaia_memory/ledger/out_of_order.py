"""Turns that a reading from the watermark on would miss: said while the clock was behind it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, delete, exists, select, update

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.ledger.rows import handle, insert, is_at
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.ledger.tables import late_turns
from gaia_memory.models import Invocation, LedgerRow, SessionKey
from gaia_memory.ports.ledger import LEASE_SECONDS, runs

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_CLOSE_SECONDS = 1.0
"""How near to a border a turn is noted though it may lie behind it: two clocks never show quite the same."""


class LateTurns:
    """The part of the ledger that remembers turns said out of order."""

    async def note_late(self, tx: Transaction, key: SessionKey, invocation: Invocation) -> None:
        """Remember a turn that may lie before the watermark, or further back than was noted."""
        await note_late(tx, key, invocation)

    async def late_turns(self, tx: Transaction, key: SessionKey) -> dict[str, float]:
        """Return the turns that may lie before the watermark, with when each began."""
        statement = select(late_turns.c.invocation_id, late_turns.c.began).where(_of(key))
        return {decode_id(row.invocation_id): row.began for row in await tx.execute(statement)}

    async def late_learned(
        self, tx: Transaction, key: SessionKey, owner: str, *, invocations: Collection[str], turns: int
    ) -> bool:
        """Count `turns` learned under an own lease and remember these invocations no more; False when it was lost."""
        counted = update(c).where(is_at(key), c.c.lease_owner == owner)
        if (await tx.execute(counted.values(learned_turns=c.c.learned_turns + turns))).rowcount == 0:
            return False
        names = [encode_id(invocation) for invocation in invocations]
        if names:
            await tx.execute(delete(late_turns).where(_of(key), late_turns.c.invocation_id.in_(names)))
        return True


def may_be_late(row: LedgerRow, invocation: Invocation, *, now: float) -> bool:
    """Say whether a reading from the watermark on may miss a turn that begins now.

    It lies before the watermark, or before the event that took cleared talk back; or the conversation is being
    learned, so that the watermark may move past it.
    """
    borders = [row.watermark.at] if row.watermark is not None else []
    if row.rewound_at is not None and row.cleared_at is not None:
        borders.append(row.cleared_at)
    is_behind = any(invocation.began <= border + _CLOSE_SECONDS for border in borders)
    return is_behind or runs(row.lease_until, now=now, longest=LEASE_SECONDS)


async def note_late(tx: Transaction, key: SessionKey, invocation: Invocation) -> None:
    """Remember a turn that may lie before the watermark, or further back than was noted."""
    row = {"conversation": handle(key), "invocation_id": encode_id(invocation.id), "began": invocation.began}
    statement = insert(tx, late_turns).values(row)
    earlier = statement.on_conflict_do_update(
        index_elements=[late_turns.c.conversation, late_turns.c.invocation_id],
        set_={"began": invocation.began},
        where=late_turns.c.began > invocation.began,
    )
    await tx.execute(earlier)


async def drop_late(tx: Transaction, key: SessionKey) -> None:
    """Remember no late turns of a conversation that was cleared, unless somebody spoke in it meanwhile."""
    is_quiet = exists().where(is_at(key), c.c.turn_no <= c.c.claimed_turn_no)
    await tx.execute(delete(late_turns).where(_of(key), is_quiet))


def _of(key: SessionKey) -> ColumnElement[bool]:
    return late_turns.c.conversation == handle(key)
