"""The fact store over SQL: reading, and the parts that make it up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Row,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    select,
    type_coerce,
)
from typing_extensions import override

from gaia_memory.facts import scopes, tables
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.delete_facts import FactDeletionMixin
from gaia_memory.facts.due_facts import DueFactsMixin
from gaia_memory.facts.history.change_log import ChangeLogMixin
from gaia_memory.facts.history.fact_counts import FactCountMixin
from gaia_memory.facts.history.fact_history import FactHistoryMixin
from gaia_memory.facts.history.history_reading import HistoryReadingMixin
from gaia_memory.facts.history.past_reading import PastReadingMixin
from gaia_memory.facts.history.tool_change_log import ToolChangeMixin
from gaia_memory.facts.history.validity import ValidityMixin
from gaia_memory.facts.history.wordings import WordingMixin
from gaia_memory.facts.identity.shown_facts import ShownFactMixin
from gaia_memory.facts.move_scope import ScopeMergeMixin
from gaia_memory.facts.provenance import ProvenanceMixin
from gaia_memory.facts.reconciling.keyed_facts import KeyedFactsMixin
from gaia_memory.facts.reconciling.undecided_facts import UndecidedFactsMixin
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    INDEXED_FACT_COLUMNS,
    fact_of,
    in_chunks,
    scope_of,
    stack_vectors,
    to_epoch_seconds,
    to_indexed_fact,
)
from gaia_memory.facts.tables import facts, profiles
from gaia_memory.facts.tombstones import TombstoneMixin
from gaia_memory.facts.write_facts import FactWriteMixin
from gaia_memory.language.text_features import has_current_version
from gaia_memory.models import (
    Fact,
    FactPredicate,
    IndexedFact,
    PersonSummary,
    Profile,
    Scope,
    ScopeState,
    is_same_embedder,
)
from gaia_memory.models.indexed_fact import extract_fact_features
from gaia_memory.ports import Clock, SystemClock
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.ports import Transaction

_PAGE_ROWS = 500
_MAX_CACHED_PROFILES = 8
_NEWEST_PROFILE = profiles.c.revision.desc(), profiles.c.made_at.desc()
"""Facts read at once where each is tested: some milliseconds of the event loop."""


class SqlFacts(
    FactWriteMixin,
    FactHistoryMixin,
    PastReadingMixin,
    ValidityMixin,
    HistoryReadingMixin,
    WordingMixin,
    UndecidedFactsMixin,
    KeyedFactsMixin,
    FactDeletionMixin,
    TombstoneMixin,
    ProvenanceMixin,
    ScopeMergeMixin,
    ShownFactMixin,
    DueFactsMixin,
    ChangeLogMixin,
    FactCountMixin,
    ToolChangeMixin,
):
    """The facts in the tables of the memory database. It keeps no state but the clock: all of it comes with `tx`."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Take the clock that says which facts have expired or not begun; by default the machine's."""
        self._clock = clock or SystemClock()

    @override
    async def state(self, tx: Transaction, scope: Scope) -> ScopeState:
        row = await scopes.load_scope(tx, scope)
        return ScopeState() if row is None else ScopeState(revision=row.revision, forgotten_at=row.forgotten_at)

    @override
    async def facts(
        self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0, all_stored: bool = False
    ) -> list[Fact]:
        in_scope = facts.c.partition == scope.partition
        statement = select(*FACT_COLUMNS).where(in_scope, current(self._now())).order_by(facts.c.row)
        if all_stored:
            statement = select(*FACT_COLUMNS).where(in_scope, current_or_past()).order_by(facts.c.row)
        if limit is not None or offset:
            statement = statement.limit(limit).offset(offset)
        return [fact_of(row, scope) for row in await tx.execute(statement)]

    @override
    async def count(self, tx: Transaction, scope: Scope, *, all_stored: bool = False) -> int:
        in_scope = facts.c.partition == scope.partition
        statement = select(func.count()).select_from(facts).where(in_scope, current(self._now(), by_index=True))
        if all_stored:
            statement = select(func.count()).select_from(facts).where(in_scope, current_or_past())
        return (await tx.execute(statement)).scalar_one()

    @override
    async def count_marked(self, tx: Transaction, scope: Scope, name: str) -> int:
        # Within a value, the quotation marks would be escaped.
        is_marked = type_coerce(facts.c.metadata, Text).contains(f'"{name}":true', autoescape=True)
        is_meant, now = (facts.c.partition == scope.partition) & is_marked, self._now()
        statement = select(func.count()).select_from(facts).where(is_meant, current(now, by_index=True))
        return (await tx.execute(statement)).scalar_one()

    @override
    async def ids_matching(self, tx: Transaction, scope: Scope, predicate: FactPredicate) -> list[str]:
        found: list[str] = []
        statement = (
            select(*FACT_COLUMNS)
            .where(facts.c.partition == scope.partition, current(self._now()))
            .order_by(facts.c.row)
            .limit(_PAGE_ROWS)
        )
        # One page at a time, so that a large scope does not block other turns.
        rows = (await tx.execute(statement)).all()
        while rows:
            found += await run_in_thread(_ids_where, rows, scope, predicate)
            rows = (await tx.execute(statement.where(facts.c.row > rows[-1].row))).all()
        return found

    @override
    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for chunk in in_chunks(fact_ids):
            values = {"ids": chunk, "its": scope.partition, "now": self._now()}
            rows = await tx.execute(_SELECT_BY_IDS, values)
            found |= {row.id: fact_of(row, scope) for row in rows}
        return found

    @override
    async def ids(self, tx: Transaction, scope: Scope) -> list[str]:
        statement = select(facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
        return list((await tx.execute(statement)).scalars())

    @override
    async def indexed_facts(self, tx: Transaction, scope: Scope, *, since_revision: int = -1) -> list[IndexedFact]:
        statement = select(*INDEXED_FACT_COLUMNS).where(
            facts.c.partition == scope.partition, facts.c.version > since_revision, current_or_past()
        )
        rows = (await tx.execute(statement)).all()
        outdated = [row.id for row in rows if not has_current_version(row.traits)]
        recomputed = await self._recompute_features(tx, scope, outdated)
        return [to_indexed_fact(row, recomputed.get(row.id)) for row in rows]

    async def _recompute_features(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, bytes]:
        """Return the text features of facts that another version of this package wrote."""
        found: dict[str, bytes] = {}
        for chunk in in_chunks(fact_ids):
            in_chunk = _by_ids(chunk, scope.partition)
            statement = select(facts.c.id, facts.c.text, facts.c.metadata).where(in_chunk, current_or_past())
            rows = (await tx.execute(statement)).all()
            found |= await run_in_thread(_features_of, rows)
        return found

    @override
    def _now(self) -> float:
        return to_epoch_seconds(self._clock.now())

    @override
    async def dominant_embedder(self, tx: Transaction) -> str | None:
        statement = (
            select(facts.c.embedder)
            .where(facts.c.embedder.is_not(None), current_or_past())
            .group_by(facts.c.embedder)
            .order_by(func.count().desc(), facts.c.embedder)
            .limit(1)
        )
        return (await tx.execute(statement)).scalar_one_or_none()

    @override
    async def embedders(self, tx: Transaction) -> dict[str, int]:
        # An index covers it.
        statement = select(facts.c.embedder, func.count()).where(facts.c.embedder.is_not(None), current_or_past())
        return {row.embedder: row[1] for row in await tx.execute(statement.group_by(facts.c.embedder))}

    @override
    async def has_other_vectors(self, tx: Transaction, scope: Scope, embedder: str) -> bool:
        if all(is_same_embedder(name, embedder) for name in await self.embedders(tx)):
            # Without a look at the rows, which contain the vectors.
            return False
        is_other = and_(facts.c.partition == scope.partition, facts.c.embedder != embedder, current_or_past())
        return bool((await tx.execute(select(exists().where(is_other)))).scalar_one())

    @override
    async def vectors(
        self, tx: Transaction, scope: Scope, embedder: str, *, since_revision: int = -1
    ) -> tuple[list[str], Any]:
        statement = (
            select(facts.c.id, facts.c.vector)
            .where(facts.c.partition == scope.partition, facts.c.embedder == embedder, facts.c.vector.is_not(None))
            .where(current_or_past(), facts.c.version > since_revision)
            .order_by(facts.c.row)
        )
        rows = (await tx.execute(statement)).all()
        return [row.id for row in rows], stack_vectors([row.vector for row in rows])

    @override
    async def cached_profile(self, tx: Transaction, scope: Scope, fingerprint: str | None = None) -> Profile | None:
        statement = select(profiles).where(profiles.c.partition == scope.partition).order_by(*_NEWEST_PROFILE)
        if fingerprint is not None:
            statement = statement.where(profiles.c.fingerprint == fingerprint)
        if (row := (await tx.execute(statement.limit(1))).first()) is None:
            return None
        return Profile(
            bullets=tuple(row.bullets),
            fingerprint=row.fingerprint,
            revision=row.revision,
            made_by=row.made_by,
            made_at=None if row.made_at is None else datetime.fromtimestamp(row.made_at, UTC),
        )

    @override
    async def cache_profile(self, tx: Transaction, scope: Scope, profile: Profile) -> bool:
        state = await scopes.ensure_scope(tx, scope)
        if state.revision != profile.revision:
            return False
        made_at = None if profile.made_at is None else profile.made_at.timestamp()
        values: dict[str, Any] = {"bullets": list(profile.bullets), "revision": profile.revision}
        values |= {"made_by": profile.made_by, "made_at": made_at}
        key = {"partition": scope.partition, "fingerprint": profile.fingerprint}
        statement = scopes.dialect_insert(tx, profiles).values(**key, **values)
        await tx.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))
        in_scope = profiles.c.partition == scope.partition
        kept = select(profiles.c.fingerprint).where(in_scope).order_by(*_NEWEST_PROFILE).limit(_MAX_CACHED_PROFILES)
        await tx.execute(delete(profiles).where(in_scope, profiles.c.fingerprint.not_in(kept)))
        return True

    @override
    async def scopes(self, tx: Transaction) -> list[Scope]:
        table = tables.scopes
        has_fact = select(facts.c.row).where(facts.c.partition == table.c.partition, current(self._now())).exists()
        rows = await tx.execute(select(table.c.app, table.c.user_id).where(has_fact).order_by(table.c.number))
        return [scope_of(row.app, row.user_id) for row in rows]

    @override
    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        table = tables.scopes
        columns = (facts.c.partition, func.count().label("facts"), func.max(facts.c.updated_at).label("changed"))
        counting = select(*columns).select_from(facts).where(current(self._now(), by_index=True))
        counted = counting.group_by(facts.c.partition).subquery()
        statement = select(table.c.app, table.c.user_id, counted.c.facts, counted.c.changed).join(
            counted, counted.c.partition == table.c.partition
        )
        return [
            PersonSummary(
                scope=scope_of(row.app, row.user_id),
                facts=row.facts,
                last_change_at=datetime.fromtimestamp(row.changed, UTC),
            )
            for row in await tx.execute(statement)
        ]


def _ids_where(rows: Sequence[Row[Any]], scope: Scope, predicate: FactPredicate) -> list[str]:
    return [row.id for row in rows if predicate(fact_of(row, scope))]


def _features_of(rows: Sequence[Any]) -> dict[str, bytes]:
    return {row.id: extract_fact_features(row.text, row.metadata) for row in rows}


def _by_ids(ids: Collection[str] | BindParameter[Any], partition: str | BindParameter[str]) -> ColumnElement[bool]:
    """Return the condition that a fact has one of these ids and belongs to this partition.

    `partition || ''` is not indexed, which makes SQLite look the ids up instead of scanning the scope
    (tests/contract/test_fact_store_plans.py).
    """
    return facts.c.id.in_(ids) & (facts.c.partition.concat("") == partition)


async def load_dominant_embedder(database: Database) -> str | None:
    """Return the embedder of most vectors in a database; None if it has no vectors."""
    async with database.read_transaction() as tx:
        return await SqlFacts().dominant_embedder(tx)


_SELECT_BY_IDS = select(*FACT_COLUMNS).where(
    _by_ids(bindparam("ids", expanding=True), bindparam("its")), current(bindparam("now"))
)
"""Built once, because every recall uses it."""
