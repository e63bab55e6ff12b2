"""Takes a person's memory out as data and in again.

The data carries no vectors: they are made anew where it comes in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gaia_memory.learn.embed_drafts import embed_drafts
from gaia_memory.models import Draft, Scope, SessionKey
from gaia_memory.ports import Clock, Database, Embedder, FactStore, Ledger, Transaction
from gaia_memory.transfer.export_format import Imported, read, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Gives a person's memory out as data and takes it in again."""

    database: Database
    facts: FactStore
    ledger: Ledger
    embedder: Embedder
    clock: Clock

    async def give(self, scope: Scope) -> dict[str, Any]:
        """Return everything that is held about a person, as one moment saw it."""
        async with self.database.reading() as tx:
            facts = await self.facts.facts(tx, scope)
            origins = await self.facts.origins(tx, scope)
            profile = await self.facts.cached_profile(tx, scope)
            pending = await self.ledger.pending(tx, user=scope.user, app=scope.app)
        held = [(fact, origins.get(fact.id, [])) for fact in facts]
        return written(scope, held, profile, pending, now=self.clock.now())

    async def take(self, scope: Scope, data: Mapping[str, Any], *, restore_forgotten: bool) -> int:
        """Store the facts of `data` and return how many were written or confirmed, all or none.

        What this scope has forgotten stays forgotten unless `restore_forgotten` is set: single facts by their
        tombstones, after everything was forgotten all that was noted before, and of a conversation that was forgotten
        what it had taught by then.
        """
        imported = read(data)
        if not restore_forgotten:
            async with self.database.reading() as tx:
                imported = await self._unforgotten(tx, scope, imported)
        ready = await self._with_vectors(scope, imported)
        async with self.database.transaction() as tx:
            if restore_forgotten:
                await self.facts.unbury(tx, scope, [item.text for item in ready])
            else:
                ready = await self._unforgotten(tx, scope, ready)
            drafts = [draft for item in ready for draft in item.drafts]
            stored = await self.facts.write(tx, scope, drafts, now=self.clock.now())
        return len({fact.id for fact in stored})

    async def _with_vectors(self, scope: Scope, imported: Sequence[Imported]) -> list[Imported]:
        """Embed what is not here with a vector of this embedder already: who imports twice does not pay twice."""
        async with self.database.reading() as tx:
            known = await self.facts.embedded(tx, scope, [item.text for item in imported], self.embedder.identity)
        # One vector a fact is enough; its further sources need none. One that is forgotten meanwhile gets its later.
        wanting = [item.drafts[0] for item, is_known in zip(imported, known, strict=True) if not is_known]
        made = iter(await embed_drafts(self.embedder, wanting))
        return [
            item if is_known else replace(item, drafts=(next(made), *item.drafts[1:]))
            for item, is_known in zip(imported, known, strict=True)
        ]

    async def _unforgotten(self, tx: Transaction, scope: Scope, imported: Sequence[Imported]) -> list[Imported]:
        state = await self.facts.state(tx, scope)
        buried = await self.facts.buried(tx, scope, [item.text for item in imported])
        until = state.forgotten_at
        talk = await self.ledger.forgotten_talk(tx, user=scope.user, app=scope.app)
        kept = [
            replace(item, drafts=tuple(draft for draft in item.drafts if not _was_forgotten(draft, scope, talk)))
            for item, gone in zip(imported, buried, strict=True)
            if not gone and (until is None or item.created_at is None or item.created_at.timestamp() > until)
        ]
        return [item for item in kept if item.drafts]


def _was_forgotten(draft: Draft, scope: Scope, talk: Mapping[SessionKey, float]) -> bool:
    """Say whether a source is a conversation that was forgotten since, as far as the data says when that was."""
    app, session = draft.app or scope.app, draft.fact.session_id
    borders = [until for key, until in talk.items() if key.session == session and app in (None, key.app)]
    taught = draft.fact.said_at or draft.created_at
    return bool(borders) and (taught is None or taught.timestamp() <= max(borders))
