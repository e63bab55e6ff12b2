"""What the models of a person's running sessions are told: profile, due facts, and the search for the last message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gaia_memory.models import Fact, Hit
from gaia_memory.profile.session_profiles import SessionProfile
from gaia_memory.server.fact_json import hit_to_json, to_plain
from gaia_memory.server.routes.person import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrompt:
    """What one session was told.

    `shown` are the facts that tools and turn notes have shown it. What a search for its last message finds and leaves
    out is searched for again, in what was known when the message was `said_at`: no prompt is stored. None if no message
    waits to be learned.
    """

    profile: SessionProfile
    shown: Sequence[Fact]
    due: Sequence[Fact]
    said_at: datetime | None = None
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
    last_message = {"said_at": to_plain(prompt.said_at), "recalled": recalled, "left_out": left_out}
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
    return replace(prompt, said_at=said_at, recalled=found.hits, left_out=found.dropped)
