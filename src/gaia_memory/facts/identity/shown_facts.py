"""The short ids of facts, and the record of which facts a conversation was shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, delete, literal, or_, select

from gaia_memory.database.id_encoding import index_key
from gaia_memory.database.metadata import dialect_insert
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.rows import in_chunks, to_epoch_seconds
from gaia_memory.facts.tables import facts, shown_facts

if TYPE_CHECKING:
    from gaia_memory.models import Scope, SessionKey
    from gaia_memory.ports import Clock, Transaction

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


class ShortId(NamedTuple):
    """`#` and characters with which no other id of the scope begins, and whether a conversation was shown the fact."""

    text: str
    is_shown: bool


class ShownFacts:
    """Gives facts short ids and notes which facts a conversation was shown."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that says which facts have expired or not begun."""
        self._clock = clock

    async def short_ids(
        self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]
    ) -> dict[str, ShortId]:
        """Return the short id of each of these facts of the scope, and whether a conversation was shown the fact."""
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

    async def record_shown(self, tx: Transaction, scope: Scope, key: SessionKey, fact_ids: Collection[str]) -> None:
        """Note that a conversation was shown these facts of the scope."""
        for chunk in in_chunks(fact_ids):
            in_scope = facts.c.partition.concat("") == scope.partition
            # Selected, because a fact may be gone by now.
            rows = select(literal(_conversation(key)), facts.c.id).where(
                facts.c.id.in_(chunk), in_scope, current_or_past()
            )
            statement = dialect_insert(tx, shown_facts).from_select(["conversation", "fact_id"], rows)
            await tx.execute(statement.on_conflict_do_nothing())

    async def shown_ids(self, tx: Transaction, scope: Scope, key: SessionKey) -> list[str]:
        """Return the ids of the current facts of the scope that a conversation was shown."""
        statement = (
            select(facts.c.id)
            .join(shown_facts, shown_facts.c.fact_id == facts.c.id)
            .where(shown_facts.c.conversation == _conversation(key))
            .where(facts.c.partition.concat("") == scope.partition, current(to_epoch_seconds(self._clock.now())))
        )
        return list((await tx.execute(statement)).scalars())

    async def forget_shown(self, tx: Transaction, key: SessionKey) -> None:
        """Note that a conversation begins from scratch and was shown nothing."""
        await tx.execute(delete(shown_facts).where(shown_facts.c.conversation == _conversation(key)))


def _conversation(key: SessionKey) -> str:
    return index_key(key.app, key.user, key.session)


def _shorten(fact_id: str, others: Iterable[str]) -> str:
    size = MIN_SHORT_ID_CHARACTERS
    for other in others:
        while other != fact_id and other.startswith(fact_id[:size]):
            size += 1
    return f"#{fact_id[:size]}"
