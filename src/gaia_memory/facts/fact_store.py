"""The store of facts: what is read and deleted of them, and the parts that do the rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from itertools import compress
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Row,
    Text,
    bindparam,
    cast,
    exists,
    func,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy import delete as delete_from

from gaia_memory.facts import scopes, tables
from gaia_memory.facts.current import current, current_or_past
from gaia_memory.facts.due_facts import DueFacts
from gaia_memory.facts.history.corrections import Corrections
from gaia_memory.facts.history.fact_history import FactHistory
from gaia_memory.facts.history.past_facts import PastFacts
from gaia_memory.facts.history.tool_change_log import ToolChanges
from gaia_memory.facts.history.validity import Validity
from gaia_memory.facts.identity.shown_facts import ShownFacts
from gaia_memory.facts.provenance import Provenance
from gaia_memory.facts.reconciling.comparisons import Comparisons, delete_all_comparisons, delete_comparisons
from gaia_memory.facts.reconciling.keyed_facts import KeyedFacts
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    INDEXED_FACT_COLUMNS,
    change_in,
    fact_of,
    in_chunks,
    is_marked,
    scope_of,
    select_in,
    stack_vectors,
    to_epoch_seconds,
    to_indexed_fact,
)
from gaia_memory.facts.scopes import drop_changes, log_changes
from gaia_memory.facts.tables import (
    announcements,
    changes,
    endings,
    facts,
    forgotten_words,
    outbox,
    past_facts,
    profiles,
    sources,
    tool_changes,
)
from gaia_memory.facts.tombstones import Tombstones, drop_tombstones
from gaia_memory.facts.write_facts import FactWriter
from gaia_memory.language.homoglyphs import compose
from gaia_memory.language.text_features import has_current_version
from gaia_memory.models import (
    DayCounts,
    Fact,
    FactChange,
    FactCounts,
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
"""Facts read at once where each is tested: some milliseconds of the event loop."""

_MAX_CACHED_PROFILES = 8
_LABELS = ("category", "context", "source", "agent")
_DAY_SECONDS = 86_400
_NEWEST_PROFILE = profiles.c.revision.desc(), profiles.c.made_at.desc()


class FactStore:
    """The facts in the tables of the memory database. It keeps no state but the clock: all of it comes with `tx`."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Take the clock that says which facts have expired or not begun; by default the machine's."""
        self.clock = clock = clock or SystemClock()
        self.tombstones, self.provenance, self.history = Tombstones(), Provenance(), FactHistory()
        self.shown, self.due_facts = ShownFacts(clock), DueFacts(clock)
        self.comparisons, self.past = Comparisons(clock), PastFacts(clock)
        self.keys = KeyedFacts(self.history, clock)
        self.validity = Validity(self.history, self.keys)
        self.writer = FactWriter(self.keys, self.past)
        self.corrections = Corrections(self.writer, self.history, self.keys, clock)
        self.tool_changes = ToolChanges(self.corrections, self.keys, self.tombstones)

    def _now(self) -> float:
        return to_epoch_seconds(self.clock.now())

    async def state(self, tx: Transaction, scope: Scope) -> ScopeState:
        """Return the scope's revision and `forgotten_at`; zeros for a scope without any writes.

        In a write transaction neither changes until its end.
        """
        row = await scopes.load_scope(tx, scope)
        return ScopeState() if row is None else ScopeState(revision=row.revision, forgotten_at=row.forgotten_at)

    async def facts(
        self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0, all_stored: bool = False
    ) -> list[Fact]:
        """Return current facts, oldest first; with `all_stored` also those that have expired or not begun to hold."""
        in_scope = facts.c.partition == scope.partition
        statement = select(*FACT_COLUMNS).where(in_scope, current(self._now())).order_by(facts.c.row)
        if all_stored:
            statement = select(*FACT_COLUMNS).where(in_scope, current_or_past()).order_by(facts.c.row)
        if limit is not None or offset:
            statement = statement.limit(limit).offset(offset)
        return [fact_of(row, scope) for row in await tx.execute(statement)]

    async def count(self, tx: Transaction, scope: Scope, *, all_stored: bool = False) -> int:
        """Count current facts; with `all_stored` also those that have expired or not begun to hold."""
        in_scope = facts.c.partition == scope.partition
        statement = select(func.count()).select_from(facts).where(in_scope, current(self._now(), by_index=True))
        if all_stored:
            statement = select(func.count()).select_from(facts).where(in_scope, current_or_past())
        return (await tx.execute(statement)).scalar_one()

    async def count_marked(self, tx: Transaction, scope: Scope, name: str) -> int:
        """Count current facts in whose metadata `name` is true."""
        is_meant, now = (facts.c.partition == scope.partition) & is_marked(facts, name), self._now()
        statement = select(func.count()).select_from(facts).where(is_meant, current(now, by_index=True))
        return (await tx.execute(statement)).scalar_one()

    async def marked_texts(self, tx: Transaction, scope: Scope, name: str) -> list[str]:
        """Return the texts of current facts in whose metadata `name` is true."""
        is_meant = (facts.c.partition == scope.partition) & is_marked(facts, name)
        statement = select(facts.c.text).where(is_meant, current(self._now(), by_index=True))
        return list((await tx.execute(statement)).scalars())

    async def ids_matching(self, tx: Transaction, scope: Scope, predicate: FactPredicate) -> list[str]:
        """Return the ids of the current facts for which `predicate` is true, oldest first."""
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

    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts of this scope with these ids; ids of other scopes and unknown ids are left out."""
        found: dict[str, Fact] = {}
        for chunk in in_chunks(fact_ids):
            values = {"ids": chunk, "its": scope.partition, "now": self._now()}
            rows = await tx.execute(_SELECT_BY_IDS, values)
            found |= {row.id: fact_of(row, scope) for row in rows}
        return found

    async def owner(self, tx: Transaction, fact_id: str) -> Scope | None:
        """Return whose fact this is, stored or past; None for an unknown id."""
        table = tables.scopes
        of_stored = select(facts.c.partition).where(facts.c.id == fact_id, current_or_past())
        of_past = select(past_facts.c.partition).where(past_facts.c.id == fact_id)
        statement = select(table.c.app, table.c.user_id).where(table.c.partition.in_(of_stored.union(of_past)))
        row = (await tx.execute(statement)).first()
        return None if row is None else scope_of(row.app, row.user_id)

    async def ids(self, tx: Transaction, scope: Scope) -> list[str]:
        """Return the ids of all stored facts, whatever their validity."""
        statement = select(facts.c.id).where(facts.c.partition == scope.partition, current_or_past())
        return list((await tx.execute(statement)).scalars())

    async def indexed_facts(self, tx: Transaction, scope: Scope, *, since_revision: int = -1) -> list[IndexedFact]:
        """Return the values that recall compares, of every stored fact changed after `since_revision`."""
        statement = select(*INDEXED_FACT_COLUMNS).where(
            facts.c.partition == scope.partition, facts.c.version > since_revision, current_or_past()
        )
        rows = (await tx.execute(statement)).all()
        outdated = [row.id for row in rows if not has_current_version(row.traits)]
        recomputed = await self._recompute_features(tx, scope, outdated)
        return [to_indexed_fact(row, recomputed.get(row.id)) for row in rows]

    async def _recompute_features(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, bytes]:
        """Return the text features of facts that another version of this package wrote."""
        in_scope = facts.c.partition.concat("") == scope.partition
        statement = select(facts.c.id, facts.c.text, facts.c.metadata).where(in_scope, current_or_past())
        return await run_in_thread(_features_of, await select_in(tx, statement, facts.c.id, fact_ids))

    async def dominant_embedder(self, tx: Transaction) -> str | None:
        """Return the embedder that made most vectors of all scopes; None without vectors."""
        counts = await self.embedders(tx)
        return max(sorted(counts), key=counts.__getitem__, default=None)

    async def embedders(self, tx: Transaction) -> dict[str, int]:
        """Return how many vectors of all scopes each embedder has made."""
        # An index covers it.
        statement = select(facts.c.embedder, func.count()).where(facts.c.embedder.is_not(None), current_or_past())
        return {row.embedder: row[1] for row in await tx.execute(statement.group_by(facts.c.embedder))}

    async def missing_vectors(self, tx: Transaction, scope: Scope, embedder: str) -> tuple[bool, bool]:
        """Return whether facts of this scope carry vectors of another embedder, and whether some wait for theirs.

        Sensitive ones may never get one.
        """
        is_of_scope = facts.c.partition == scope.partition
        statement = select(facts.c.embedder, facts.c.sensitive).where(is_of_scope, current_or_past()).distinct()
        found = (await tx.execute(statement)).all()
        has_other = any(row.embedder is not None and not is_same_embedder(row.embedder, embedder) for row in found)
        return has_other, any(row.embedder is None and not row.sensitive for row in found)

    async def vectors(
        self, tx: Transaction, scope: Scope, embedder: str, *, since_revision: int = -1
    ) -> tuple[list[str], Any]:
        """Return ids and a float32 matrix with one row per id, of the vectors that `embedder` made for stored facts.

        With `since_revision`, of facts changed after it; a vector that was only filled in changes no fact.
        """
        statement = (
            select(facts.c.id, facts.c.vector)
            .where(facts.c.partition == scope.partition, facts.c.embedder == embedder, facts.c.vector.is_not(None))
            .where(current_or_past(), facts.c.version > since_revision)
            .order_by(facts.c.row)
        )
        rows = (await tx.execute(statement)).all()
        return [row.id for row in rows], stack_vectors([row.vector for row in rows])

    async def cached_profile(self, tx: Transaction, scope: Scope, fingerprint: str | None = None) -> Profile | None:
        """Return the profile of this scope with a fingerprint; without one, the last that was made."""
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

    async def cache_profile(self, tx: Transaction, scope: Scope, profile: Profile) -> bool:
        """Store a profile beside the last few; False, and nothing written, unless it is of the scope's revision."""
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
        await tx.execute(delete_from(profiles).where(in_scope, profiles.c.fingerprint.not_in(kept)))
        return True

    async def scopes(self, tx: Transaction) -> list[Scope]:
        """Return every scope that has a current fact."""
        table = tables.scopes
        has_fact = select(facts.c.row).where(facts.c.partition == table.c.partition, current(self._now())).exists()
        rows = await tx.execute(select(table.c.app, table.c.user_id).where(has_fact).order_by(table.c.number))
        return [scope_of(row.app, row.user_id) for row in rows]

    async def summaries(self, tx: Transaction) -> list[PersonSummary]:
        """Return every scope that has a current fact, with their number and the time of the last change."""
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

    async def counts(self, tx: Transaction, scope: Scope) -> FactCounts:
        """Return how many current facts there are by label, source and day."""
        columns = [*(facts.c[name] for name in _LABELS), _day(tx, func.coalesce(facts.c.said_at, facts.c.created_at))]
        statement = select(*columns, func.count()).where(facts.c.partition == scope.partition, current(self._now()))
        counts = [Counter[Any]() for _ in columns]
        total = 0
        for *values, number in await tx.execute(statement.group_by(*columns)):
            total += number
            for counter, value in zip(counts, values, strict=True):
                counter[value] += number
        by_label = {
            name: {label or "": number for label, number in sorted(counter.items(), key=lambda item: item[0] or "")}
            for name, counter in zip(_LABELS, counts, strict=False)
        }
        return FactCounts(
            total=total, **by_label, day={_to_date(day): number for day, number in sorted(counts[-1].items())}
        )

    async def ids_containing(self, tx: Transaction, scope: Scope, parts: Sequence[str]) -> list[str]:
        """Return the ids of the current facts whose text contains each of these parts in any case, oldest first."""
        statement = select(facts.c.id, facts.c.text).where(facts.c.partition == scope.partition, current(self._now()))
        ordered = statement.order_by(facts.c.row).subquery()
        # One row for all: 10,000 rows take twice as long, and the garbage collection that they bring on ten times.
        collect = func.json_agg if tx.dialect.name == "postgresql" else func.json_group_array
        lists = select(cast(collect(ordered.c.id), Text), cast(collect(ordered.c.text), Text))
        ids, texts = (await tx.execute(lists)).one()
        return await run_in_thread(_select_containing, ids, texts, parts)

    async def days(self, tx: Transaction, scope: Scope, *, since: datetime) -> list[DayCounts]:
        """Return the days from that of `since` on, oldest first, on which a statement was stored or ended."""
        start = to_epoch_seconds(since) // _DAY_SECONDS * _DAY_SECONDS
        is_ended = endings.c.partition == scope.partition, endings.c.noted_at >= start, endings.c.undone_at.is_(None)
        # The wordings of a fact have its `created_at`: each later one was stored when it took the place of another.
        is_wording = (past_facts.c.id == endings.c.fact_id) & past_facts.c.wording_of.is_not(None)
        is_reworded = exists().where(is_wording, endings.c.why == "replaced")
        added = [
            select(_day(tx, facts.c.created_at)).where(
                facts.c.partition == scope.partition, facts.c.created_at >= start, current_or_past()
            ),
            select(_day(tx, past_facts.c.created_at)).where(
                past_facts.c.partition == scope.partition,
                past_facts.c.created_at >= start,
                past_facts.c.wording_of.is_(None),
            ),
            select(_day(tx, endings.c.noted_at)).where(*is_ended, is_reworded),
        ]
        all_added = union_all(*added)
        added_by_day = Counter((await tx.execute(all_added)).scalars())
        ended_by_day = Counter((await tx.execute(select(_day(tx, endings.c.noted_at)).where(*is_ended))).scalars())
        return [
            DayCounts(day=_to_date(day), added=added_by_day[day], ended=ended_by_day[day])
            for day in sorted(added_by_day.keys() | ended_by_day.keys())
        ]

    async def changes(self, tx: Transaction, scope: Scope, *, after: int, limit: int) -> list[FactChange]:
        """Return the changes after the one with the number `after`, at most `limit`, oldest first."""
        is_later = changes.c.partition == scope.partition, changes.c.number > after
        rows = (await tx.execute(select(changes).where(*is_later).order_by(changes.c.number).limit(limit))).all()
        found = await self.get(tx, scope, {row.fact_id for row in rows if row.fact_id is not None})
        return [
            FactChange(number=row.number, kind=row.kind, fact_id=row.fact_id, fact=found.get(row.fact_id))
            for row in rows
        ]

    async def last_change(self, tx: Transaction, scope: Scope) -> int:
        """Return the number of the latest change, 0 if there is none."""
        latest = select(func.max(changes.c.number)).where(changes.c.partition == scope.partition)
        return (await tx.execute(latest)).scalar_one() or 0

    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        """Delete facts of this scope and its cached profile; their ids go into the outbox.

        Returns the number of rows removed by kind; the key `facts` counts the facts.
        """
        await scopes.load_scope(tx, scope)
        removed = dict.fromkeys(("facts", "sources", "vectors", "profiles"), 0)
        columns = facts.c.row, facts.c.id, facts.c.vector.is_not(None).label("has_vector")
        statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past())
        owned = await select_in(tx, statement, facts.c.id, sorted(set(fact_ids)))
        removed["vectors"] = sum(row.has_vector for row in owned)
        removed |= await _delete_past(tx, scope, fact_ids)
        await delete_comparisons(tx, scope, fact_ids)
        if not owned:
            return removed
        state = await scopes.bump_revision(tx, scope)
        ids = sorted(row.id for row in owned)
        removed["sources"] += await change_in(tx, delete_from(sources), sources.c.fact_id, ids)
        await change_in(tx, delete_from(facts), facts.c.row, [row.row for row in owned])
        # The cached profile may quote a deleted fact.
        deleted_profiles = await tx.execute(delete_from(profiles).where(profiles.c.partition == scope.partition))
        await scopes.mark_dirty(tx, ids, state.revision)
        await log_changes(tx, scope.partition, "forgotten", ids)
        return removed | {"facts": len(owned), "profiles": deleted_profiles.rowcount}

    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        """Delete everything of this scope: facts, sources, words, vectors, cached profile, tombstones.

        Sets `forgotten_at`. Returns the number of rows removed by kind; the key `facts` counts the facts.
        """
        state = await scopes.bump_revision(tx, scope, forgotten_at=forgotten_at)
        in_scope = facts.c.partition == scope.partition
        vectors = await tx.scalar(select(func.count()).where(in_scope, facts.c.vector.is_not(None), current_or_past()))
        version = literal(state.revision, outbox.c.version.type)
        changed = select(facts.c.id, version).where(in_scope, current_or_past()).order_by(facts.c.id)
        dirty = scopes.dialect_insert(tx, outbox).from_select(["fact_id", "version"], changed)
        new_version = {"version": dirty.excluded.version}
        await tx.execute(dirty.on_conflict_do_update(index_elements=[outbox.c.fact_id], set_=new_version))
        of_scope = select(facts.c.id).where(in_scope, current_or_past())
        past = select(past_facts.c.id).where(past_facts.c.partition == scope.partition)
        is_source = sources.c.fact_id.in_(of_scope) | sources.c.fact_id.in_(past)
        removed = {
            "sources": (await tx.execute(delete_from(sources).where(is_source))).rowcount,
            "facts": (await tx.execute(delete_from(facts).where(in_scope))).rowcount,
            "vectors": vectors or 0,
        }
        deleted = await tx.execute(delete_from(profiles).where(profiles.c.partition == scope.partition))
        removed |= {"profiles": deleted.rowcount, "tombstones": await drop_tombstones(tx, scope)}
        await delete_all_comparisons(tx, scope)
        removed["facts"] += await self.tool_changes.drop_withdrawn(tx, scope)
        for table in (endings, announcements, tool_changes):
            await tx.execute(delete_from(table).where(table.c.partition == scope.partition))
        await drop_changes(tx, scope.partition)
        await log_changes(tx, scope.partition, "forgotten", [None])
        in_history = past_facts.c.partition == scope.partition
        if history := (await tx.execute(delete_from(past_facts).where(in_history))).rowcount:
            removed["history"] = history
        # `forgotten_at` keeps out everything said so far, so single facts need no tombstones.
        await tx.execute(delete_from(forgotten_words).where(forgotten_words.c.partition == scope.partition))
        return removed


def _ids_where(rows: Sequence[Row[Any]], scope: Scope, predicate: FactPredicate) -> list[str]:
    return [row.id for row in rows if predicate(fact_of(row, scope))]


def _features_of(rows: Sequence[Any]) -> dict[str, bytes]:
    return {row.id: extract_fact_features(row.text, row.metadata) for row in rows}


async def load_dominant_embedder(database: Database) -> str | None:
    """Return the embedder of most vectors in a database; None if it has no vectors."""
    async with database.read_transaction() as tx:
        return await FactStore().dominant_embedder(tx)


_SELECT_BY_IDS = select(*FACT_COLUMNS).where(
    facts.c.id.in_(bindparam("ids", expanding=True)),
    # Not indexed, which makes SQLite look the ids up instead of scanning the scope.
    facts.c.partition.concat("") == bindparam("its"),
    current(bindparam("now")),
)
"""Built once, because every recall uses it."""


def _select_containing(ids: str | None, texts: str | None, parts: Sequence[str]) -> list[str]:
    wanted = [compose(part).casefold() for part in parts]
    folded = (compose(text).casefold() for text in json.loads(texts or "[]"))
    is_found = (all(part in text for part in wanted) for text in folded)
    return list(compress(json.loads(ids or "[]"), is_found))


def _day(tx: Transaction, seconds: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the number of the day of a time, from the first of January 1970 on."""
    # PostgreSQL rounds in a cast, SQLite cuts off.
    whole = cast(func.floor(seconds) if tx.dialect.name == "postgresql" else seconds, BigInteger)
    return (whole // _DAY_SECONDS).label("day")


def _to_date(day: int) -> date:
    return datetime.fromtimestamp(day * _DAY_SECONDS, UTC).date()


async def _delete_past(tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
    """Delete those of these facts that are past, with their sources; what else is noted of all of them."""
    ids = sorted(set(fact_ids))
    in_history = select(past_facts.c.id).where(past_facts.c.partition == scope.partition)
    past = [row.id for row in await select_in(tx, in_history, past_facts.c.id, ids)]
    found = {"sources": await change_in(tx, delete_from(sources), sources.c.fact_id, past), "history": len(past)}
    await change_in(tx, delete_from(past_facts), past_facts.c.id, past)
    for table in (endings, announcements, tool_changes):
        in_scope = table.c.partition == scope.partition
        await change_in(tx, delete_from(table).where(in_scope), table.c.fact_id, ids)
    is_in_scope = endings.c.partition == scope.partition
    await change_in(tx, update(endings).where(is_in_scope).values(ended_by=None), endings.c.ended_by, ids)
    return found if past else {}
