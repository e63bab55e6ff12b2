"""What memory adds to one request: the tools, how to use them, and the profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from gaia_memory.adk.tools import USAGE
from gaia_memory.log import logger_for

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.workflow import BaseNode

    from gaia_memory.config.schema import GaiaConfig

logger = logger_for(__name__)


def offer(request: LlmRequest, tools: Sequence[BaseTool], *, block: str | None) -> None:
    """Add the tools, their use and the profile `block` to a request; with None nothing of it is shown.

    Tools the agent lists itself stay as they are. All of ours can be called in every request, shown or not: a
    model repeats calls it finds in the conversation, and ADK would end the turn at one it cannot resolve.
    """
    missing = [tool for tool in tools if tool.name not in request.tools_dict]
    if block is not None:
        if _takes_functions(request):
            request.append_tools(missing)
            missing = []
        texts = [USAGE] if not missing else []
        if block:
            texts.append(block)
        if texts:
            request.append_instructions(texts)
    for tool in missing:
        request.tools_dict[tool.name] = tool


def is_offered(config: GaiaConfig, agent: BaseNode | None, root: str | None) -> bool:
    """Say whether an agent gets the profile and the tools.

    `root` names the root agent where it is an LlmAgent; where it is none, it has no prompt of its own, and
    `memory.profile_agents: root` means every agent of the tree.
    """
    wanted = config.memory.profile_agents
    if not config.memory.enabled or agent is None:
        return False
    if wanted == "root":
        return root is None or agent.name == root
    return wanted == "all" or agent.name in wanted


def is_told_inside(config: GaiaConfig, agent: BaseNode | None) -> bool:
    """Say whether an agent inside an AgentTool gets the profile: where all do, or its name is given."""
    wanted = config.memory.profile_agents
    if not config.memory.enabled or agent is None or wanted == "root":
        return False
    return wanted == "all" or agent.name in wanted


class AgentNames:
    """Says once of each name in `memory.profile_agents` that no agent of the tree has it."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: set[str] = set()

    def check(self, config: GaiaConfig, agent: BaseNode | None) -> None:
        """Warn of names that are unknown in the tree of `agent`; what a Workflow is made of cannot be seen."""
        wanted = config.memory.profile_agents
        if isinstance(wanted, str) or not isinstance(agent, BaseAgent):
            return
        known = list(dict.fromkeys(_names(agent.root_agent)))
        unknown = [name for name in wanted if name not in known and name not in self._said]
        self._said.update(unknown)
        if unknown:
            logger.warning(
                "memory.profile_agents names %s, and no agent is called that: they get neither profile nor tools. "
                "The agents here are %s",
                ", ".join(map(repr, unknown)),
                ", ".join(known),
            )


def _names(agent: BaseAgent) -> Iterator[str]:
    yield agent.name
    for child in [*agent.sub_agents, *_inside_tools(agent)]:
        yield from _names(child)


def _inside_tools(agent: BaseAgent) -> list[BaseAgent]:
    """Return the agents that an agent calls as tools; what a toolset holds cannot be seen."""
    tools = agent.tools if isinstance(agent, LlmAgent) else []
    return [tool.agent for tool in tools if isinstance(tool, AgentTool)]


def _takes_functions(request: LlmRequest) -> bool:
    """Say whether functions can be added: models refuse them beside an answer schema or a built-in tool."""
    config = request.config
    if config.response_schema or config.response_json_schema:
        return False
    return all(getattr(tool, "function_declarations", None) for tool in config.tools or [])
