"""Excerpts: the beginning of what a person said, kept with a source as evidence of a fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models import Draft, NewFact, Scope
from gaia_memory.ports import Transaction
from gaia_memory.redaction.credentials import cut_text, is_all_masked, mask_credentials

if TYPE_CHECKING:
    from gaia_memory.facts.tombstones import Tombstones

MAX_EXCERPT_CHARACTERS = 200

_EPOCH = datetime.fromtimestamp(0, UTC)
_SCREENED_CHARACTERS = 10 * MAX_EXCERPT_CHARACTERS
"""A credential that the excerpt would cut is recognised by what follows."""


def excerpt_of(message: str) -> str | None:
    """Return the first characters of a message with credentials masked; None if nothing else is left of it."""
    masked = mask_credentials(replace_unstorable(message).strip()[:_SCREENED_CHARACTERS])
    excerpt = cut_text(masked, MAX_EXCERPT_CHARACTERS).rstrip()
    return None if is_all_masked(excerpt) else excerpt or None


async def without_forgotten_excerpts(
    tombstones: Tombstones, tx: Transaction, scope: Scope, drafts: Sequence[Draft], *, gone: Iterable[Draft]
) -> list[Draft]:
    """Return the drafts; an excerpt that may hold forgotten words is left out.

    It shares an event with a draft that is `gone` because it was forgotten, or repeats a forgotten fact itself.
    """
    gone_events = {event_id for draft in gone for event_id in draft.event_ids}
    claims = dict.fromkeys(_claim(draft) for draft in drafts if draft.excerpt)
    new_facts = [NewFact(excerpt, said_at=said_at) for excerpt, said_at in claims]
    repeats_forgotten = dict(zip(claims, await tombstones.paraphrases_forgotten(tx, scope, new_facts), strict=True))
    return [
        replace(draft, excerpt=None)
        if repeats_forgotten.get(_claim(draft)) or not gone_events.isdisjoint(draft.event_ids)
        else draft
        for draft in drafts
    ]


def _claim(draft: Draft) -> tuple[str, datetime]:
    """Return an excerpt with when it was said; without a time, as if before every forgetting."""
    return draft.excerpt or "", draft.fact.said_at or draft.created_at or _EPOCH
