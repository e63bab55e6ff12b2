"""Live sessions (`run_live`): ADK connects before it asks a plugin, and shows plugins each text that arrives later.

ADK stores a typed text before that, and a live session is one run. So commands are answered in place of the model, and
what must not be learned is excluded by its id at once; what is spoken gets the metadata of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.run_context import clear_metadata, is_private, message_event, set_metadata
from gaia_memory.adk.plugins.slash_commands import parse_message
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, PRIVATE_KEY
from gaia_memory.commands.private import COMMAND as PRIVATE
from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest

    from gaia_memory.adk.plugins.invocation_state import InvocationState
    from gaia_memory.engine import Engine

logger = logger_for(__name__)

NOT_ALONE = "In a live session I cannot keep a single message private. Type /private on first, then say it again."


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
