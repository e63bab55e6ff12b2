"""Adds memory to one request: the tools, how to use them, the profile that the session has frozen, and the notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import InvocationState, is_private
from gaia_memory.adk.plugins.run_events import message_text, user_message
from gaia_memory.adk.plugins.turn_notes import TurnNotes, add_to_message, build_notes, local_time, select_due
from gaia_memory.adk.sessions.event_mapping import is_task, zone_of
from gaia_memory.adk.tools.fact_framing import INSTRUCTION_START, PRIVATE_INSTRUCTION, tool_instruction
from gaia_memory.adk.tools.memory_tools import MemoryTool
from gaia_memory.log import logger_for
from gaia_memory.models import Fact, Profile
from gaia_memory.profile.prompts import render_block
from gaia_memory.profile.session_profiles import frozen_profile_key
from gaia_memory.redaction.credentials import mask_credentials

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.workflow import BaseNode

    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.config.sections.memory_section import MemoryConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import LedgerRow, Scope, SessionKey

logger = logger_for(__name__)

_MAX_PROFILE_TRIES = 2
"""A write between creating and freezing a profile makes it stale; after a second one, this turn has no profile."""

_EMPTY_PROFILE = Profile(bullets=(), fingerprint="", revision=0)


def inject(
    request: LlmRequest, tools: Sequence[BaseTool], *, profile_block: str | None, has_private_message: bool
) -> None:
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
        if has_private_message:
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


class RequestNotes:
    """Adds the notes of a turn to its requests, and warns once of an agent that does not fit the configuration."""

    def __init__(self) -> None:
        """Start without warnings."""
        self._warned = set[str]()

    def check_agents(self, config: GaiaConfig, agent: BaseNode | None) -> None:
        """Warn about names in `memory.profile_agents` that no agent of the tree has; a Workflow's cannot be listed."""
        profile_agents = config.memory.profile_agents
        if isinstance(profile_agents, str) or not isinstance(agent, BaseAgent):
            return
        known = list(dict.fromkeys(_agent_names(agent.root_agent)))
        unknown = [name for name in profile_agents if name not in known and name not in self._warned]
        self._warned.update(unknown)
        if unknown:
            logger.warning(
                "memory.profile_agents names %s, and no agent is called that: they get neither profile nor tools. "
                "The agents here are %s",
                ", ".join(map(repr, unknown)),
                ", ".join(known),
            )

    async def add(
        self, engine: Engine, turn: InvocationState, invocation: InvocationContext, request: LlmRequest
    ) -> None:
        """Add the notes to a request of a turn: the same text to each.

        Only what is forgotten or becomes sensitive in the middle of the turn leaves them.
        """
        async with turn.notes_lock:
            if turn.notes is None:
                # What fails once is not tried again in this turn.
                turn.notes = TurnNotes()
                turn.notes = await self._build(engine, turn, invocation)
            elif turn.notes.facts:
                visible = await turn.waits.run(_still_visible(engine, turn.notes.facts))
                turn.notes = turn.notes.with_facts(visible)
        if text := turn.notes.text:
            add_to_message(request, text, user_message(invocation))

    async def _build(self, engine: Engine, turn: InvocationState, invocation: InvocationContext) -> TurnNotes:
        settings = engine.config.memory
        if not settings.tail_tokens:
            return TurnNotes()
        now = local_time(engine.clock.now(), await zone_of(invocation.session), settings)
        recalls = settings.preload_facts and not self._preloads_already(invocation.agent)
        due, recalled, short_ids = list[Fact](), list[Fact](), dict[str, str]()
        if turn.may_have_due or recalls:
            finding = _find_facts(engine, turn, invocation, recalls=recalls)
            due, recalled, short_ids = await turn.waits.run(finding)
        return build_notes(
            settings, now=now, context=turn.active_context, due=due, recalled=recalled, short_ids=short_ids
        )

    def _preloads_already(self, agent: BaseNode | None) -> bool:
        """Return whether ADK's own tool puts recalled facts into each request of an agent; log that once."""
        from google.adk.tools.preload_memory_tool import PreloadMemoryTool

        has_tool = any(isinstance(tool, PreloadMemoryTool) for tool in getattr(agent, "tools", None) or ())
        if has_tool and PreloadMemoryTool.__name__ not in self._warned:
            self._warned.add(PreloadMemoryTool.__name__)
            logger.warning(
                "the agent has ADK's tool preload_memory, so memory.preload_facts adds nothing: remove one of the two; "
                "preload_memory searches before each request, preload_facts once a turn"
            )
        return has_tool


async def _find_facts(
    engine: Engine, turn: InvocationState, invocation: InvocationContext, *, recalls: bool
) -> tuple[list[Fact], list[Fact], dict[str, str]]:
    """Return what is due, what fits the message if this turn `recalls`, and their short ids: they count as shown."""
    scope, context = engine.scope(turn.key.app, turn.key.user), turn.active_context
    due = select_due(await engine.memory.due(scope), context) if turn.may_have_due else []
    recalled: list[Fact] = []
    if recalls:
        with ErrorBoundary("recalling facts for a turn"):
            hits = await engine.memory.recall(scope, message_text(invocation), context=context)
            due_ids = {fact.id for fact in due}
            recalled = [hit.fact for hit in hits if hit.fact.id not in due_ids]
    ids = [fact.id for fact in (*due, *recalled)]
    is_noted = not is_private(invocation)
    return due, recalled, await engine.conversations.show_facts(turn.key, scope, ids, is_noted=is_noted) if ids else {}


async def _still_visible(engine: Engine, facts: Iterable[Fact]) -> set[str]:
    """Return the ids of those facts that are neither forgotten nor sensitive by now."""
    ids_by_scope: dict[Scope, list[str]] = {}
    for fact in facts:
        ids_by_scope.setdefault(fact.scope, []).append(fact.id)
    found = [await engine.memory.get(scope, ids) for scope, ids in ids_by_scope.items()]
    return {fact.id for facts_of_scope in found for fact in facts_of_scope.values() if not fact.sensitive}


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
