"""The tools `remember` and `load_memory`, as a model sees and calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from typing_extensions import override

from gaia_memory.adk.engine_source import EngineSource
from gaia_memory.adk.fact_framing import DATA_NOTE, render_hits
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.run_context import current_message, is_private, may_be_private, outer_invocation
from gaia_memory.errors import InvalidInputError, MemoryDisabledError, MemoryUnavailable
from gaia_memory.learn.excerpts import excerpt_of
from gaia_memory.learn.tool_statements import require_keepable_statement
from gaia_memory.log import logger_for
from gaia_memory.models import NewFact, Origin, Scope, UserStatement
from gaia_memory.models.validation import require_text
from gaia_memory.profile.fence import escape_for_prompt

if TYPE_CHECKING:
    from gaia_memory.engine import Engine

logger = logger_for(__name__)

MEMORY_DISABLED = "memory is disabled"
NOT_SAVED = "memory cannot save this now: tell the user that it was not saved"
NO_ANSWER = "memory cannot answer now: tell the user, and do not guess"
UNAVAILABLE_RESPONSE = {"status": "unavailable", "message": NO_ANSWER, "memories": []}
WRITES_REFUSED = "this memory does not let you save anything: tell the user that it was not saved"
CONFIRMATION_REQUIRED = (
    "not saved yet: ask the user whether you may remember exactly this; it is saved if their next message says yes and "
    "nothing else"
)
PRIVATE_TURN = "this turn is private: nothing in it is saved"


def memory_tools(source: EngineSource) -> list[BaseTool]:
    """Return the two tools, bound to the engine of `source`.

    They do not use the Runner's memory service, so they work inside an AgentTool too: its Runner has an empty one.
    """
    functions = _ToolFunctions(source)
    return [_RememberTool(functions.remember), FunctionTool(functions.load_memory)]


class _RememberTool(FunctionTool):
    """Accepts the fact as `text`, too, as models call it that know the tools of other memories."""

    @override
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        if "text" in args and "fact" not in args:
            args = {**args, "fact": args["text"]}
        return await super().run_async(args=args, tool_context=tool_context)


class _ToolFunctions:
    """The functions behind the tools; they always answer and never raise."""

    def __init__(self, source: EngineSource) -> None:
        self._source = source

    async def remember(self, fact: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D417 - the model reads it
        """Save one durable fact about the user to long-term memory, so that it is known in later conversations.

        Args:
            fact: The fact, as one short self-contained sentence.
        """
        logger.info("remember(fact=[filtered])")
        if is_private(tool_context):
            return _error_response(PRIVATE_TURN)
        with ErrorBoundary("remember"):
            try:
                async with self._source.use_engine() as engine:
                    user_statement = current_message(tool_context)
                    origin = _origin_of_turn(tool_context, user_statement)
                    if answer := await _hold_or_refuse(engine, str(fact), origin, user_statement):
                        return answer
                    saved = await engine.memory.remember(
                        _scope(engine, tool_context), str(fact), origin=origin, user_statement=user_statement
                    )
                return {"status": "success", "id": saved.id, "text": escape_for_prompt(saved.text)}
            except MemoryDisabledError:
                return _error_response(MEMORY_DISABLED)
            except InvalidInputError as error:
                return _error_response(str(error))
        return _error_response(NOT_SAVED)

    async def load_memory(self, query: str, tool_context: ToolContext) -> dict[str, Any]:  # noqa: D417 - the model reads it
        """Search long-term memory for what is known about the user from earlier conversations.

        Args:
            query: What to look for, in a few words or as a question.
        """
        logger.info("load_memory(query=[filtered])")
        question = str(query).strip()
        with ErrorBoundary("load_memory"):
            try:
                async with self._source.use_engine() as engine:
                    hits = await engine.memory.recall(_scope(engine, tool_context), question)
                    allow_numbers = engine.config.memory.allow_numbers
                if not question:
                    return _error_response("the query is blank: say what to look for", memories=[])
                memories = render_hits(hits, allow_numbers=allow_numbers)
                return {"status": "success", "memories": memories, **({"note": DATA_NOTE} if memories else {})}
            except MemoryDisabledError:
                return _error_response(MEMORY_DISABLED, memories=[])
            except MemoryUnavailable as error:
                if not error.is_logged:
                    logger.warning("load_memory could not answer: memory is unavailable")
        return dict(UNAVAILABLE_RESPONSE)


def _scope(engine: Engine, tool_context: ToolContext) -> Scope:
    return engine.scope(tool_context.session.app_name, tool_context.session.user_id)


async def _hold_or_refuse(
    engine: Engine, fact: str, origin: Origin, user_statement: UserStatement
) -> dict[str, Any] | None:
    """Return the answer to a call that `memory.agent_writes` does not allow to store anything; None if it may.

    Raises:
        InvalidInputError: the fact could not be stored even with a yes.
    """
    policy, turn = engine.config.memory.agent_writes, outer_invocation.get()
    if policy == "allow" or not engine.config.memory.enabled:
        return None
    if policy == "refuse" or turn is None:
        # Without a plugin nothing would notice the user's yes.
        return _error_response(WRITES_REFUSED)
    text = require_text("fact", fact).strip()
    if text in turn.confirmed_facts:
        return None
    allow_numbers = engine.config.memory.allow_numbers
    await asyncio.to_thread(require_keepable_statement, NewFact(text), user_statement, allow_numbers=allow_numbers)
    engine.pending_confirmations.hold_fact(turn.key, text, origin)
    return {"status": "confirmation_required", "message": CONFIRMATION_REQUIRED, "text": escape_for_prompt(text)}


def _origin_of_turn(tool_context: ToolContext, user_statement: UserStatement) -> Origin:
    session, turn = tool_context.session, tool_context.invocation_id
    event_ids = tuple(event.id for event in session.events if event.invocation_id == turn)
    return Origin(
        source="agent",
        app=session.app_name,
        session_id=session.id,
        event_ids=event_ids,
        turn_event_ids=event_ids,
        agent=tool_context.agent_name,
        excerpt=None if may_be_private(tool_context) else excerpt_of(user_statement.text),
    )


def _error_response(message: str, **more: Collection[Any]) -> dict[str, Any]:
    return {"status": "error", "message": message, **more}
