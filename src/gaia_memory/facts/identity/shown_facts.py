"""The part of the fact store that gives facts short ids and notes which facts a conversation was shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, literal, or_, select
from typing_extensions import override

from gaia_memory.database.dialects import dialect_insert
from gaia_memory.database.id_encoding import index_key
from gaia_memory.facts.current import ClockedFactStore, current, current_or_past
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import facts, shown_facts

if TYPE_CHECKING:
    from gaia_memory.models import Scope, SessionKey
    from gaia_memory.ports import Transaction

MIN_SHORT_ID_CHARACTERS = 6
"""Characters of a short id, unless two facts of a scope begin alike."""

_AFTER_HEX = "g"
"""Sorts after every character of an id."""

_PREFIXES_PER_STATEMENT = 100


class ShownFactMixin(ClockedFactStore):
    """The part of the fact store that gives facts short ids and notes which facts a conversation was shown."""

    @override
    async def short_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, str]:
        neighbours: list[str] = []
        for chunk in in_chunks({fact_id[:MIN_SHORT_ID_CHARACTERS] for fact_id in fact_ids}, _PREFIXES_PER_STATEMENT):
            begins = or_(*(and_(facts.c.id >= prefix, facts.c.id < prefix + _AFTER_HEX) for prefix in chunk))
            statement = select(facts.c.id).where(
                begins, facts.c.partition.concat("") == scope.partition, current_or_past()
            )
            neighbours += (await tx.execute(statement)).scalars()
        return {fact_id: _shorten(fact_id, neighbours) for fact_id in set(neighbours).intersection(fact_ids)}

    @override
    async def record_shown(self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]) -> None:
        for chunk in in_chunks(fact_ids):
            in_scope = facts.c.partition.concat("") == scope.partition
            # Selected, because a fact may be gone by now.
            rows = select(literal(_conversation(key)), facts.c.id).where(
                facts.c.id.in_(chunk), in_scope, current_or_past()
            )
            statement = dialect_insert(tx, shown_facts).from_select(["conversation", "fact_id"], rows)
            await tx.execute(statement.on_conflict_do_nothing())

    @override
    async def shown_ids(self, tx: Transaction, scope: Scope, key: SessionKey) -> list[str]:
        statement = (
            select(facts.c.id)
            .join(shown_facts, shown_facts.c.fact_id == facts.c.id)
            .where(shown_facts.c.conversation == _conversation(key))
            .where(facts.c.partition.concat("") == scope.partition, current(self._now()))
        )
        return list((await tx.execute(statement)).scalars())

    @override
    async def forget_shown(self, tx: Transaction, key: SessionKey) -> None:
        await tx.execute(delete(shown_facts).where(shown_facts.c.conversation == _conversation(key)))


def _conversation(key: SessionKey) -> str:
    return index_key(key.app, key.user, key.session)


def _shorten(fact_id: str, others: Iterable[str]) -> str:
    size = MIN_SHORT_ID_CHARACTERS
    for other in others:
        while other != fact_id and other.startswith(fact_id[:size]):
            size += 1
    return f"#{fact_id[:size]}"
