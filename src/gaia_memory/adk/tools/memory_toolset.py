"""MemoryToolset: the memory tools for an agent that lists them itself, with or without the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.tools.base_toolset import BaseToolset, ToolPredicate
from typing_extensions import override

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.tools.fact_framing import tool_instruction
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.engine_registry import ConfigSource, EngineSource, is_open

if TYPE_CHECKING:
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext


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
