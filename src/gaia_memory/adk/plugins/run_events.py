"""What stands in the events of one run: the person's message, our metadata, and the times that keep them in order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.platform import time as platform_time

from gaia_memory.adk.sessions.event_mapping import (
    CLOCK_LAG_KEY,
    PRIVATE_KEY,
    is_typed_message,
    metadata_keys,
    said_at,
    turns_of,
)
from gaia_memory.language.agreements import is_agreement
from gaia_memory.models import UNCONFIRMED_KEY, UserStatement

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.events.event import Event
    from google.genai import types

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

_TICK_SECONDS = 1e-6


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


def statement_of(run: ReadonlyContext) -> UserStatement:
    """Return the person's message in a run, with the time from which on the model sees messages."""
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
        tool_answers=tool_answers_of(events),
        agreed_to=earlier_turns[-1].agent_text if earlier_turns and is_agreement(text) else "",
    )


def tool_answers_of(events: Sequence[Event]) -> tuple[str, ...]:
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


def outcome_of(tool_name: str, result: object) -> str:
    """Return what became of a call of a tool: `ok`, of a search of memory `found` or `nothing`, or a kind of error."""
    if isinstance(result, BaseException):
        return type(result).__name__
    answer: Mapping[str, object] = result if isinstance(result, Mapping) else {}
    if tool_name in MEMORY_TOOLS and answer.get("status", "success") == "success" and "memories" in answer:
        return "found" if answer["memories"] else "nothing"
    is_error = answer.get("error") or answer.get("isError") or answer.get("status") in ("error", "unavailable")
    return "error" if is_error else "ok"


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


def answers_private_call(events: Sequence[Event], message: types.Content | None) -> bool:
    """Return True if a message answers a call of a private turn, which makes the answer private too."""
    responses = [part.function_response for part in (message.parts if message else None) or []]
    answered_ids = {response.id for response in responses if response}
    private_events = [event for event in events if PRIVATE_KEY in metadata_keys(event)]
    return any(call.id in answered_ids for event in private_events for call in event.get_function_calls())


class ShiftedClock:
    """ADK's clock for one run, ahead of the real one until the run ends."""

    def __init__(self, real_time: Callable[[], float], lag_seconds: float) -> None:
        self.real_time = real_time
        self.lag_seconds = lag_seconds

    def __call__(self) -> float:
        """Return the time in seconds since the epoch."""
        return self.real_time() + self.lag_seconds

    def stop(self) -> None:
        """Show the real time again: the caller of the run may keep this clock in its context."""
        self.lag_seconds = 0.0


def shift_clock(invocation: InvocationContext, after: float) -> ShiftedClock | None:
    """Make ADK date the run's later events after `after`; None, without a shift, if the clock is not behind.

    Metadata on the events tells by how much, so that the time of a message is known.
    """
    # The attribute is private and may not exist in every version of ADK.
    provider = getattr(platform_time, "_time_provider_context_var", None)
    if provider is None:
        return None
    current = provider.get()
    real_time = current.real_time if isinstance(current, ShiftedClock) else current
    lag_seconds = after + _TICK_SECONDS - real_time()
    if lag_seconds <= 0:
        if current is not real_time:
            # A cancelled run left its clock here.
            platform_time.set_time_provider(real_time)
        return None
    clock = ShiftedClock(real_time, lag_seconds)
    platform_time.set_time_provider(clock)
    set_metadata(invocation, CLOCK_LAG_KEY, lag_seconds)
    return clock


def keep_order(event: Event, invocation: InvocationContext) -> None:
    """Date an event after the newest one of the session: the clock may have been set back in the middle of a run."""
    if invocation.session.events:
        event.timestamp = max(event.timestamp, invocation.session.events[-1].timestamp + _TICK_SECONDS)
