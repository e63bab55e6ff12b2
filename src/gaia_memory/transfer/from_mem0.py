"""Moves in what another mem0 program stored: each row becomes a fact of its user, once."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from gaia_memory.backend.foreign_store import ForeignStore, open_foreign_store
from gaia_memory.backend.mem0_store.payload import WRITER_KEY
from gaia_memory.drafts.embed_drafts import EMBED_BATCH_SIZE
from gaia_memory.drafts.screen import screen_draft
from gaia_memory.errors import InvalidInputError
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.models import RESERVED_METADATA, UNCONFIRMED_KEY, Draft, NewFact, Scalar, Scope
from gaia_memory.models.validation import require_time
from gaia_memory.redaction.credentials import masked_kinds
from gaia_memory.transfer.export_format import ImportedFact
from gaia_memory.transfer.merge_people import PeopleMixin
from gaia_memory.transfer.transfer import Progress, Transfer
from gaia_memory.truth.fact_editing import FactEditingMixin

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.store import StoreRow

__all__ = ["Mem0Rows", "MoveInMixin", "open_foreign_store", "read_rows"]

MEM0_ORIGIN = "mem0"
"""The `origin_scope` of what came from such a store: no partition, as each has a colon or is a digest."""

_OF_MEM0 = frozenset(
    {"data", "hash", "text_lemmatized", "user_id", "agent_id", "run_id", "created_at", "updated_at", "expiration_date"}
    | {WRITER_KEY}
)
"""What of a payload is no metadata of the fact."""


@dataclass(frozen=True, slots=True)
class Mem0Rows:
    """What the rows of a store are here.

    `counts` are those of each user; `left_out` counts rows without a user, by their owner, and metadata and times that
    do not fit, by their names; `refused` has the rows that may not be kept, and why.
    """

    facts: dict[str, list[ImportedFact]] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)


def read_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], *, user: str | None, allow_numbers: bool) -> Mem0Rows:
    """Return the facts of all users, or of one, as they may be kept; `allow_numbers` is `memory.allow_numbers`."""
    read, seen = Mem0Rows(), set[tuple[str, str, datetime | None]]()
    for row_id, payload in rows:
        owner = str(payload.get("user_id") or "")
        if not owner:
            named = " ".join(f"{name}={payload[name]}" for name in ("agent_id", "run_id") if payload.get(name))
            read.left_out[f"rows without user_id, {named}" if named else "rows without user_id"] += 1
        if not owner or user not in (None, owner):
            continue
        counts = read.counts.setdefault(owner, Counter(rows=0, facts=0))
        counts["rows"] += 1
        try:
            draft = screen_draft(_read_draft(row_id, payload, read.left_out), allow_numbers=allow_numbers)
        except InvalidInputError as error:
            read.refused.append((f"row {row_id} of {owner}", str(error)))
            continue
        # mem0 stores the same words again and again; said at another time they are a further source.
        saying = owner, normal_hash(draft.fact.text), draft.fact.said_at
        if saying not in seen:
            seen.add(saying)
            counts["facts"] += 1
            read.facts.setdefault(owner, []).append(ImportedFact((draft,), row_id))
    return read


class MoveInMixin(FactEditingMixin, PeopleMixin):
    """The part of `Memory` that takes over what another mem0 program stored."""

    @property
    @abstractmethod
    def _transfer(self) -> Transfer:
        """What imports facts."""

    async def take_in(self, rows: Sequence[StoreRow]) -> int:
        """Make unconfirmed facts of what another program wrote to the mem0 store; return how many rows are left.

        Those of nobody known here and those that no fact may be are, and all while `memory.vector_store.accept` is off.
        A row under the id of a fact is its correction. What was forgotten or says what a fact says leaves the store.
        """
        if not (self.config.memory.enabled and self.config.memory.vector_store.accept):
            return len(rows)
        transfer, scopes = self._transfer, {scope.mem0_user_id: scope for scope in await self.scopes()}
        stores, taken = transfer.stores, set[str]()
        async with stores.database.read_transaction() as tx:
            known = await stores.outbox.load_facts(tx, [row.id for row in rows])
        for row in rows:
            owner = scopes.get(str(row.payload.get("user_id")))
            if row.id in known:
                await self._correct(known[row.id].fact.scope, row)
                taken.add(row.id)
            elif owner is not None:
                read = read_rows([(row.id, row.payload)], user=None, allow_numbers=transfer.allow_numbers)
                for fact in itertools.chain.from_iterable(read.facts.values()):
                    await transfer.import_parsed(owner, [_unconfirmed(fact)])
                    taken.add(row.id)
        async with stores.database.transaction() as tx:
            # What became no fact under its id leaves the store, and a correction that was refused is written over.
            await stores.outbox.mark(tx, taken)
        return len(rows) - len(taken)

    async def _correct(self, scope: Scope, row: StoreRow) -> None:
        async with self.stores.database.read_transaction() as tx:
            [is_forgotten] = await self.stores.facts.tombstones.have_tombstones(tx, scope, [row.text])
        if not is_forgotten:
            with suppress(InvalidInputError):
                await self.update(scope, row.id, text=row.text, metadata={UNCONFIRMED_KEY: True}, actor="mem0")

    async def move_in(
        self,
        store: ForeignStore,
        rows: Mem0Rows,
        scope_of: Callable[[str], Scope],
        *,
        restore_forgotten: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> None:
        """Store the facts of `rows` that no earlier call stored, whole or killed; add to their `counts`.

        A hundred are written at a time. What came before is known by the id of its row, also once it has changed here.
        What a scope forgot stays forgotten, unless `restore_forgotten` is set.
        """
        transfer, done, total = self._transfer, 0, sum(map(len, rows.facts.values()))
        stores, identity = transfer.stores, transfer.embedder.identity
        for user, facts in rows.facts.items():
            scope, counts, ids = scope_of(user), rows.counts[user], [fact.id or "" for fact in facts]
            async with stores.database.read_transaction() as tx:
                known = await stores.facts.provenance.known_origins(tx, scope, MEM0_ORIGIN, ids)
            new = [fact for fact in facts if fact.id not in known]
            counts.update(known=len(known), imported=0, with_vector=0)
            done += len(known)
            for start in range(0, len(new), EMBED_BATCH_SIZE):
                progress(done, total)
                batch = new[start : start + EMBED_BATCH_SIZE]
                # The vector of a text that was masked is that of the credential, too.
                vectors = await store.vectors(
                    [each.id or "" for each in batch if not masked_kinds(each.text)], identity
                )
                batch = [_with_vector(fact, vectors.get(fact.id or "", ()), identity) for fact in batch]
                counts["imported"] += await transfer.import_parsed(scope, batch, restore_forgotten=restore_forgotten)
                counts["with_vector"] += sum(fact.drafts[0].vector is not None for fact in batch)
                done += len(batch)
        progress(done, total)


def _unconfirmed(fact: ImportedFact) -> ImportedFact:
    draft = fact.drafts[0]
    new = replace(draft.fact, metadata={**draft.fact.metadata, UNCONFIRMED_KEY: True})
    return replace(fact, drafts=(replace(draft, fact=new, source="mem0", is_imported=False),))


def _with_vector(fact: ImportedFact, vector: Sequence[float], identity: str) -> ImportedFact:
    values = np.asarray(vector, np.float32)
    length = float(np.linalg.norm(values))
    if not 0.0 < length < np.inf:
        return fact
    # An embedder that was not asked yet does not know its dimensions.
    embedder = f"{identity.rpartition('/')[0]}/{len(values)}"
    draft = replace(fact.drafts[0], vector=array("f", (values / length).tobytes()), embedder=embedder)
    return replace(fact, drafts=(draft,))


def _read_draft(row_id: str, payload: Mapping[str, Any], left_out: Counter[str]) -> Draft:
    created, updated = (_read_time(payload, name, left_out) for name in ("created_at", "updated_at"))
    said_at = updated or created
    fact = NewFact(
        payload.get("data"),  # type: ignore[arg-type]  # it is checked there
        said_at=said_at,
        first_said_at=None if created == said_at else created,
        # mem0 shows a fact until the end of this day, in UTC.
        valid_until=_read_time(payload, "expiration_date", left_out, after=timedelta(days=1)),
        agent=payload.get("agent_id"),
        session_id=payload.get("run_id"),
        metadata=_read_metadata(payload, left_out),
    )
    draft = Draft(fact=fact, source="import", is_imported=True, origin_scope=MEM0_ORIGIN, origin_id=row_id)
    with suppress(ValueError):
        draft = replace(draft, fact_id=row_id if str(UUID(row_id)) == row_id else None)
    return replace(draft, noted_at=created, created_at=created, updated_at=updated)


def _read_time(
    payload: Mapping[str, Any], name: str, left_out: Counter[str], after: timedelta = timedelta()
) -> datetime | None:
    """Return the time `after` one of a payload; one without a zone is in UTC."""
    if (value := payload.get(name)) is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value)) + after
        return require_time(name, moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        left_out[name] += 1
        return None


def _read_metadata(payload: Mapping[str, Any], left_out: Counter[str]) -> dict[str, Scalar]:
    """Return what of a payload is metadata within their bounds; names that facts use themselves begin with `mem0_`."""
    metadata: dict[str, Scalar] = {}
    for given, value in payload.items():
        if given not in _OF_MEM0 and value is not None:
            name = f"mem0_{given}" if given in RESERVED_METADATA else given
            try:
                metadata = dict(NewFact("-", metadata={**metadata, name: value}).metadata)
            except InvalidInputError:
                left_out[f"metadata {given}"] += 1
    return metadata
