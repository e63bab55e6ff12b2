"""Turns that reading from the watermark would miss: the clock was behind it when they ran."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, delete, exists, select, update

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.ledger.rows import conversation_key, insert, where_session
from gaia_memory.ledger.tables import conversations as c
from gaia_memory.ledger.tables import late_turns
from gaia_memory.models import Invocation, SessionKey

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction


class OutOfOrderMixin:
    """The part of the ledger that records out-of-order turns."""

    async def record_out_of_order(self, tx: Transaction, key: SessionKey, invocation: Invocation) -> None:
        """Record a turn that may lie before the watermark, with its earliest start."""
        await record_out_of_order(tx, key, invocation)

    async def out_of_order_turns(self, tx: Transaction, key: SessionKey) -> dict[str, float]:
        """Return the turns that may lie before the watermark: the start time of each by invocation id."""
        statement = select(late_turns.c.invocation_id, late_turns.c.began).where(_where_session(key))
        return {decode_id(row.invocation_id): row.began for row in await tx.execute(statement)}

    async def complete_out_of_order(
        self, tx: Transaction, key: SessionKey, owner: str, *, invocations: Collection[str], turn_count: int
    ) -> bool:
        """Add `turn_count` learned turns under the owner's lease and delete these invocations; False if it was lost."""
        counted = update(c).where(where_session(key), c.c.lease_owner == owner)
        if (await tx.execute(counted.values(learned_turns=c.c.learned_turns + turn_count))).rowcount == 0:
            return False
        encoded_ids = [encode_id(invocation) for invocation in invocations]
        if encoded_ids:
            await tx.execute(delete(late_turns).where(_where_session(key), late_turns.c.invocation_id.in_(encoded_ids)))
        return True


async def record_out_of_order(tx: Transaction, key: SessionKey, invocation: Invocation) -> None:
    """Record a turn that may lie before the watermark, with its earliest start."""
    row = {
        "conversation": conversation_key(key),
        "invocation_id": encode_id(invocation.id),
        "began": invocation.started_at,
    }
    statement = insert(tx, late_turns).values(row)
    upsert = statement.on_conflict_do_update(
        index_elements=[late_turns.c.conversation, late_turns.c.invocation_id],
        set_={"began": invocation.started_at},
        where=late_turns.c.began > invocation.started_at,
    )
    await tx.execute(upsert)


async def delete_out_of_order(tx: Transaction, key: SessionKey) -> None:
    """Delete the out-of-order turns of a conversation that was cleared, unless it had a turn meanwhile."""
    is_quiet = exists().where(where_session(key), c.c.turn_no <= c.c.claimed_turn_no)
    await tx.execute(delete(late_turns).where(_where_session(key), is_quiet))


def _where_session(key: SessionKey) -> ColumnElement[bool]:
    return late_turns.c.conversation == conversation_key(key)
