"""Mem0MemoryService in a plain ADK Runner, through ADK's own tools and contexts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from gaia_memory import MemoryPlugin, SessionWindowPlugin
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.adk_runner import APP, USER, run_turn

pytestmark = pytest.mark.acceptance("L01")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Mem0MemoryService]:
    made = Mem0MemoryService(config={"app": APP, "home": str(tmp_path / "gaia")})
    # A Runner only borrows the engine: hold it, so that it is closed with the test.
    await made.source.acquire()
    yield made
    await made.source.release()


def runner_of(service: Mem0MemoryService, model: ScriptedLlm, *tools: Any, **agent: Any) -> Runner:
    root = LlmAgent(name="root", model=model, tools=list(tools), **agent)
    return Runner(
        app=App(name=APP, root_agent=root),
        session_service=InMemorySessionService(),
        memory_service=service,
        auto_create_session=True,
    )


async def keep(text: str, tool_context: ToolContext) -> str:
    """Store a fact."""
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text=text)]))
    await tool_context.add_memory(memories=[entry])
    return "kept"


async def drop(query: str, tool_context: ToolContext) -> str:
    """Delete the facts that a query finds."""
    found = await tool_context.search_memory(query)
    for memory in found.memories:
        await tool_context.delete_memory(memory.id)
    return "dropped"


async def test_adks_own_tools_and_contexts_read_write_and_delete(service: Mem0MemoryService):
    """A fact added through the context is found by ADK's `load_memory`, and gone after `delete_memory`."""
    model = ScriptedLlm(
        *[call("keep", text="I am allergic to nuts"), "ok"],
        *[call("load_memory", query="allergic"), "no nuts"],
        *[call("drop", query="allergic"), "gone"],
        *[call("load_memory", query="allergic"), "nothing"],
    )
    async with runner_of(service, model, keep, drop, load_memory_tool) as runner:
        for text in ["I am allergic to nuts", "what can't I eat?", "forget it", "and now?"]:
            await run_turn(runner, text)

    def loaded(request: int) -> str:
        [part] = model.requests[request].contents[-1].parts or []
        return str(part.function_response.response)

    assert "I am allergic to nuts" in loaded(3)
    assert "allergic to nuts" not in loaded(7)
    assert await service.list_memories(app_name=APP, user_id=USER) == []


async def test_a_session_added_by_an_agents_callback_is_learned_once(service: Mem0MemoryService):
    """The pattern of ADK's documentation, used after every turn, learns each turn once."""

    async def remember_all(callback_context: CallbackContext) -> None:
        await callback_context.add_session_to_memory()

    model = ScriptedLlm(default="noted")
    async with runner_of(service, model, after_agent_callback=remember_all) as runner:
        for text in ["I live in Berlin.", "My dog is called Rex.", "thanks"]:
            await run_turn(runner, text)
    memories = await service.list_memories(app_name=APP, user_id=USER)
    texts = [memory.content.parts[0].text for memory in memories]

    assert sum("Berlin" in text for text in texts) == 1
    assert sum("Rex" in text for text in texts) == 1


class HostsOwnService(InMemoryMemoryService):
    """A service that a host wrote and chose."""


@pytest.mark.parametrize("host", [None, InMemoryMemoryService(), HostsOwnService()])
async def test_a_plugin_answers_adks_tools_where_the_host_chose_no_service(
    host: InMemoryMemoryService | None, tmp_path: Path
):
    """`load_memory` and `preload_memory` then find the plugin's facts; a service of the host's own is asked itself."""
    model = ScriptedLlm(*[call("load_memory", query="allergic"), "no nuts"])
    root = LlmAgent(name="root", model=model, tools=[load_memory_tool, preload_memory_tool])
    plugin = MemoryPlugin(config={"home": str(tmp_path / "gaia"), "memory": {"preload": False}})
    app = App(name=APP, root_agent=root, plugins=[SessionWindowPlugin(), plugin])
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions, memory_service=host, auto_create_session=True)
    async with runner:
        await run_turn(runner, "/remember I am allergic to nuts")
        await run_turn(runner, "what am I allergic to?")

    texts = ["allergic to nuts" in str(request) for request in model.requests]
    assert texts == ([False, False] if type(host) is HostsOwnService else [True, True])
    assert runner.memory_service is host
