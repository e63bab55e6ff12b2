"""The memory tools, as ADK offers them to a model and calls them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset, ToolPredicate
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from typing_extensions import override

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.active_context import switch_context
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import current_run, is_private, may_be_private
from gaia_memory.adk.tools import fact_changes, fact_search
from gaia_memory.adk.tools.fact_framing import (
    MEMORY_DISABLED,
    NOT_OFFERED,
    NOT_SAVED,
    PRIVATE_TURN,
    UNAVAILABLE_RESPONSE,
    error_response,
    tool_instruction,
)
from gaia_memory.adk.tools.tool_arguments import (
    BASIC_REMEMBER,
    FORGET_MEMORY,
    LOAD_MEMORY,
    RECALL,
    REMEMBER,
    SWITCH_CONTEXT,
    UPDATE_MEMORY,
    check_names,
)
from gaia_memory.adk.tools.tool_call import ToolCall
from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.engine_registry import ConfigSource, EngineSource, is_open
from gaia_memory.errors import InvalidInputError, MemoryDisabledError, MemoryUnavailable
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.models.llm_request import LlmRequest

    from gaia_memory.adk.tools.tool_arguments import ToolDeclaration


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
    "remember": _Function(BASIC_REMEMBER, fact_changes.remember, writes=True),
    "load_memory": _Function(LOAD_MEMORY, fact_search.load_memory, writes=False),
}
_EXTENDED_FUNCTIONS: Mapping[str, _Function] = {
    **_BASIC_FUNCTIONS,
    "remember": _Function(REMEMBER, fact_changes.remember, writes=True),
    "recall": _Function(RECALL, fact_search.recall, writes=False),
    "update_memory": _Function(UPDATE_MEMORY, fact_changes.update_memory, writes=True),
    "forget_memory": _Function(FORGET_MEMORY, fact_changes.forget_memory, writes=True),
    "switch_context": _Function(SWITCH_CONTEXT, _switch_context, writes=True),
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


class MemoryToolset(BaseToolset):
    """Gives an agent the tools of `memory.tools`, and none while memory is off.

    It works in any Runner and inside an AgentTool. A MemoryPlugin in the same Runner adds no tools to its agent.
    """

    def __init__(
        self,
        *,
        config: ConfigSource | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        """Do no I/O. `config` is that of `MemoryPlugin`; the others are ADK's."""
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._source = EngineSource(config)
        self._tools = {kind: memory_tools(self._source, kind) for kind in ("basic", "extended")}

    @override
    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the same tools at each call, as long as the configuration is the same."""
        settings = await self._load_settings()
        tools = self._tools[settings.tools] if settings.enabled else []
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]

    @override
    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Tell the model when to use the tools."""
        memory_service = tool_context.get_invocation_context().memory_service
        with ErrorBoundary("offering the memory tools"):
            if isinstance(memory_service, Mem0MemoryService):
                await self._source.inherit_config(memory_service.source)
            if tools := await self.get_tools(tool_context):
                names = [tool.name for tool in tools]
                llm_request.append_instructions([tool_instruction(names, prefix=self.tool_name_prefix)])

    async def _load_settings(self) -> MemoryConfig:
        """Return the newest settings without opening memory, which the first call of a tool does.

        The defaults stand in for a configuration that is refused: the tools answer that memory is unavailable.
        """
        with ErrorBoundary("reading the configuration for the memory tools"):
            loaded = await self._source.load_config()
            if not is_open(loaded):
                return loaded.config.memory
            async with self._source.use_engine() as engine:
                return engine.config.memory
        return MemoryConfig()
