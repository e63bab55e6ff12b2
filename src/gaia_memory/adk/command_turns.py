"""Slash commands inside somebody's Runner: recognised, stamped, and kept from every later request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.adk.agents.run_config import RunConfig

from gaia_memory.adk.guard import Contained
from gaia_memory.adk.mapping import COMMAND_STAMP, stamped_places
from gaia_memory.commands.command import Call, Reset
from gaia_memory.commands.registry import COMMANDS, parse, run

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.genai import types

    from gaia_memory.engine import Engine
    from gaia_memory.errors import GaiaMemoryError
    from gaia_memory.models import SessionKey

UNAVAILABLE = "Memory cannot answer right now. Nothing was changed; please try again in a while."
UNAVAILABLE_BECAUSE = "Memory cannot answer right now, and nothing was changed:"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answers, and whether the session is to be cleared once its run is over."""

    text: str
    clears: bool = False


def command_in(message: types.Content | None) -> tuple[str, str] | None:
    """Return the name and argument of a known command, when that is all the text of a message.

    What is attached to it is not looked at. An unknown command is the host's own business, or the model's.
    """
    parts = (message.parts if message else None) or []
    if any(part.thought or part.function_call or part.function_response for part in parts):
        return None
    parsed = parse("".join(part.text or "" for part in parts))
    return parsed if parsed and parsed[0] in COMMANDS else None


def stamp(invocation: InvocationContext, name: str, value: str | bool) -> None:
    """Have ADK stamp every event of this invocation from now on; the caller's RunConfig is left alone."""
    run_config = invocation.run_config or RunConfig()
    metadata = {**(run_config.custom_metadata or {}), name: value}
    invocation.run_config = run_config.model_copy(update={"custom_metadata": metadata})


def without_commands(events: Sequence[Event]) -> list[Event]:
    """Return the events without the turns of slash commands.

    A command's turn to which a rewind goes back is emptied instead of dropped: ADK ignores a rewind whose
    target is missing, and would bring back what was rewound.
    """
    commands = stamped_places(events, COMMAND_STAMP)
    if not commands:
        return list(events)
    targets = {event.actions.rewind_before_invocation_id for event in events}
    kept = []
    for place, event in enumerate(events):
        if place not in commands:
            kept.append(event)
        elif event.invocation_id in targets:
            kept.append(event.model_copy(update={"content": None}))
    return kept


async def answer_command(
    engine: Engine | None, key: SessionKey, name: str, argument: str, *, trouble: GaiaMemoryError | None = None
) -> Answer:
    """Return the answer to a command, whatever happens: it must not become talk because memory is away.

    `trouble` is what kept the engine from being opened. A reset learns now, so that its answer is true. It clears
    after the run: ADK still appends the command's own events to the session it has loaded.
    """
    if engine is None:
        return Answer(UNAVAILABLE if trouble is None else f"{UNAVAILABLE_BECAUSE} {trouble}")
    clears = False

    async def reset() -> Reset:
        nonlocal clears
        outcome = await engine.consolidate(key, clear=False) if engine.learns else "learned"
        if outcome != "learned":
            return "failed" if outcome == "failed" else "busy"
        clears = engine.config.sessions.clear != "keep"
        return "cleared" if clears else "kept"

    with Contained(f"/{name}"):
        call = Call(
            scope=engine.scope(key.app, key.user),
            key=key,
            argument=argument,
            memory=engine.memory,
            enabled=engine.config.memory.enabled,
            reset=reset,
        )
        return Answer((await run(name, call)).text, clears)
    return Answer(UNAVAILABLE)
