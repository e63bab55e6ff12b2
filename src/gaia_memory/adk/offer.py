"""What memory adds to one request: the tools, how to use them, and the profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaia_memory.adk.tools import USAGE

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.workflow import BaseNode

    from gaia_memory.config.schema import GaiaConfig


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


def _takes_functions(request: LlmRequest) -> bool:
    """Say whether functions can be added: models refuse them beside an answer schema or a built-in tool."""
    config = request.config
    if config.response_schema or config.response_json_schema:
        return False
    return all(getattr(tool, "function_declarations", None) for tool in config.tools or [])
