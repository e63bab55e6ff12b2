"""What the models of a person's running sessions are told: profile, due facts, and the search for the last message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gaia_memory.adk.plugins.turn_notes import build_notes, local_time, select_due
from gaia_memory.models import Fact, Hit, Turn
from gaia_memory.profile.session_profiles import SessionProfile
from gaia_memory.server.fact_json import hit_to_json, to_plain
from gaia_memory.server.routes.person import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrompt:
    """What one session was told.

    `shown` are the facts that tools and turn notes have shown it. No prompt is stored: what a search for its last
    message finds and leaves out is searched for again, in what was known when the message was `said_at`, and the
    `notes` before the message are rendered again, from what was known then and still holds. Only while the message
    waits to be learned; otherwise `said_at` is None.
    """

    profile: SessionProfile
    shown: Sequence[Fact]
    due: Sequence[Fact]
    said_at: datetime | None = None
    notes: str = ""
    recalled: Sequence[Hit] = ()
    left_out: Sequence[Hit] = ()


async def read_prompts(person: Person) -> list[SessionPrompt]:
    """Return what the models of running sessions are told about a person."""
    return [
        await _with_last_search(person, SessionPrompt(profile=profile, shown=shown, due=due))
        for due in [await person.memory.due(person.scope)]
        for profile in await person.memory.session_profiles(person.scope)
        for shown in [await person.shown_facts(profile.key)]
    ]


def prompt_to_json(prompt: SessionPrompt, person: Person) -> dict[str, Any]:
    """Return it as data for JSON."""
    profile = prompt.profile
    recalled, left_out = (
        [hit_to_json(hit, allow_numbers=person.allow_numbers) for hit in hits]
        for hits in (prompt.recalled, prompt.left_out)
    )
    last_message = {
        "said_at": to_plain(prompt.said_at),
        "notes": prompt.notes,
        "recalled": recalled,
        "left_out": left_out,
    }
    return {
        "session_id": profile.key.session,
        "app": profile.key.app,
        "profile": profile.block,
        "made_by": profile.made_by,
        "made_at": to_plain(profile.made_at),
        "is_current": profile.is_current,
        "due": [person.to_json(fact) for fact in prompt.due],
        "shown_facts": [person.to_json(fact) for fact in prompt.shown],
        "last_message": None if prompt.said_at is None else last_message,
    }


async def _with_last_search(person: Person, prompt: SessionPrompt) -> SessionPrompt:
    turn = await person.gaia.engine.last_waiting_turn(prompt.profile.key)
    if turn is None or not turn.user_text:
        return prompt
    said_at = turn.messages[0].said_at
    found = await person.memory.explain(
        person.scope, turn.user_text, context=turn.context, as_of=said_at, known_at=said_at
    )
    notes = await _render_notes(person, prompt, turn, found.hits)
    return replace(prompt, said_at=said_at, notes=notes, recalled=found.hits, left_out=found.dropped)


async def _render_notes(person: Person, prompt: SessionPrompt, turn: Turn, hits: Sequence[Hit]) -> str:
    """Return the notes before a message as the facts that still hold give them; empty if they are switched off."""
    settings, said_at = person.gaia.config.memory, turn.messages[0].said_at
    if not settings.tail_tokens:
        return ""
    due = select_due([fact for fact in prompt.due if fact.created_at <= said_at], turn.context)
    due_ids = {fact.id for fact in due}
    recalled = [hit.fact for hit in hits if settings.preload_facts and hit.fact.id not in due_ids]
    now = local_time(said_at, said_at.tzinfo or UTC, settings)
    ids = [fact.id for fact in (*due, *recalled)]
    short_ids = await person.short_ids(prompt.profile.key, ids)
    return build_notes(settings, now=now, context=turn.context, due=due, recalled=recalled, short_ids=short_ids).text
