"""Writes facts that a person, a host or a model wants kept word for word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gaia_memory.learn.embed_drafts import EMBED_TIMEOUT_SECONDS, embed_drafts
from gaia_memory.learn.forget_guard import reject_forgotten
from gaia_memory.log import logger_for
from gaia_memory.models import AddResult, Draft, Origin, Scope, SessionKey, UserStatement
from gaia_memory.ports import Clock, Embedder, MemoryStores
from gaia_memory.telemetry import log_fields, memory_span

logger = logger_for(__name__)

REMEMBER_EMBED_TIMEOUT_SECONDS = 5.0
"""How long a fact that is remembered in a turn waits for its vector; after that the vector follows later."""


async def write_verbatim(
    stores: MemoryStores,
    embedder: Embedder,
    clock: Clock,
    scope: Scope,
    drafts: Sequence[Draft],
    *,
    user_statement: UserStatement | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AddResult:
    """Write drafts with their vectors and remove the tombstones of their texts; all or none.

    Raises:
        InvalidInputError: a text was forgotten, and `user_statement`, if there is one, does not mention it.
    """
    is_remembered = all(draft.source == "remember" for draft in drafts)
    seconds = REMEMBER_EMBED_TIMEOUT_SECONDS if is_remembered else EMBED_TIMEOUT_SECONDS
    texts = [draft.fact.text for draft in drafts]
    with memory_span("create_memory", scope) as span:
        embedded = await embed_drafts(embedder, drafts, timeout_seconds=seconds, progress=progress)
        async with stores.database.transaction() as tx:
            if user_statement is not None:
                await reject_forgotten(stores.facts, tx, scope, texts, user_statement)
            await stores.facts.remove_tombstones(tx, scope, texts)
            written = await stores.facts.write(tx, scope, embedded, now=clock.now())
        span.record_facts(written)
    logger.debug("%d facts were kept", len(written), extra=log_fields("memory.kept", scope, facts=len(written)))
    return written


async def attribute(stores: MemoryStores, scope: Scope, draft: Draft, origin: Origin) -> Draft:
    """Return a draft attributed to the conversation of `origin`, if the ledger knows it.

    Other conversations, such as the temporary one of an agent that is called as a tool, are soon gone.
    """
    draft = replace(draft, app=origin.app)
    if origin.session_id is None or origin.app is None:
        return draft
    async with stores.database.read_transaction() as tx:
        row = await stores.ledger.row(tx, SessionKey(origin.app, scope.user, origin.session_id))
    if row is None:
        return draft
    return replace(draft, fact=replace(draft.fact, session_id=origin.session_id), event_ids=origin.event_ids)
