"""Adds memory to one request: the tools, how to use them, and the profile, which is frozen for the session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent

from gaia_memory.adk.sessions.event_mapping import is_task
from gaia_memory.adk.tools.fact_framing import INSTRUCTION_START, PRIVATE_INSTRUCTION, tool_instruction
from gaia_memory.adk.tools.memory_tools import MemoryTool
from gaia_memory.log import logger_for
from gaia_memory.models import Profile
from gaia_memory.profile.prompts import render_block
from gaia_memory.profile.session_profiles import frozen_profile_key
from gaia_memory.redaction.credentials import mask_credentials

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.workflow import BaseNode

    from gaia_memory.adk.plugins.invocation_state import InvocationState
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.config.sections.memory_section import MemoryConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow, SessionKey

logger = logger_for(__name__)

_MAX_PROFILE_TRIES = 2
"""A write between creating and freezing a profile makes it stale; after a second one, this turn has no profile."""

_EMPTY_PROFILE = Profile(bullets=(), fingerprint="", revision=0)


def inject(request: LlmRequest, tools: Sequence[BaseTool], *, profile_block: str | None, is_private: bool) -> None:
    """Add the tools, their instructions and `profile_block` to a request; with None, none of it is shown to the model.

    In a private turn the instructions say so, because the model must not promise to remember what is not learned.

    Tools that the agent lists itself are not changed, and an agent with memory tools of its own gets no others. Ours
    can be called in every request, shown or not: a model repeats calls from the conversation, and ADK would end the
    turn at a call that it cannot resolve.
    """
    has_own = any(isinstance(tool, MemoryTool) for tool in request.tools_dict.values())
    missing = [] if has_own else [tool for tool in tools if tool.name not in request.tools_dict]
    if profile_block is not None:
        if _accepts_functions(request):
            request.append_tools(missing)
            missing = []
        # A MemoryToolset instructs its agent itself.
        is_instructed = INSTRUCTION_START in str(request.config.system_instruction or "")
        texts = [tool_instruction(request.tools_dict)] if not missing and not is_instructed else []
        if is_private:
            texts.append(PRIVATE_INSTRUCTION)
        if profile_block:
            texts.append(profile_block)
        if texts:
            request.append_instructions(texts)
    for tool in missing:
        request.tools_dict[tool.name] = tool


async def profile_block_for_session(engine: Engine, key: SessionKey, row: LedgerRow, context: str) -> tuple[str, bool]:
    """Return the profile block of a session, empty if there is none, and whether the person may have due facts.

    `row` is the session's row at the start of this turn: without a frozen profile, or with one of another
    configuration or context or from before a fact ended, expired or began to hold, a new one is created and frozen.
    """
    if not engine.config.memory.preload:
        return "", True
    scope = engine.scope(key.app, key.user)
    state = await engine.memory.prompt_state(scope)
    profile_key = frozen_profile_key(state.profile_key, context)
    frozen = row.session.profile
    if frozen is not None and frozen.key == profile_key:
        return _masked(engine, frozen.block), state.has_due
    for _ in range(_MAX_PROFILE_TRIES):
        profile = await engine.memory.profile(scope, context=context) if state.may_have_profile else _EMPTY_PROFILE
        block = render_block(profile)
        if await engine.conversations.freeze_profile(key, scope, profile, block=block, config_key=profile_key):
            return block, state.has_due
    return "", state.has_due


async def refresh_profile_block(engine: Engine, turn: InvocationState) -> None:
    """Take the block from a running turn if a forget has dropped it since the turn began."""
    if turn.profile_block:
        row = await turn.waits.run(engine.conversations.row(turn.key))
        frozen = row.session.profile if row is not None else None
        turn.profile_block = _masked(engine, frozen.block) if frozen is not None else ""


def _masked(engine: Engine, block: str) -> str:
    """Mask the credentials of a profile that an older release froze."""
    return mask_credentials(block, allow_numbers=engine.config.memory.allow_numbers)


def is_enabled_for(
    settings: MemoryConfig, run: InvocationContext, root_name: str | None, *, in_agent_tool: bool = False
) -> bool:
    """Return True if the agent of a run gets the profile, and outside an AgentTool the tools.

    `root_name` is the name of the root agent if it is an LlmAgent. Otherwise the root has no prompt of its own, and
    `memory.profile_agents: root` means every agent of the tree, but none inside an AgentTool. `speaking` adds the
    agents that no agent has called as a tool: ADK gives such a run a branch with the id of the call.
    """
    profile_agents, agent = settings.profile_agents, run.agent
    if not settings.enabled or agent is None:
        return False
    if profile_agents in {"root", "speaking"}:
        branch = run.branch or ""
        is_speaking = profile_agents == "speaking" and ("@" not in branch or is_task(branch, run.isolation_scope))
        return not in_agent_tool and (root_name is None or agent.name == root_name or is_speaking)
    return profile_agents == "all" or agent.name in profile_agents


class ProfileAgentsCheck:
    """Warns once about each name in `memory.profile_agents` that no agent of the tree has."""

    def __init__(self) -> None:
        """Start without warnings."""
        self._warned_names: set[str] = set()

    def check(self, config: GaiaConfig, agent: BaseNode | None) -> None:
        """Warn about names that no agent in the tree of `agent` has; the nodes of a Workflow cannot be listed."""
        profile_agents = config.memory.profile_agents
        if isinstance(profile_agents, str) or not isinstance(agent, BaseAgent):
            return
        known = list(dict.fromkeys(_agent_names(agent.root_agent)))
        unknown = [name for name in profile_agents if name not in known and name not in self._warned_names]
        self._warned_names.update(unknown)
        if unknown:
            logger.warning(
                "memory.profile_agents names %s, and no agent is called that: they get neither profile nor tools. "
                "The agents here are %s",
                ", ".join(map(repr, unknown)),
                ", ".join(known),
            )


def _agent_names(agent: BaseAgent) -> Iterator[str]:
    yield agent.name
    for child in [*agent.sub_agents, *_agent_tool_agents(agent)]:
        yield from _agent_names(child)


def _agent_tool_agents(agent: BaseAgent) -> list[BaseAgent]:
    """Return the agents that an agent calls as tools; the contents of a toolset cannot be listed."""
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.tools.agent_tool import AgentTool

    tools = agent.tools if isinstance(agent, LlmAgent) else []
    return [tool.agent for tool in tools if isinstance(tool, AgentTool)]


def _accepts_functions(request: LlmRequest) -> bool:
    """Return True if functions can be added: models reject them together with a response schema or a built-in tool."""
    config = request.config
    if config.response_schema or config.response_json_schema:
        return False
    return all(getattr(tool, "function_declarations", None) for tool in config.tools or [])
