"""Exports and imports a user's memory. Exports contain no vectors: the import embeds the facts again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gaia_memory.drafts.embed_drafts import embed_in_scope
from gaia_memory.drafts.excerpts import without_forgotten_excerpts
from gaia_memory.drafts.hide_sensitive import hide_sensitive, may_have_become_sensitive
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.ledger.usage_log import load_usage
from gaia_memory.models import Draft, Fact, FactEnd, Origin, Scope, SessionKey, UndecidedFact
from gaia_memory.models.masked_fact import mask_fact, mask_origin
from gaia_memory.ports import Clock, Embedder, Transaction
from gaia_memory.threads import run_in_thread
from gaia_memory.transfer.export_format import History, ImportedFact, build_export, parse_export
from gaia_memory.transfer.export_values import parse_endings, used_to_dict

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

Progress = Callable[[int, int], None]
"""Called with the number of facts embedded and their total."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Exports a user's memory as data and imports it again."""

    stores: MemoryStores
    embedder: Embedder
    clock: Clock
    _: KW_ONLY
    allow_numbers: bool
    embeds_sensitive: bool

    async def export(self, scope: Scope) -> dict[str, Any]:
        """Return a consistent snapshot of everything known about a user."""
        async with self.stores.database.read_transaction() as tx:
            facts = await self.stores.facts.facts(tx, scope, all_stored=True)
            origins = await self.stores.facts.provenance.origins(tx, scope)
            past = await self.stores.facts.history.past(tx, scope)
            endings = await self.stores.facts.history.endings(tx, scope)
            wordings = await self.stores.facts.history.wordings(tx, scope)
            profile = await self.stores.facts.cached_profile(tx, scope)
            pending = await self.stores.ledger.pending(tx, user=scope.user, app=scope.app)
            used = await load_usage(tx, scope, since=0.0)
        facts_with_origins = [(fact, origins.get(fact.id, [])) for fact in facts]
        past_with_origins = [(each.fact, origins.get(fact_id, [])) for fact_id, each in past.items()]
        # Thousands of facts are masked, which takes too long for the event loop.
        current = await run_in_thread(self._masked, facts_with_origins)
        ended = await run_in_thread(self._masked, past_with_origins)
        history = History(past=ended, endings=endings, wordings=wordings)
        exported = build_export(scope, current, history, profile, pending, now=self.clock.now())
        return exported | {"usage": [used_to_dict(each) for each in used]}

    def _masked(self, facts: Sequence[tuple[Fact, Sequence[Origin]]]) -> list[tuple[Fact, list[Origin]]]:
        """Return facts and sources without the credentials that an older release stored."""
        allowed = self.allow_numbers
        return [
            (mask_fact(fact, allow_numbers=allowed), [mask_origin(each, allow_numbers=allowed) for each in origins])
            for fact, origins in facts
        ]

    async def import_facts(
        self,
        scope: Scope,
        data: Mapping[str, Any],
        *,
        restore_forgotten: bool,
        reconcile: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Store the facts of `data` and return how many were written or confirmed, all or none.

        Unless `restore_forgotten` is set, forgotten facts stay forgotten: facts with a tombstone, facts created before
        everything was forgotten, and facts that a forgotten conversation had taught by then. With `reconcile`, sweeps
        compare them with the other facts.
        """
        imported = await run_in_thread(parse_export, data, allow_numbers=self.allow_numbers)
        endings = await run_in_thread(parse_endings, data)
        return await self.import_parsed(
            scope, imported, endings, restore_forgotten=restore_forgotten, reconcile=reconcile, progress=progress
        )

    async def import_parsed(
        self,
        scope: Scope,
        imported: Sequence[ImportedFact],
        endings: Sequence[FactEnd] = (),
        *,
        restore_forgotten: bool = False,
        reconcile: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Do the same with facts that were read already, which may have their vectors."""
        # After a merge of two people, the same statement may be past and current: here it is one fact.
        current_texts = {normal_hash(item.text) for item in imported if not item.is_past}
        imported = [item for item in imported if not item.is_past or normal_hash(item.text) not in current_texts]
        if not restore_forgotten:
            async with self.stores.database.read_transaction() as tx:
                imported = await self._without_forgotten(tx, scope, imported)
        # One vector for each fact is enough.
        drafts_with_vectors = await embed_in_scope(
            self.stores.database,
            self.stores.facts,
            scope,
            self.embedder,
            [item.drafts[0] for item in imported],
            progress=progress,
            embeds_sensitive=self.embeds_sensitive,
        )
        embedded = [
            replace(item, drafts=(draft, *item.drafts[1:]))
            for item, draft in zip(imported, drafts_with_vectors, strict=True)
        ]
        async with self.stores.database.transaction() as tx:
            if restore_forgotten:
                ids = [item.id for item in embedded if item.id is not None]
                await self.stores.facts.tombstones.remove_tombstones(tx, scope, [item.text for item in embedded], ids)
            else:
                embedded = await self._without_forgotten(tx, scope, embedded)
            drafts = [draft for item in embedded for draft in item.drafts]
            stored = await self.stores.facts.writer.write(tx, scope, drafts, now=self.clock.now())
            places = accumulate((len(item.drafts) for item in embedded), initial=0)
            ids = [stored[place].id for place, _ in zip(places, embedded, strict=False)]
            await self._store_history(tx, scope, embedded, ids, endings)
            sayings = [(fact_id, "host", None) for fact_id in ids]
            await self.stores.facts.keys.settle_keys(tx, scope, sayings, now=self.clock.now())
            known = may_have_become_sensitive(stored)
            await hide_sensitive(self.stores.facts, self.stores.ledger, tx, scope, known)
            if reconcile:
                current = [fact_id for item, fact_id in zip(embedded, ids, strict=True) if not item.is_past]
                waiting = [UndecidedFact(fact_id=fact_id, app=scope.app) for fact_id in dict.fromkeys(current)]
                await self.stores.facts.comparisons.queue_undecided(tx, scope, waiting)
        return len({fact_id for item, fact_id in zip(embedded, ids, strict=True) if not item.is_past})

    async def _store_history(
        self,
        tx: Transaction,
        scope: Scope,
        imported: Sequence[ImportedFact],
        ids: Sequence[str],
        endings: Sequence[FactEnd],
    ) -> None:
        """End the imported facts as the export says; `ids` are those that they have here."""
        id_here = {item.id: fact_id for item, fact_id in zip(imported, ids, strict=True) if item.id is not None}
        ended = [
            replace(ending, fact_id=id_here[ending.fact_id], ended_by=id_here.get(ending.ended_by or ""))
            for ending in endings
            if ending.fact_id in id_here
        ]
        if ended:
            await self.stores.facts.history.end_facts(tx, scope, ended, now=self.clock.now())
        wordings = [(item.id or "", item.wording_of or "") for item in imported]
        here = {id_here[one]: id_here[other] for one, other in wordings if one in id_here and other in id_here}
        await self.stores.facts.history.note_wordings(tx, scope, here)

    async def _without_forgotten(
        self, tx: Transaction, scope: Scope, imported: Sequence[ImportedFact]
    ) -> list[ImportedFact]:
        state = await self.stores.facts.state(tx, scope)
        has_tombstone = await self.stores.facts.tombstones.have_tombstones(tx, scope, [item.text for item in imported])
        ids = [item.id for item in imported if item.id is not None]
        forgotten_ids = await self.stores.facts.tombstones.forgotten_ids(tx, scope, ids)
        forgotten_at = state.forgotten_at
        forgotten_sessions = await self.stores.ledger.forgotten_sessions(tx, user=scope.user, app=scope.app)
        remaining = [
            replace(
                item,
                drafts=tuple(draft for draft in item.drafts if not _was_forgotten(draft, scope, forgotten_sessions)),
            )
            for item, gone in zip(imported, has_tombstone, strict=True)
            if not gone
            and item.id not in forgotten_ids
            and (forgotten_at is None or item.created_at is None or item.created_at.timestamp() > forgotten_at)
        ]
        kept = [draft for item in remaining for draft in item.drafts]
        kept_ids = set(map(id, kept))
        gone = [draft for item in imported for draft in item.drafts if id(draft) not in kept_ids]
        quoting = iter(await without_forgotten_excerpts(self.stores.facts.tombstones, tx, scope, kept, gone=gone))
        remaining = [replace(item, drafts=tuple(next(quoting) for _ in item.drafts)) for item in remaining]
        return [item for item in remaining if item.drafts]


def _was_forgotten(draft: Draft, scope: Scope, forgotten_sessions: Mapping[SessionKey, float]) -> bool:
    """Return whether the source is a conversation that was forgotten after it taught the fact; unknown times count."""
    app, session = draft.app or scope.app, draft.fact.session_id
    cutoffs = [until for key, until in forgotten_sessions.items() if key.session == session and app in (None, key.app)]
    learned_at = draft.fact.said_at or draft.created_at
    return bool(cutoffs) and (learned_at is None or learned_at.timestamp() <= max(cutoffs))
