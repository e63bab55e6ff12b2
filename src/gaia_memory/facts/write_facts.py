"""Writes drafts: new facts, further sources of known facts, missing vectors."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Row, bindparam, select, update
from typing_extensions import override

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.database.metadata import to_json
from gaia_memory.facts.bulk_insert import NewRows, insert_facts, upsert_rows
from gaia_memory.facts.current import current, current_sql
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.rows import (
    FACT_COLUMNS,
    fact_of,
    from_epoch_seconds,
    in_chunks,
    new_ids,
    pack_vector,
    to_epoch_seconds,
)
from gaia_memory.facts.scopes import bump_revision, mark_dirty
from gaia_memory.facts.tables import facts, sources
from gaia_memory.language.text_features import pack_features
from gaia_memory.language.tokenizer import TOKENIZER_VERSION, compound_tokens, index_tokens
from gaia_memory.models import AddResult, Draft, Fact, find_author
from gaia_memory.ports import FactStore

if TYPE_CHECKING:
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

ROWS_PER_STATEMENT = 500
"""Rows written in one statement."""

_LOOKUPS_PER_STATEMENT = 5_000
"""Texts looked up in one statement."""

THREAD_MIN_DRAFTS = 20
"""Drafts from which on the work moves to a thread; hot path, measured in tests/benchmarks/scale.py."""

YIELD_EVERY_DRAFTS = 64
"""Drafts, a millisecond of work, after which a thread releases the interpreter's lock to the event loop; hot path,
measured in tests/benchmarks/scale.py: the loop would wait five times as long otherwise."""

_KNOWN_FORMS_SQL = {
    "sqlite": (
        'SELECT normal FROM gaia_facts AS f WHERE "partition" = ? AND normal IN (SELECT value FROM json_each(?))'
        f" AND {current_sql('f')}"
    ),
    "postgresql": (
        "SELECT normal FROM gaia_facts AS f WHERE partition = $1 AND normal = ANY($2::VARCHAR[])"
        f" AND {current_sql('f')}"
    ),
}
"""Takes all texts as one value; hot path, measured in tests/benchmarks/scale.py: a bound value for each text doubles
the time of a search."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _DraftsByForm:
    """Drafts by their normal form.

    Hot path, measured in tests/benchmarks/scale.py: a list for each form would trigger Python's garbage collector.
    """

    first: dict[str, Draft]
    further: dict[str, list[Draft]]

    def all_of(self, normal: str) -> list[Draft]:
        """Return all drafts of one form."""
        return [self.first[normal], *self.further.get(normal, ())]


class FactWriteMixin(FactStore):
    """The part of the fact store that writes drafts.

    Large batches are prepared in a thread and written a few hundred at a time, so that other turns continue meanwhile.
    """

    @override
    async def write(self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime) -> AddResult:
        if not drafts:
            return AddResult()
        order, drafts_by_form = await _in_thread_if_large(_group_by_form, drafts, len(drafts))
        state = await bump_revision(tx, scope)
        known = await _load_rows(tx, scope, await _known_forms(tx, scope, drafts_by_form.first))
        facts_by_form = {normal: fact_of(row, scope) for normal, row in known.items()}
        for normals in in_chunks(
            [normal for normal in drafts_by_form.first if normal not in known], ROWS_PER_STATEMENT
        ):
            groups = [(normal, drafts_by_form.all_of(normal)) for normal in normals]
            new, new_facts = await _in_thread_if_large(partial(_build_rows, scope, state, now), groups, len(groups))
            await insert_facts(tx, new)
            facts_by_form.update(zip(normals, new_facts, strict=True))
        if known:
            facts_by_form |= await _add_to_known(
                tx, scope, known, drafts_by_form, version=state.revision, now=to_epoch_seconds(now)
            )
        new_forms = {normal: True for normal in facts_by_form if normal not in known}
        is_new = tuple(new_forms.pop(normal, False) for normal in order)
        return AddResult(tuple(facts_by_form[normal] for normal in order), is_new)


async def _in_thread_if_large(call: Callable[[T], R], argument: T, count: int) -> R:
    """Return the result of `call`, which runs in a thread if `count` drafts are many."""
    return call(argument) if count < THREAD_MIN_DRAFTS else await asyncio.to_thread(call, argument)


def _group_by_form(drafts: Sequence[Draft]) -> tuple[list[str], _DraftsByForm]:
    """Return the normal form of each draft, and the drafts of each form."""
    order: list[str] = []
    drafts_by_form = _DraftsByForm({}, {})
    for draft in drafts:
        normal = normal_hash(draft.fact.text)
        order.append(normal)
        if not len(order) % YIELD_EVERY_DRAFTS:
            time.sleep(0)
        if drafts_by_form.first.setdefault(normal, draft) is not draft:
            drafts_by_form.further.setdefault(normal, []).append(draft)
    return order, drafts_by_form


def _build_rows(
    scope: Scope, state: Row[Any], now: datetime, groups: Sequence[tuple[str, list[Draft]]]
) -> tuple[NewRows, list[Fact]]:
    """Return the rows of new facts, and the facts."""
    new, new_facts = NewRows([], [], [], []), []
    partition, prefix = scope.partition, keyword_index.scope_prefix(state.number)
    now = from_epoch_seconds(to_epoch_seconds(now))
    for fact_id, (normal, group) in zip(new_ids(len(groups)), groups, strict=True):
        draft = _with_vector(group)
        fact = _build_fact(fact_id, scope, draft, now)
        words, compounds = index_tokens(fact.text), compound_tokens(fact.text)
        features = pack_features(fact.text, find_author(fact.metadata), words, compounds)
        row = _fact_row(
            partition, fact, draft, normal=normal, words=len(words), version=state.revision, features=features
        )
        new.facts.append(row)
        new.words.append(keyword_index.index_entry(prefix, words, compounds))
        new.sources.append([_source_row(each) for each in group])
        new.outbox.append((fact_id, state.revision))
        new_facts.append(fact)
        if not len(new_facts) % YIELD_EVERY_DRAFTS:
            time.sleep(0)
    return new, new_facts


def _build_fact(fact_id: str, scope: Scope, draft: Draft, now: datetime) -> Fact:
    """Return the fact that a draft becomes, its times rounded as the database stores them."""
    new = draft.fact
    return Fact(
        id=fact_id,
        scope=scope,
        text=new.text,
        source=draft.source,
        created_at=now if draft.created_at is None else from_epoch_seconds(to_epoch_seconds(draft.created_at)),
        updated_at=now if draft.updated_at is None else from_epoch_seconds(to_epoch_seconds(draft.updated_at)),
        said_at=None if new.said_at is None else from_epoch_seconds(to_epoch_seconds(new.said_at)),
        session_id=new.session_id,
        seq=new.seq,
        metadata=dict(new.metadata),
    )


def _fact_row(
    partition: str, fact: Fact, draft: Draft, *, normal: str, words: int, version: int, features: bytes
) -> tuple[Any, ...]:
    """Return the row of a new fact in the order of the columns, without its number."""
    return (
        fact.id,
        partition,
        fact.text,
        normal,
        words,
        None if fact.said_at is None else to_epoch_seconds(fact.said_at),
        None if fact.session_id is None else encode_id(fact.session_id),
        fact.seq,
        fact.source,
        to_json(fact.metadata),
        version,
        to_epoch_seconds(fact.created_at),
        to_epoch_seconds(fact.updated_at),
        None if draft.vector is None else pack_vector(draft.vector),
        None if draft.vector is None else draft.embedder,
        TOKENIZER_VERSION,
        features,
    )


async def _add_to_known(
    tx: Transaction,
    scope: Scope,
    known: dict[str, Row[Any]],
    drafts_by_form: _DraftsByForm,
    *,
    version: int,
    now: float,
) -> dict[str, Fact]:
    """Add sources to known facts; return, by normal form, the facts that got a missing vector."""
    completed = await _fill_missing_vectors(tx, known.values(), drafts_by_form, version=version, now=now)
    changed = {normal: fact_of(row, scope) for normal, row in (await _load_rows(tx, scope, completed)).items()}
    for normals in in_chunks(known, ROWS_PER_STATEMENT):
        source_rows = [
            (known[normal].row, _source_row(draft)) for normal in normals for draft in drafts_by_form.all_of(normal)
        ]
        await _add_sources(tx, source_rows)
    await mark_dirty(tx, sorted(fact.id for fact in changed.values()), version)
    return changed


async def _known_forms(tx: Transaction, scope: Scope, normals: Collection[str]) -> list[str]:
    """Return the normal forms that are stored already."""
    found: list[str] = []
    for chunk in in_chunks(normals, _LOOKUPS_PER_STATEMENT):
        parameter = json.dumps(chunk) if tx.dialect.name == "sqlite" else chunk
        found += (await tx.exec_driver_sql(_KNOWN_FORMS_SQL[tx.dialect.name], (scope.partition, parameter))).scalars()
    return found


async def _load_rows(tx: Transaction, scope: Scope, normals: Iterable[str]) -> dict[str, Row[Any]]:
    found: dict[str, Row[Any]] = {}
    for chunk in in_chunks(normals):
        columns = *FACT_COLUMNS, facts.c.normal, facts.c.vector.is_(None).label("lacks_vector")
        statement = select(*columns).where(facts.c.partition == scope.partition, facts.c.normal.in_(chunk), current())
        found |= {row.normal: row for row in await tx.execute(statement)}
    return found


def _with_vector(group: Sequence[Draft]) -> Draft:
    """Return the first draft of a fact, with the first vector that any of them has."""
    if group[0].vector is not None:
        return group[0]
    for draft in group[1:]:
        if draft.vector is not None:
            return replace(group[0], vector=draft.vector, embedder=draft.embedder)
    return group[0]


async def _fill_missing_vectors(
    tx: Transaction, known: Iterable[Row[Any]], drafts_by_form: _DraftsByForm, *, version: int, now: float
) -> list[str]:
    """Store vectors for known facts without one; return the normal forms of these."""
    changes = []
    for row in known:
        draft = _with_vector(drafts_by_form.all_of(row.normal))
        if row.lacks_vector and draft.vector is not None:
            change = {
                "vector": pack_vector(draft.vector),
                "embedder": draft.embedder,
                "version": version,
                "updated_at": now,
            }
            changes.append(change | {"of_row": row.row, "normal": row.normal})
    if changes:
        names = ("vector", "embedder", "version", "updated_at")
        statement = update(facts).where(facts.c.row == bindparam("of_row"))
        statement = statement.values({name: bindparam(name) for name in names})
        await tx.execute(statement, [{name: row[name] for name in (*names, "of_row")} for row in changes])
    return [row["normal"] for row in changes]


async def _add_sources(tx: Transaction, rows_with_sources: Iterable[tuple[int, tuple[Any, ...]]]) -> None:
    await upsert_rows(tx, sources, [(row, *source) for row, source in rows_with_sources])


def _source_row(draft: Draft) -> tuple[Any, ...]:
    """Return the row of a source in the order of the columns, without the row of its fact."""
    fact = draft.fact
    app = None if draft.app is None else encode_id(draft.app)
    session = None if fact.session_id is None else encode_id(fact.session_id)
    said_at = None if fact.said_at is None else to_epoch_seconds(fact.said_at)
    # Stored hashes are compared with this one: neither a key nor the form may change.
    source = {"app": app, "event_ids": draft.event_ids, "kind": draft.source, "said_at": said_at}
    canonical_json = json.dumps(source | {"seq": fact.seq, "session_id": session}, sort_keys=True)
    origin = hashlib.sha256(canonical_json.encode()).hexdigest()
    return origin, draft.source, app, session, fact.seq, said_at, to_json(list(draft.event_ids))
