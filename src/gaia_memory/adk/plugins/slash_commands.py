"""Slash commands in any Runner: parsed, answered, and left out of every later request.

ADK stores a text that is typed in a live session (`run_live`) before it asks a plugin, and a live session is one run.
So such commands are answered in place of the model, and what must not be learned is excluded by its id at once; what is
spoken gets the metadata of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import is_private
from gaia_memory.adk.plugins.run_events import clear_metadata, message_event, set_metadata
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, PRIVATE_KEY, indices_with_key, live_events
from gaia_memory.commands.command import ActiveContext, Call, ResetOutcome
from gaia_memory.commands.dispatch import COMMANDS, parse, run
from gaia_memory.commands.private import COMMAND as PRIVATE
from gaia_memory.commands.private import private_message
from gaia_memory.database.bounded_waits import DatabaseWaits, unlimited_waits
from gaia_memory.language.printable_text import remove_hidden
from gaia_memory.log import logger_for
from gaia_memory.models import LearnedFacts
from gaia_memory.redaction.redact_locations import redact_locations

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest

    from gaia_memory.adk.plugins.invocation_state import InvocationState
    from gaia_memory.engine import Engine
    from gaia_memory.errors import GaiaMemoryError
    from gaia_memory.models import SessionKey


logger = logger_for(__name__)

UNAVAILABLE_ANSWER = "Memory cannot answer right now. Nothing was changed; please try again in a while."
UNAVAILABLE_BECAUSE = "Memory cannot answer right now, and nothing was changed:"
"""The answers to a slash command when memory fails, without and with a reason."""

NOT_ALONE = "In a live session I cannot keep a single message private. Type /private on first, then say it again."


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to a command, and whether to clear the session after its run."""

    text: str
    clears_session: bool = False


def parse_command(message: types.Content | None, *, has_open_question: bool = False) -> tuple[str, str] | None:
    """Return the name and argument of a known command, if it is all the text of a message.

    With `has_open_question`, a bare no or yes is the command that answers it.

    Attachments are ignored. Unknown commands are left to the host or the model.
    """
    parts = (message.parts if message else None) or []
    if any(part.thought or part.function_call or part.function_response for part in parts):
        return None
    parsed = parse("".join(part.text or "" for part in parts), has_open_question=has_open_question)
    return parsed if parsed and parsed[0] in COMMANDS else None


def parse_message(
    message: types.Content | None, engine: Engine | None, key: SessionKey
) -> tuple[tuple[str, str] | None, str | None]:
    """Return the command of a message, and the text of `/private TEXT`, which is a turn and not a command."""
    has_open_question = engine is not None and engine.pending_confirmations.has_open_question(key)
    command = parse_command(message, has_open_question=has_open_question)
    private_text = private_message(*command) if command is not None else None
    return (command, None) if private_text is None else (None, private_text)


def with_text(message: types.Content, text: str) -> types.Content:
    """Return a message with its text replaced and its attachments kept."""
    attached = [part for part in message.parts or [] if not part.text]
    return message.model_copy(update={"parts": [types.Part(text=text), *attached]})


def build_call(
    engine: Engine,
    key: SessionKey,
    argument: str,
    reset: Callable[[], Awaitable[ResetOutcome]],
    *,
    learned: LearnedFacts,
    context: ActiveContext,
    is_admin: bool = False,
) -> Call:
    """Return the call of a command in a conversation; admins in `people:` are admins in any case.

    `reset` adds the facts that it learns to `learned`.
    """
    person = engine.config.people.users.get(key.user)
    return Call(
        scope=engine.scope(key.app, key.user),
        key=key,
        argument=argument,
        memory=engine.memory,
        flags=engine.conversations,
        pending_confirmations=engine.pending_confirmations,
        settings=engine.live,
        context=context,
        is_admin=is_admin or (person is not None and person.admin),
        reset=reset,
        learned=learned,
    )


def drop_hidden(events: Sequence[Event], reset_at: float | None, workflow_id: str) -> list[Event]:
    """Return the events for requests: without slash commands and what was said before a reset.

    Of that the calls stay that are answered later, and all of the invocation `workflow_id`, whose nodes resume from it.
    """
    remaining = drop_commands(events)
    if reset_at is None:
        return remaining
    shown: list[Event] = []
    answered: set[str | None] = set()
    for event in reversed(live_events(remaining)):
        if event.invocation_id == workflow_id or not _begins_by(event, reset_at):
            answered |= {response.id for response in event.get_function_responses()}
            shown.append(event)
        elif calls := [part for part in _parts(event) if part.function_call and part.function_call.id in answered]:
            shown.append(event.model_copy(update={"content": types.Content(role="model", parts=calls)}))
    return shown[::-1]


def _begins_by(event: Event, until: float) -> bool:
    """Return True if an event, or what a summary is about, begins by a time, in microseconds as databases keep it."""
    compaction = event.actions.compaction
    begin = event.timestamp if compaction is None else compaction.start_timestamp
    return round(begin * 1e6) <= round(until * 1e6)


def _parts(event: Event) -> Sequence[types.Part]:
    return (event.content.parts if event.content else None) or []


def drop_commands(events: Sequence[Event]) -> list[Event]:
    """Return the events without the turns of slash commands.

    A command's turn that is the target of a rewind is emptied instead of dropped: ADK ignores a rewind with a missing
    target, and would restore the rewound events.
    """
    command_indices = indices_with_key(events, COMMAND_KEY)
    if not command_indices:
        return list(events)
    targets = {event.actions.rewind_before_invocation_id for event in events}
    remaining = []
    for index, event in enumerate(events):
        if index not in command_indices:
            remaining.append(event)
        elif event.invocation_id in targets:
            remaining.append(event.model_copy(update={"content": None}))
    return remaining


async def answer_command(
    engine: Engine | None,
    key: SessionKey,
    name: str,
    argument: str,
    *,
    context: ActiveContext,
    open_error: GaiaMemoryError | None = None,
    lease_owner: str = "",
    waits: DatabaseWaits | None = None,
) -> CommandAnswer:
    """Return the answer to a command, even if memory is unavailable: the command must not be sent to the model.

    `open_error` is why the engine could not be opened; its file locations are left out of the answer. `lease_owner` is
    the owner of the lease meanwhile, and `waits` are those of its turn. A reset learns at once, so that its answer is
    true, and clears after the run: ADK still appends the command's own events to the loaded session.
    """
    if engine is None:
        reason = "" if open_error is None else remove_hidden(redact_locations(str(open_error)))
        return CommandAnswer(f"{UNAVAILABLE_BECAUSE} {reason}" if reason else UNAVAILABLE_ANSWER)
    clears_session = False
    learned = LearnedFacts()

    async def reset() -> ResetOutcome:
        nonlocal clears_session
        with unlimited_waits():
            outcome = (
                await engine.consolidate(key, clear=False, turn_owner=lease_owner, learned=learned)
                if engine.is_learning_enabled
                else "learned"
            )
        if outcome != "learned":
            return "failed" if outcome == "failed" else "busy"
        clears_session = True
        return "cleared"

    with ErrorBoundary(f"/{name}"):
        call = build_call(engine, key, argument, reset, learned=learned, context=context)
        reply = await (waits or DatabaseWaits()).run(run(name, call))
        return CommandAnswer(reply.text, clears_session)
    return CommandAnswer(UNAVAILABLE_ANSWER)


def is_live(run: InvocationContext) -> bool:
    """Return True for an agent with a live connection; ADK runs one that answers once without it."""
    return run.live_request_queue is not None and getattr(run.agent, "mode", None) != "single_turn"


def warn_of_live_session() -> None:
    """Say what memory does not do in a live session."""
    logger.warning(
        "a live session has no profile, notes or tools of MemoryPlugin: ADK connects before it asks plugins. It is "
        "learned, and typed commands are answered; list a MemoryToolset in the agent for tools"
    )


async def answer_typed_text(
    engine: Engine | None,
    turn: InvocationState,
    run: InvocationContext,
    request: LlmRequest,
    answer: Callable[[tuple[str, str]], Awaitable[str]],
) -> LlmResponse | None:
    """Return the answer to a command typed in a live session; None leaves a text to the model.

    A command and a private message are excluded from learning by their ids.
    """
    event, outer = message_event(run), turn.context() or run
    if event is None or request.contents != [event.content]:
        # Spoken, or a fragment; ADK stores neither like this.
        return None
    command, private_text = parse_message(event.content, engine, turn.key)
    is_command = command is not None or private_text is not None
    if engine is not None and (is_command or is_private(outer)):
        with ErrorBoundary("excluding a text of a live session"):
            await DatabaseWaits().run(engine.conversations.skip_events(turn.key, [event.id]))
    if not is_command:
        return None
    name = PRIVATE.name if command is None else command[0]
    was_private = name == PRIVATE.name and await _is_private(engine, turn)
    text = NOT_ALONE if command is None else await answer(command)
    if name == PRIVATE.name and (is_now := await _is_private(engine, turn)) != was_private:
        _mark_private(turn, outer, is_now=is_now)
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, custom_metadata={COMMAND_KEY: name})


async def _is_private(engine: Engine | None, turn: InvocationState) -> bool:
    with ErrorBoundary("looking whether a live session is private"):
        return engine is not None and await DatabaseWaits().run(engine.conversations.is_private(turn.key))
    return True


def _mark_private(turn: InvocationState, run: InvocationContext, *, is_now: bool) -> None:
    """Give the later events of a run, and its tools, the metadata of a private one or of one that is not."""
    if is_now:
        set_metadata(run, PRIVATE_KEY, True)
    else:
        clear_metadata(run, PRIVATE_KEY)
    if turn.lease is not None:
        turn.lease.is_turn_private = turn.lease.is_turn_private and is_now
