"""The run that the calling code belongs to: its leases, its tool call, its message and its events' metadata."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig

from gaia_memory.adk.sessions.event_mapping import (
    PRIVATE_KEY,
    UNMARKED_KEY,
    is_typed_message,
    metadata_keys,
    said_at,
    turns_of,
)
from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.language.agreements import is_agreement
from gaia_memory.models import UNCONFIRMED_KEY, UserStatement

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types

    from gaia_memory.adk.plugins.invocation_state import InvocationState
    from gaia_memory.models import SessionKey
    from gaia_memory.sessions.turns.turn_lease import TurnLease

RECENT_TURNS = 6
"""The last turns, with the current one, in which a model's statement about the user is looked for."""

MEMORY_TOOLS = frozenset(
    (
        "remember",
        "update_memory",
        "forget_memory",
        "load_memory",
        "recall",
        "switch_context",
        "search_past_conversations",
    )
)
"""The tools of memory, whose answers are what the person said; under a prefix they count as others do."""

_MAX_ANSWER_CHARACTERS = 100_000

outer_session_service: ContextVar[BaseSessionService | None] = ContextVar("outer_session_service", default=None)
"""The session service of the run that called the current tool; a run inside that tool has another one."""

outer_invocation: ContextVar[InvocationState | None] = ContextVar("outer_invocation", default=None)
"""The run that called the current tool; an agent inside that tool serves the same user."""

running_invocation: ContextVar[InvocationState | None] = ContextVar("running_invocation", default=None)
"""The run that this code belongs to, in a tool call or not; it may have been cancelled."""

_leases: ContextVar[tuple[TurnLease, ...]] = ContextVar("leases", default=())
_tool_lease: ContextVar[TurnLease | None] = ContextVar("tool_lease", default=None)
_tool_message: ContextVar[UserStatement | None] = ContextVar("tool_message", default=None)


def current_lease(key: SessionKey) -> TurnLease | None:
    """Return the lease of a conversation that this code runs under; None if there is none."""
    return next((lease for lease in reversed(_leases.get()) if lease.key == key and not lease.is_released), None)


def current_waits(key: SessionKey) -> DatabaseWaits:
    """Return the waits of the turn that this code runs in; new ones outside of a turn.

    A turn whose lease could not be acquired is the same turn still.
    """
    lease = next((lease for lease in reversed(_leases.get()) if lease.key == key), None)
    return DatabaseWaits() if lease is None or lease.waits.is_over else lease.waits


def waits_of_turn() -> DatabaseWaits:
    """Return the waits of the turn whose tool or lease this code runs under; new ones outside of a turn."""
    if (turn := outer_invocation.get()) is not None:
        return turn.waits
    key = current_conversation()
    return DatabaseWaits() if key is None else current_waits(key)


def current_conversation() -> SessionKey | None:
    """Return the conversation whose turn this code runs in; None outside of a turn with a lease."""
    return next((lease.key for lease in reversed(_leases.get()) if not lease.is_released), None)


def lease_of_turn() -> TurnLease | None:
    """Return the lease of the turn that this code runs in; None outside, and where the turn could not be marked."""
    turn = outer_invocation.get() or running_invocation.get()
    leases = [*_leases.get(), *([turn.lease] if turn is not None and turn.lease is not None else [])]
    return next((lease for lease in reversed(leases) if not lease.is_released), None)


def is_in_turn() -> bool:
    """Return True in a turn of a Runner with memory, marked or not."""
    turn = outer_invocation.get() or running_invocation.get()
    return lease_of_turn() is not None or (turn is not None and turn.lease is None)


def enter_lease(lease: TurnLease) -> None:
    """Make everything that runs in this context from here on run under a lease, until it is released."""
    if lease not in _leases.get():
        _leases.set((*(each for each in _leases.get() if not each.is_released), lease))


def enter_tool_call(lease: TurnLease) -> None:
    """Make everything that runs in this context from here on part of a tool call of a turn."""
    _tool_lease.set(lease)


def current_context(app: str, user: str) -> str | None:
    """Return the active context of the person whose turn this code runs in; None outside of a turn of theirs."""
    turn = outer_invocation.get() or running_invocation.get()
    return None if turn is None or (turn.key.app, turn.key.user) != (app, user) else turn.active_context


def is_in_tool_of(key: SessionKey) -> bool:
    """Return True inside a tool call that a running turn of a conversation waits for."""
    lease = _tool_lease.get()
    return lease is not None and lease.key == key and not lease.is_released


def set_current_message(run: ReadonlyContext) -> None:
    """Make the user's message of this turn the current one for the tool called here and everything it runs."""
    _tool_message.set(_statement_of(run))


def current_message(run: ReadonlyContext) -> UserStatement:
    """Return the user's message of a turn, with the time from which on the model sees messages.

    An agent inside a tool gets its input from the calling agent, which may well repeat something forgotten; there the
    message of the outer turn is returned.
    """
    outer = _tool_message.get()
    if outer is None:
        return _statement_of(run)
    return replace(outer, tool_answers=(*outer.tool_answers, *_tool_answers(run.session.events)))


def message_event(run: ReadonlyContext | InvocationContext) -> Event | None:
    """Return the event of the user's last message in a run."""
    events = (event for event in reversed(run.session.events) if event.invocation_id == run.invocation_id)
    return next(filter(is_typed_message, events), None)


def new_message_event(run: InvocationContext) -> Event | None:
    """Return the event of the user's new message; None if an earlier turn is resumed."""
    last = run.session.events[-1] if run.session.events else None
    is_new = last is not None and last.author == "user" and last.invocation_id == run.invocation_id
    return last if is_new else None


def root_agent_name(run: InvocationContext) -> str | None:
    """Return the root agent's name if it is an LlmAgent; None for another kind of agent and for a Workflow."""
    # Importing it builds its schemas, which takes a tenth of a second; a host with such an agent has done so.
    from google.adk.agents.llm_agent import LlmAgent

    root = run.agent.root_agent if isinstance(run.agent, BaseAgent) else None
    return root.name if isinstance(root, LlmAgent) else None


def user_message(run: ReadonlyContext | InvocationContext) -> types.Content | None:
    """Return the user's message of a turn; ADK's `user_content` of a task is what the calling agent wrote."""
    event = message_event(run)
    return run.user_content if event is None else event.content


def message_text(run: ReadonlyContext | InvocationContext) -> str:
    """Return the text of the user's message in a turn."""
    message = user_message(run)
    return "\n".join(part.text for part in (message.parts if message else None) or [] if part.text)


def _statement_of(run: ReadonlyContext) -> UserStatement:
    text, now = message_text(run), time.time()
    events = run.session.events
    current_ids = {event.id for event in events if event.invocation_id == run.invocation_id}
    at = min((said_at(event) for event in events if event.id in current_ids), default=now)
    visible_turns = turns_of(events, turns_before=0)
    earlier_turns = [turn for turn in visible_turns if current_ids.isdisjoint(turn.event_ids)]
    return UserStatement(
        text=text,
        turn_started_at=at,
        visible_since=visible_turns[0].messages[0].said_at.timestamp() if visible_turns else now,
        recent_texts=tuple(turn.user_text for turn in visible_turns[-RECENT_TURNS:]),
        turn_id=run.invocation_id,
        earlier_turn_id=next(
            (event.invocation_id for event in reversed(events) if event.invocation_id != run.invocation_id), ""
        ),
        tool_answers=_tool_answers(events),
        agreed_to=earlier_turns[-1].agent_text if earlier_turns and is_agreement(text) else "",
    )


def _tool_answers(events: Sequence[Event]) -> tuple[str, ...]:
    """Return what tools answered in the last turns; of memory's own, only facts that nobody has confirmed."""
    recent = set(list(dict.fromkeys(event.invocation_id for event in reversed(events)))[:RECENT_TURNS])
    responses = [
        response for event in events if event.invocation_id in recent for response in event.get_function_responses()
    ]
    answers = [
        [row for row in (response.response or {}).get("memories") or [] if row.get(UNCONFIRMED_KEY)]
        if response.name in MEMORY_TOOLS
        else response.response
        for response in responses
    ]
    return tuple(
        json.dumps(answer, ensure_ascii=False, default=str)[:_MAX_ANSWER_CHARACTERS] for answer in answers if answer
    )


def set_metadata(invocation: InvocationContext, name: str, value: str | float) -> None:
    """Make ADK add metadata to every later event of this invocation; the caller's RunConfig is not changed."""
    run_config = invocation.run_config or RunConfig()
    metadata = {**(run_config.custom_metadata or {}), name: value}
    invocation.run_config = run_config.model_copy(update={"custom_metadata": metadata})


def clear_metadata(invocation: InvocationContext, name: str) -> None:
    """Make ADK leave this metadata out of later events of this invocation."""
    run_config = invocation.run_config or RunConfig()
    metadata = {key: value for key, value in (run_config.custom_metadata or {}).items() if key != name}
    invocation.run_config = run_config.model_copy(update={"custom_metadata": metadata or None})


def is_private(run: InvocationContext | ToolContext) -> bool:
    """Return True if the messages of a run are private."""
    return bool(_metadata_of(run).get(PRIVATE_KEY))


def may_be_private(run: ToolContext) -> bool:
    """Return True if the messages of a run are private, or if nobody could look that up."""
    metadata = _metadata_of(run)
    return bool(metadata.get(PRIVATE_KEY) or metadata.get(UNMARKED_KEY))


def _metadata_of(run: InvocationContext | ToolContext) -> Mapping[str, object]:
    turn = outer_invocation.get()
    outer = turn.context() if turn is not None else None
    # The tools of a live session have a copy of the run's settings, and `/private` changes these in the middle.
    config = outer.run_config if outer is not None and outer.live_request_queue is not None else run.run_config
    return (config.custom_metadata or {}) if config else {}


def answers_private_call(events: Sequence[Event], message: types.Content | None) -> bool:
    """Return True if a message answers a call of a private turn, which makes the answer private too."""
    responses = [part.function_response for part in (message.parts if message else None) or []]
    answered_ids = {response.id for response in responses if response}
    private_events = [event for event in events if PRIVATE_KEY in metadata_keys(event)]
    return any(call.id in answered_ids for event in private_events for call in event.get_function_calls())
