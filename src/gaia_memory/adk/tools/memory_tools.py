"""The memory tools, as ADK offers them to a model and calls them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from typing_extensions import override

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.active_context import switch_context
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import current_run, is_private, may_be_private
from gaia_memory.adk.tools import fact_changes, fact_search, tool_declarations
from gaia_memory.adk.tools.tool_answers import (
    MEMORY_DISABLED,
    NOT_OFFERED,
    NOT_SAVED,
    PRIVATE_TURN,
    UNAVAILABLE_RESPONSE,
    error_response,
)
from gaia_memory.adk.tools.tool_arguments import check_names
from gaia_memory.adk.tools.tool_call import ToolCall
from gaia_memory.engine_registry import EngineSource
from gaia_memory.errors import InvalidInputError, MemoryDisabledError, MemoryUnavailable
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from gaia_memory.adk.tools.tool_declarations import ToolDeclaration

logger = logger_for(__name__)

ToolKind = Literal["basic", "extended"]
"""The values of `memory.tools`."""


@dataclass(frozen=True, slots=True)
class _Function:
    """What a tool does; one that `writes` does nothing in a private turn."""

    declaration: ToolDeclaration
    run: Callable[[ToolCall], Coroutine[Any, Any, dict[str, Any]]]
    writes: bool


async def _switch_context(call: ToolCall) -> dict[str, Any]:
    return {"status": "success", "context": switch_context(call.context, str(call.given["context"]))}


_BASIC_FUNCTIONS: Mapping[str, _Function] = {
    "remember": _Function(tool_declarations.BASIC_REMEMBER, fact_changes.remember, writes=True),
    "load_memory": _Function(tool_declarations.LOAD_MEMORY, fact_search.load_memory, writes=False),
}
_EXTENDED_FUNCTIONS: Mapping[str, _Function] = {
    **_BASIC_FUNCTIONS,
    "remember": _Function(tool_declarations.REMEMBER, fact_changes.remember, writes=True),
    "recall": _Function(tool_declarations.RECALL, fact_search.recall, writes=False),
    "update_memory": _Function(tool_declarations.UPDATE_MEMORY, fact_changes.update_memory, writes=True),
    "forget_memory": _Function(tool_declarations.FORGET_MEMORY, fact_changes.forget_memory, writes=True),
    "switch_context": _Function(tool_declarations.SWITCH_CONTEXT, _switch_context, writes=True),
}


def memory_tools(source: EngineSource, kind: ToolKind = "extended") -> list[BaseTool]:
    """Return the tools, bound to the engine of `source`: `remember` and `load_memory`, or all.

    They do not use the Runner's memory service, so they work inside an AgentTool too: its Runner has an empty one.
    """
    functions = _BASIC_FUNCTIONS if kind == "basic" else _EXTENDED_FUNCTIONS
    return [MemoryTool(name, function, source) for name, function in functions.items()]


class MemoryTool(BaseTool):
    """One tool; it always answers and never raises."""

    def __init__(self, name: str, function: _Function, source: EngineSource) -> None:
        """Take what the tool does and where its engine comes from."""
        super().__init__(name=name, description=function.declaration.description)
        self._function = function
        self._source = source
        self._is_basic = name in _BASIC_FUNCTIONS

    @override
    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._function.declaration.build_schema(),
        )

    @override
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Answer a call: with `status` and, if something is wrong, a `message` that says what to do."""
        logger.info("%s(arguments=[filtered])", self.name)
        if self._function.writes and is_private(tool_context):
            return error_response(PRIVATE_TURN)
        with ErrorBoundary(self.name):
            try:
                return await self._answer(args, tool_context)
            except MemoryDisabledError:
                return self._error_response(MEMORY_DISABLED)
            except InvalidInputError as error:
                return self._error_response(str(error).replace("NewFact.", ""))
            except MemoryUnavailable as error:
                if self._function.writes:
                    raise
                if not error.is_logged:
                    logger.warning("%s could not answer: memory is unavailable", self.name)
        return error_response(NOT_SAVED) if self._function.writes else dict(UNAVAILABLE_RESPONSE)

    async def _answer(self, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        given = check_names(self.name, self._function.declaration, args)
        memory_service = tool_context.get_invocation_context().memory_service
        if isinstance(memory_service, Mem0MemoryService):
            await self._source.inherit_config(memory_service.source)
        async with self._source.use_engine() as engine:
            if engine.config.memory.tools == "basic" and not self._is_basic:
                return self._error_response(NOT_OFFERED)
            if self._function.writes and engine.config.memory.enabled and may_be_private(tool_context):
                # Memory was away at the start of the turn, so nobody knows whether the conversation is private.
                return error_response(NOT_SAVED)
            call = ToolCall(engine, tool_context, self.name, given)
            run = current_run()
            if self._function.writes and run.outer_turn is not None:
                run.outer_turn.has_changes = True
            return await run.waits.run(self._function.run(call))

    def _error_response(self, message: str) -> dict[str, Any]:
        return error_response(message) if self._function.writes else error_response(message, memories=[])
