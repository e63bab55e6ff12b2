"""The fact store over SQL."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, ColumnElement, Row, bindparam, func, select

from gaia_memory.facts import delete_facts, move_scope, provenance, scopes, tables, write_facts
from gaia_memory.facts.identity import paraphrase_tombstones
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.indexing.index_stats import IndexStatsCache
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    INDEXED_FACT_COLUMNS,
    fact_of,
    from_epoch_seconds,
    in_chunks,
    indexed_fact_of,
    scope_of,
    stack_vectors,
    to_epoch_seconds,
)
from gaia_memory.facts.tables import facts, profiles
from gaia_memory.language.text_features import has_current_version
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import (
    AddResult,
    Candidate,
    Draft,
    Fact,
    FactPredicate,
    IndexedFact,
    MergeResult,
    NewFact,
    Origin,
    Profile,
    Scope,
    ScopeState,
    SessionKey,
    extract_fact_features,
)

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

_PAGE_ROWS = 500
"""Facts read at once where each is looked at: some milliseconds of the event loop."""


class SqlFacts:
    """The facts in the tables of the memory database. All state comes with `tx`; only sizes of scopes are kept here."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._index_stats = IndexStatsCache()

    async def state(self, tx: Transaction, scope: Scope) -> ScopeState:
        """Return the scope's revision and `forgotten_at`; in a write transaction they stay so until its end."""
        row = await scopes.load_scope(tx, scope)
        return ScopeState() if row is None else ScopeState(revision=row.revision, forgotten_at=row.forgotten_at)

    async def write(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> AddResult:
        """Store drafts and return the fact each became, in order, and whether it is new.

        Raises:
            InvalidInputError: the place of a fact in its conversation is no number of 64 bits.
        """
        return await write_facts.write(tx, scope, drafts, now=now)

    async def facts(self, tx: Transaction, scope: Scope, *, limit: int | None = None, offset: int = 0) -> list[Fact]:
        """Return current facts, oldest first."""
        statement = select(*FACT_COLUMNS).where(facts.c.partition == scope.partition).order_by(facts.c.row)
        if limit is not None or offset:
            statement = statement.limit(limit).offset(offset)
        return [fact_of(row, scope) for row in await tx.execute(statement)]

    async def count(self, tx: Transaction, scope: Scope) -> int:
        """Count current facts."""
        statement = select(func.count()).select_from(facts).where(facts.c.partition == scope.partition)
        return (await tx.execute(statement)).scalar_one()

    async def ids_matching(self, tx: Transaction, scope: Scope, predicate: FactPredicate) -> list[str]:
        """Return the ids of the current facts for which `predicate` is true, oldest first."""
        found: list[str] = []
        statement = (
            select(*FACT_COLUMNS).where(facts.c.partition == scope.partition).order_by(facts.c.row).limit(_PAGE_ROWS)
        )
        # A scope of any size is gone through a page at a time: turns of others go on meanwhile.
        rows = (await tx.execute(statement)).all()
        while rows:
            found += await asyncio.to_thread(_ids_where, rows, scope, predicate)
            rows = (await tx.execute(statement.where(facts.c.row > rows[-1].row))).all()
        return found

    async def get(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return those of `fact_ids` that are facts of this scope; foreign and unknown ids are left out."""
        found: dict[str, Fact] = {}
        for chunk in in_chunks(fact_ids):
            rows = await tx.execute(_SELECT_BY_IDS, {"ids": chunk, "its": scope.partition})
            found |= {row.id: fact_of(row, scope) for row in rows}
        return found

    async def neighbours_of(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], turn_distance: int
    ) -> list[Fact]:
        """Return these facts and what stands up to `turn_distance` turns beside them in the same conversation.

        In order.
        """
        rows: dict[int, Row[Any]] = {}
        in_scope = facts.c.partition == scope.partition
        for chunk in in_chunks(fact_ids):
            named = (
                select(facts.c.row, facts.c.session_id, facts.c.seq).where(_by_ids(chunk, scope.partition)).cte("named")
            )
            is_neighbour = (facts.c.session_id == named.c.session_id) & facts.c.seq.between(
                named.c.seq - turn_distance, named.c.seq + turn_distance
            )
            # From the few to what stands beside each: an outer join leaves SQLite no other order.
            neighbours = select(facts.c.row).select_from(named.outerjoin(facts, in_scope & is_neighbour))
            statement = select(*FACT_COLUMNS).where(facts.c.row.in_(select(named.c.row).union(neighbours)))
            rows |= {row.row: row for row in await tx.execute(statement)}
        return [fact_of(rows[row], scope) for row in sorted(rows)]

    async def idf(self, tx: Transaction, scope: Scope, words: Sequence[Collection[str]]) -> list[float]:
        """Return how rare each set of words is in this scope, as its idf; 0 for one that no fact holds."""
        stats = await self._index_stats.stats(tx, scope)
        if stats is None or not words:
            return [0.0] * len(words)
        return await keyword_index.idf(tx, stats, words)

    async def sources(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[SessionKey, set[str]]:
        """Return the conversations these facts were learned from, each with the ids of the events used."""
        return await provenance.conversations(tx, scope, fact_ids)

    async def origins(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str] | None = None
    ) -> dict[str, list[Origin]]:
        """Return the sources of these facts of a scope, or of all, by the fact's id, oldest first."""
        return await provenance.origins(tx, scope, fact_ids)

    async def match(self, tx: Transaction, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Find facts by words, best first; a query without a usable word finds nothing."""
        stats = await self._index_stats.stats(tx, scope)
        return [] if stats is None else await keyword_index.match(tx, stats, query, limit=limit)

    async def ids(self, tx: Transaction, scope: Scope) -> list[str]:
        """Return the ids of all current facts."""
        statement = select(facts.c.id).where(facts.c.partition == scope.partition)
        return list((await tx.execute(statement)).scalars())

    async def indexed_facts(self, tx: Transaction, scope: Scope, *, since_revision: int = -1) -> list[IndexedFact]:
        """Return what recall compares of every current fact changed after `since_revision`."""
        statement = select(*INDEXED_FACT_COLUMNS).where(
            facts.c.partition == scope.partition, facts.c.version > since_revision
        )
        rows = (await tx.execute(statement)).all()
        recomputed = await self._recompute_traits(
            tx, scope, [row.id for row in rows if not has_current_version(row.traits)]
        )
        return [indexed_fact_of(row, recomputed.get(row.id, row.traits)) for row in rows]

    async def _recompute_traits(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, bytes]:
        """Return the traits of facts that another version of this package wrote."""
        found: dict[str, bytes] = {}
        for chunk in in_chunks(fact_ids):
            statement = select(facts.c.id, facts.c.text, facts.c.metadata).where(_by_ids(chunk, scope.partition))
            rows = (await tx.execute(statement)).all()
            found |= await asyncio.to_thread(_traits_of, rows)
        return found

    async def years(self, tx: Transaction, scope: Scope) -> list[int]:
        """Return the years, in UTC, from the first to the last moment at which a fact was said."""
        in_scope = facts.c.partition == scope.partition
        first, last = (
            await tx.execute(select(func.min(facts.c.said_at), func.max(facts.c.said_at)).where(in_scope))
        ).one()
        return [] if first is None else list(range(from_epoch_seconds(first).year, from_epoch_seconds(last).year + 1))

    async def said_between(
        self, tx: Transaction, scope: Scope, spans: Sequence[tuple[datetime, datetime]], *, limit: int
    ) -> list[str]:
        """Return ids of facts said in one of these spans, the latest first; a span ends before its second moment."""
        found: list[str] = []
        for start, end in spans:
            is_within = (facts.c.said_at >= to_epoch_seconds(start)) & (facts.c.said_at < to_epoch_seconds(end))
            statement = select(facts.c.id).where(facts.c.partition == scope.partition, is_within)
            statement = statement.order_by(facts.c.said_at.desc(), facts.c.row.desc()).limit(limit - len(found))
            found += (await tx.execute(statement)).scalars()
            if len(found) >= limit:
                break
        return found

    async def dominant_embedder(self, tx: Transaction) -> str | None:
        """Return the identity that most vectors carry, of any scope; None without vectors."""
        statement = (
            select(facts.c.embedder)
            .where(facts.c.embedder.is_not(None))
            .group_by(facts.c.embedder)
            .order_by(func.count().desc(), facts.c.embedder)
            .limit(1)
        )
        return (await tx.execute(statement)).scalar_one_or_none()

    async def vectors(self, tx: Transaction, scope: Scope, embedder: str) -> tuple[list[str], Any]:
        """Return ids and a float32 matrix, one row an id, of the vectors that `embedder` made."""
        statement = (
            select(facts.c.id, facts.c.vector)
            .where(facts.c.partition == scope.partition, facts.c.embedder == embedder, facts.c.vector.is_not(None))
            .order_by(facts.c.row)
        )
        rows = (await tx.execute(statement)).all()
        return [row.id for row in rows], stack_vectors([row.vector for row in rows])

    async def are_embedded(self, tx: Transaction, scope: Scope, texts: Sequence[str], embedder: str) -> list[bool]:
        """Say for each text whether it is a fact of this scope with a vector that `embedder` made."""
        normals = [normal_hash(each) for each in texts]
        found: set[str] = set()
        for chunk in in_chunks(normals):
            # The embedder is compared here: SQLite would go through everybody's facts that have the same one.
            statement = select(facts.c.normal, facts.c.embedder)
            statement = statement.where(facts.c.partition == scope.partition, facts.c.normal.in_(chunk))
            found.update(row.normal for row in await tx.execute(statement) if row.embedder == embedder)
        return [normal in found for normal in normals]

    async def merge(self, tx: Transaction, scope: Scope, into: Scope) -> MergeResult:
        """Move every fact and tombstone of `scope` to `into`; ids stay, and what both know stands once."""
        return await move_scope.merge(tx, scope, into)

    async def sourced_only_from(self, tx: Transaction, scope: Scope, session_id: str) -> list[str]:
        """Return ids of the facts whose every source is this conversation."""
        return await provenance.sourced_only_from(tx, scope, session_id)

    async def drop_source(self, tx: Transaction, scope: Scope, session_id: str) -> int:
        """Remove this conversation from the sources of facts that have others; return how many rows."""
        return await provenance.drop_source(tx, scope, session_id)

    async def delete(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, int]:
        """Delete facts of this scope and return the rows removed by place; their ids go into the outbox."""
        return await delete_facts.delete(tx, scope, fact_ids)

    async def delete_all(self, tx: Transaction, scope: Scope, *, forgotten_at: float) -> dict[str, int]:
        """Delete everything of this scope, set `forgotten_at`, and return the rows removed by place."""
        return await delete_facts.delete_all(tx, scope, forgotten_at=forgotten_at)

    async def add_tombstones(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, said_until: float
    ) -> None:
        """Leave a tombstone for each of these facts, before a delete."""
        await delete_facts.add_tombstones(tx, scope, fact_ids, said_until=said_until)

    async def paraphrases_forgotten(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Say for each fact whether it tells, maybe in other words, what was buried after it was said."""
        return await delete_facts.paraphrases_forgotten(tx, scope, new_facts)

    async def have_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Say for each text whether its normal form has a tombstone."""
        return await delete_facts.have_tombstones(tx, scope, texts)

    def mentions(self, user_text: str, text: str) -> bool:
        """Say whether what somebody says shares a telling word with a text; any word of one that has none."""
        stems = paraphrase_tombstones.distinctive_stems(text)
        if stems:
            return not stems.isdisjoint(paraphrase_tombstones.distinctive_stems(user_text))
        words = set(index_tokens(text))
        return not words.isdisjoint(index_tokens(user_text)) if words else text.strip() in user_text

    async def remove_tombstones(self, tx: Transaction, scope: Scope, texts: Sequence[str]) -> None:
        """Lift the tombstones of these texts."""
        await delete_facts.remove_tombstones(tx, scope, texts)

    async def cached_profile(self, tx: Transaction, scope: Scope) -> Profile | None:
        """Return the last profile made for this scope."""
        row = (await tx.execute(select(profiles).where(profiles.c.partition == scope.partition))).one_or_none()
        if row is None:
            return None
        return Profile(
            bullets=tuple(row.bullets),
            fingerprint=row.fingerprint,
            revision=row.revision,
            made_by=row.made_by,
            made_at=None if row.made_at is None else datetime.fromtimestamp(row.made_at, UTC),
        )

    async def cache_profile(self, tx: Transaction, scope: Scope, profile: Profile) -> bool:
        """Keep a profile; False, and nothing written, when the scope's revision is no longer the profile's."""
        state = await scopes.ensure_scope(tx, scope)
        if state.revision != profile.revision:
            return False
        made_at = None if profile.made_at is None else profile.made_at.timestamp()
        values = {"bullets": list(profile.bullets), "fingerprint": profile.fingerprint, "revision": profile.revision}
        values |= {"made_by": profile.made_by, "made_at": made_at}
        statement = scopes.dialect_insert(tx, profiles).values(partition=scope.partition, **values)
        await tx.execute(statement.on_conflict_do_update(index_elements=[profiles.c.partition], set_=values))
        return True

    async def scopes(self, tx: Transaction) -> list[Scope]:
        """Return every scope that holds a fact."""
        table = tables.scopes
        has_fact = select(facts.c.row).where(facts.c.partition == table.c.partition).exists()
        rows = await tx.execute(select(table.c.app, table.c.user_id).where(has_fact).order_by(table.c.number))
        return [scope_of(row.app, row.user_id) for row in rows]


def _ids_where(rows: Sequence[Row[Any]], scope: Scope, predicate: FactPredicate) -> list[str]:
    return [row.id for row in rows if predicate(fact_of(row, scope))]


def _traits_of(rows: Sequence[Any]) -> dict[str, bytes]:
    return {row.id: extract_fact_features(row.text, row.metadata) for row in rows}


def _by_ids(ids: Collection[str] | BindParameter[Any], partition: str | BindParameter[str]) -> ColumnElement[bool]:
    """Say that a fact has one of these ids and is of this partition.

    The partition as it stands in no index: SQLite would read all facts of a scope rather than look up some ids.
    """
    return facts.c.id.in_(ids) & (facts.c.partition.concat("") == partition)


_SELECT_BY_IDS = select(*FACT_COLUMNS).where(_by_ids(bindparam("ids", expanding=True), bindparam("its")))
"""Made once: every question asks it."""
