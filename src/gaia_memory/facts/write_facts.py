"""Writes drafts: new facts, further sayings of known facts, missing vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from sqlalchemy import Row, bindparam, insert, select, update

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.fact_history import note_endings
from gaia_memory.facts.history.repeated_statements import SAYING_COLUMNS, add_sayings
from gaia_memory.facts.history.revive_facts import find_past, revive
from gaia_memory.facts.history.timeline import stored_ids
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.reconciling.keyed_facts import in_context_of_key
from gaia_memory.facts.rows import (
    DETAIL_DEFAULTS,
    FACT_COLUMNS,
    build_fact,
    details_of,
    fact_of,
    fill_defaults,
    from_epoch_seconds,
    in_chunks,
    pack_vector,
    select_in,
    to_epoch_seconds,
    to_optional_seconds,
)
from gaia_memory.facts.scopes import bump_revision, dialect_insert, log_changes, mark_dirty
from gaia_memory.facts.tables import facts, past_facts, sources
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import DEFAULT_CONTEXT, AddResult, Draft, Fact, FactEnd, extract_fact_features
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.facts.history.past_facts import PastFacts
    from gaia_memory.facts.reconciling.keyed_facts import KeyedFacts
    from gaia_memory.models import Scope
    from gaia_memory.ports import Transaction

THREAD_MIN_DRAFTS = 20
"""Drafts from which on the work moves to a thread; hot path, measured in tests/benchmarks/scale.py."""

_SOURCE_DEFAULTS: Mapping[str, Any] = {
    "turn_event_ids": [],
    "imported": False,
    **dict.fromkeys(("agent", "channel", "excerpt", "extractor", "origin_scope", "origin_id")),
}
"""The optional columns of a source, with the values that most have."""

DraftsByForm = Mapping[str, Sequence[Draft]]
"""Drafts by their normal form."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _NewFact:
    """A new fact, its row, and the rows of its sources."""

    fact: Fact
    row: dict[str, Any]
    sources: list[dict[str, Any]]


class FactWriter:
    """Writes drafts: new facts, further sayings of known facts, missing vectors.

    Large batches are prepared in a thread and written a few hundred at a time, so that other turns continue meanwhile.
    """

    def __init__(self, keys: KeyedFacts, past: PastFacts) -> None:
        """Take the keys that writing settles, and what reads the facts that this ends."""
        self._keys, self._past = keys, past

    async def write(
        self, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, now: datetime, rewording: str | None = None
    ) -> AddResult:
        """Store `drafts` and return the fact each became, in order, and whether it is new.

        A draft whose normal form is already stored becomes a further source of that fact, whose text stays. If it was
        said later, by `said_at` (else `created_at`), date, conversation and metadata are those of the draft; otherwise
        it only adds what the fact lacks. What a model wrote is a source and changes nothing. A draft also supplies the
        vector when the fact has none. The fact `rewording`, whose other wording is written, meets no key of theirs.

        Raises:
            InvalidInputError: a text is blank, a time is naive, metadata are not flat scalars, or `seq` does not fit
                into 64 bits. Nothing is written.
        """
        if not drafts:
            return AddResult()
        drafts = await _without_taken_ids(tx, await in_context_of_key(tx, scope, drafts, to_epoch_seconds(now)))
        order = await _in_thread_if_large(_normal_forms, drafts)
        drafts_by_form: dict[str, list[Draft]] = {}
        for normal, draft in zip(order, drafts, strict=True):
            drafts_by_form.setdefault(normal, []).append(draft)
        state = await bump_revision(tx, scope)
        known = await _load_rows(tx, scope, drafts_by_form)
        past = await find_past(tx, scope, [normal for normal in drafts_by_form if normal not in known])
        staying = await revive(tx, scope, past, drafts_by_form, state, now) if past else set()
        known |= await _load_rows(tx, scope, past.keys() - staying)
        facts_by_form = {normal: fact_of(row, scope) for normal, row in known.items()}
        for normals in in_chunks(normal for normal in drafts_by_form if normal not in known and normal not in past):
            groups = [(normal, drafts_by_form[normal]) for normal in normals]
            new = await _in_thread_if_large(partial(_build_new_facts, scope, state, now), groups)
            await _insert_facts(tx, new, state.revision)
            await log_changes(tx, scope.partition, "added", [each.fact.id for each in new])
            facts_by_form.update(zip(normals, (each.fact for each in new), strict=True))
        if known:
            facts_by_form |= await _add_to_known(tx, scope, known, drafts_by_form, version=state.revision, now=now)
        if staying:
            facts_by_form |= await _add_to_past(tx, scope, staying, drafts_by_form, now)
        replaced = await self._settle_written(tx, scope, facts_by_form, zip(order, drafts, strict=True), now, rewording)
        new_forms = {normal: True for normal in facts_by_form if normal not in known and normal not in past}
        is_new = tuple(new_forms.pop(normal, False) for normal in order)
        may_be_past = {fact.id for form, fact in facts_by_form.items() if fact.key is not None or form in staying}
        in_history = frozenset(may_be_past - await stored_ids(tx, scope, may_be_past)) if may_be_past else frozenset()
        written = tuple(facts_by_form[normal] for normal in order)
        return AddResult(written, is_new, replaced=replaced, past=in_history)

    async def _settle_written(
        self,
        tx: Transaction,
        scope: Scope,
        facts_by_form: dict[str, Fact],
        drafts: Iterable[tuple[str, Draft]],
        now: datetime,
        rewording: str | None,
    ) -> frozenset[str]:
        """Settle the keys of what was written, and put the facts that this changes into `facts_by_form`.

        Imports do so once their history is stored.
        """
        sayings = [
            (fact.id, _actor_of(draft), draft.fact.said_at or draft.created_at or now)
            for normal, draft in drafts
            if (fact := facts_by_form[normal]).key is not None and not draft.is_imported
        ]
        if not sayings:
            return frozenset()
        replaced = await self._keys.settle_keys(tx, scope, sayings, now=now, besides=rewording)
        settled = await self._past.get_any(tx, scope, {fact_id for fact_id, _, _ in sayings})
        facts_by_form |= {form: settled[fact.id] for form, fact in facts_by_form.items() if fact.id in settled}
        return replaced


async def _in_thread_if_large(call: Callable[[Sequence[T]], R], items: Sequence[T]) -> R:
    """Return the result of `call`, which runs in a thread if there are many items."""
    return call(items) if len(items) < THREAD_MIN_DRAFTS else await run_in_thread(call, items)


async def _without_taken_ids(tx: Transaction, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return drafts of which none asks for the id of a fact that is there, whosever it is."""
    wanted = {draft.fact_id for draft in drafts if draft.fact_id is not None}
    current, past = select(facts.c.id).where(current_or_past()), select(past_facts.c.id)
    taken = {row.id for row in await select_in(tx, current, facts.c.id, wanted)}
    taken |= {row.id for row in await select_in(tx, past, past_facts.c.id, wanted)}
    return [replace(draft, fact_id=None) if draft.fact_id in taken else draft for draft in drafts] if taken else drafts


def _normal_forms(drafts: Sequence[Draft]) -> list[str]:
    return [normal_hash(draft.fact.text) for draft in drafts]


def _build_new_facts(
    scope: Scope, state: Row[Any], now: datetime, groups: Sequence[tuple[str, Sequence[Draft]]]
) -> list[_NewFact]:
    """Return what is stored of new facts."""
    return [_build_new_fact(scope, state.revision, now, normal, drafts) for normal, drafts in groups]


def _build_new_fact(scope: Scope, version: int, now: datetime, normal: str, drafts: Sequence[Draft]) -> _NewFact:
    draft = _with_vector(drafts)
    details = details_of(draft.fact)
    if "context" not in details and draft.active_context != DEFAULT_CONTEXT:
        details["context"] = draft.active_context
    row: dict[str, Any] = {
        "id": draft.fact_id or str(uuid4()),
        "partition": scope.partition,
        "text": draft.fact.text,
        "normal": normal,
        "said_at": to_optional_seconds(draft.fact.said_at),
        "session_id": _encode(draft.fact.session_id),
        "seq": draft.fact.seq,
        "source": "import" if draft.is_imported else draft.source,
        "metadata": dict(draft.fact.metadata),
        "version": version,
        "created_at": to_epoch_seconds(draft.created_at or now),
        "updated_at": to_epoch_seconds(draft.updated_at or now),
        "vector": None if draft.vector is None else pack_vector(draft.vector),
        "embedder": None if draft.vector is None else draft.embedder,
        "form": TOKENIZER_VERSION,
        "traits": extract_fact_features(draft.fact.text, draft.fact.metadata),
        **details,
    }
    if len(drafts) > 1:
        changed = add_sayings({**DETAIL_DEFAULTS, **row}, drafts[1:], now)
        row |= changed
        details |= {name: value for name, value in changed.items() if name in DETAIL_DEFAULTS}
    # The times of the fact are rounded as the database stores them.
    fact = build_fact(SimpleNamespace(**row), scope, details)
    return _NewFact(fact, row, [_source_row(each, now) | {"fact_id": fact.id} for each in drafts])


async def _insert_facts(tx: Transaction, new: Sequence[_NewFact], version: int) -> None:
    await tx.execute(insert(facts), fill_defaults([each.row for each in new], DETAIL_DEFAULTS))
    await _add_sources(tx, [source for each in new for source in each.sources])
    await mark_dirty(tx, [each.fact.id for each in new], version)


async def _add_to_known(
    tx: Transaction,
    scope: Scope,
    known: dict[str, Row[Any]],
    drafts_by_form: DraftsByForm,
    *,
    version: int,
    now: datetime,
) -> dict[str, Fact]:
    """Add sources to known facts; return, by normal form, those that got a missing vector or say something new."""
    since_epoch = to_epoch_seconds(now)
    completed = await _fill_missing_vectors(tx, known.values(), drafts_by_form, version=version, now=since_epoch)
    repeated = await _update_repeated(tx, scope, known.values(), drafts_by_form, version=version, now=now)
    changed_rows = await _load_rows(tx, scope, {*completed, *repeated})
    changed = {normal: fact_of(row, scope) for normal, row in changed_rows.items()}
    drafts = [(row.id, draft) for normal, row in known.items() for draft in drafts_by_form[normal]]
    for chunk in in_chunks(drafts):
        await _add_sources(tx, [_source_row(draft, now) | {"fact_id": fact_id} for fact_id, draft in chunk])
    await mark_dirty(tx, sorted(fact.id for fact in changed.values()), version)
    return changed


async def _add_to_past(
    tx: Transaction, scope: Scope, normals: Collection[str], drafts_by_form: DraftsByForm, now: datetime
) -> dict[str, Fact]:
    """Add sources to facts that ended after these drafts were said; return them by normal form."""
    past = await find_past(tx, scope, sorted(normals))
    drafts = [(row.id, draft) for normal, row in past.items() for draft in drafts_by_form[normal]]
    await _add_sources(tx, [_source_row(draft, now) | {"fact_id": fact_id} for fact_id, draft in drafts])
    return {normal: fact_of(row, scope) for normal, row in past.items()}


async def _load_rows(tx: Transaction, scope: Scope, normals: Iterable[str]) -> dict[str, Row[Any]]:
    columns = *FACT_COLUMNS, facts.c.normal, facts.c.traits, facts.c.vector.is_(None).label("lacks_vector")
    statement = select(*columns).where(facts.c.partition == scope.partition, current_or_past())
    return {row.normal: row for row in await select_in(tx, statement, facts.c.normal, normals)}


def _with_vector(group: Sequence[Draft]) -> Draft:
    """Return the first draft of a fact, with the first vector that any of them has."""
    if group[0].vector is not None:
        return group[0]
    for draft in group[1:]:
        if draft.vector is not None:
            return replace(group[0], vector=draft.vector, embedder=draft.embedder)
    return group[0]


async def _fill_missing_vectors(
    tx: Transaction, known: Iterable[Row[Any]], drafts_by_form: DraftsByForm, *, version: int, now: float
) -> list[str]:
    """Store vectors for known facts without one; return the normal forms of these."""
    changes = []
    for row in known:
        draft = _with_vector(drafts_by_form[row.normal])
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


async def _update_repeated(
    tx: Transaction,
    scope: Scope,
    known: Iterable[Row[Any]],
    drafts_by_form: DraftsByForm,
    *,
    version: int,
    now: datetime,
) -> list[str]:
    """Change known facts as these further sayings of them say; return the normal forms of those that changed."""
    changed: dict[str, dict[str, Any]] = {}
    expired: list[FactEnd] = []
    for row in known:
        fact = dict(row._mapping)
        if changes := add_sayings(fact, drafts_by_form[row.normal], now):
            # Without a date nobody knows that it was said after its end.
            last_said = changes.get("said_at", row.said_at)
            if "valid_until" in changes and None not in (row.valid_until, last_said) and row.valid_until < last_said:
                ended_at = from_epoch_seconds(row.valid_until)
                expired.append(FactEnd(fact_id=row.id, ended_at=ended_at, why="expired", actor="clock"))
            changed[row.normal] = {"of_row": row.row, **{name: fact[name] for name in SAYING_COLUMNS}, **changes}
    if changed:
        values: dict[str, Any] = {name: bindparam(name) for name in SAYING_COLUMNS}
        values |= {"version": version, "updated_at": to_epoch_seconds(now)}
        statement = update(facts).where(facts.c.row == bindparam("of_row")).values(values)
        for chunk in in_chunks(changed.values()):
            await tx.execute(statement, chunk)
    await note_endings(tx, scope, expired, now=now)
    return list(changed)


async def _add_sources(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Write sources; a known one stays unchanged."""
    statement = dialect_insert(tx, sources)
    statement = statement.on_conflict_do_nothing(index_elements=[sources.c.fact_id, sources.c.origin])
    await tx.execute(statement, fill_defaults(rows, _SOURCE_DEFAULTS))


def _source_row(draft: Draft, now: datetime) -> dict[str, Any]:
    """Return the row of a source without the id of its fact."""
    fact = draft.fact
    source = {
        "kind": draft.source,
        "app": _encode(draft.app),
        "session_id": _encode(fact.session_id),
        "seq": fact.seq,
        "said_at": to_optional_seconds(fact.said_at),
        "event_ids": list(draft.event_ids),
    }
    # Stored hashes are compared with this one: neither a key nor the form may change. Version 0.1 had no `agent`.
    hashed = source | {"kind": "remember"} if draft.source == "agent" else source
    row = source | {
        "origin": hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest(),
        "noted_at": to_epoch_seconds(draft.noted_at or now),
    }
    optional = {
        "turn_event_ids": list(draft.turn_event_ids),
        # An import says itself who wrote each source.
        "agent": draft.agent if draft.agent is not None or draft.is_imported else fact.agent,
        "channel": draft.channel,
        "excerpt": draft.excerpt,
        "extractor": draft.extractor,
        "imported": draft.is_imported,
        "origin_scope": draft.origin_scope,
        "origin_id": draft.origin_id,
    }
    return row | {name: value for name, value in optional.items() if value}


def _actor_of(draft: Draft) -> str:
    """Return who says that a fact ends what it replaces."""
    if draft.source == "agent":
        return f"agent:{draft.agent or draft.fact.agent or ''}"
    if draft.source == "conversation":
        return "model"
    return "person" if draft.source == "remember" and draft.channel is not None else "host"


def _encode(identifier: str | None) -> str | None:
    return None if identifier is None else encode_id(identifier)
