"""The part of the fact store that gives facts short ids and notes which facts a conversation was shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, bindparam, delete, literal, or_, select
from typing_extensions import override

from gaia_memory.database.id_encoding import index_key
from gaia_memory.database.metadata import dialect_insert
from gaia_memory.facts.current import ClockedFactStore, current, current_or_past
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import facts, shown_facts
from gaia_memory.ports.shown_store import ShortId

if TYPE_CHECKING:
    from gaia_memory.models import Scope, SessionKey
    from gaia_memory.ports import Transaction

MIN_SHORT_ID_CHARACTERS = 6
"""Characters of a short id, unless two facts of a scope begin alike."""

_AFTER_HEX = "g"
"""Sorts after every character of an id."""

_PREFIXES_PER_STATEMENT = 100


@lru_cache(maxsize=_PREFIXES_PER_STATEMENT)
def _select_alike(prefixes: int) -> Select[Any]:
    """Return what selects the facts whose ids have one of this many prefixes; built once, as every turn may use it."""
    its = shown_facts.c
    is_shown = (its.conversation == bindparam("its_conversation")) & (its.fact_id == facts.c.id)
    begins = (and_(facts.c.id >= bindparam(f"from_{n}"), facts.c.id < bindparam(f"to_{n}")) for n in range(prefixes))
    return (
        select(facts.c.id, its.fact_id.is_not(None).label("is_shown"))
        .outerjoin(shown_facts, is_shown)
        .where(or_(*begins), facts.c.partition.concat("") == bindparam("its_partition"), current_or_past())
    )


class ShownFactMixin(ClockedFactStore):
    """The part of the fact store that gives facts short ids and notes which facts a conversation was shown."""

    @override
    async def short_ids(
        self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]
    ) -> dict[str, ShortId]:
        shown_by_id: dict[str, bool] = {}
        for chunk in in_chunks({fact_id[:MIN_SHORT_ID_CHARACTERS] for fact_id in fact_ids}, _PREFIXES_PER_STATEMENT):
            values = {"its_partition": scope.partition, "its_conversation": _conversation(key)}
            for n, prefix in enumerate(chunk):
                values |= {f"from_{n}": prefix, f"to_{n}": prefix + _AFTER_HEX}
            shown_by_id |= {row.id: row.is_shown for row in await tx.execute(_select_alike(len(chunk)), values)}
        return {
            fact_id: ShortId(_shorten(fact_id, shown_by_id), shown_by_id[fact_id])
            for fact_id in shown_by_id.keys() & set(fact_ids)
        }

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
