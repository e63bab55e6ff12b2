"""The agents that speak with the person have memory, whoever they are; the helpers that they call have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.tools.agent_tool import AgentTool

from gaia_memory.models import NewFact
from gaia_memory.testing import ScriptedLlm, call
from support.harness import ALL
from support.plugin_host import SCOPE, TOOLS, PluginHost, offered_tools, open_plugin_host, system_text


def agent(name: str, *answers: Any, **arguments: Any) -> LlmAgent:
    """Return an agent with a script."""
    return LlmAgent(name=name, model=ScriptedLlm(*answers, default="ok"), description=f"is {name}", **arguments)


def has_memory(asked: LlmAgent) -> list[bool]:
    """Say of each request of an agent whether it has profile, notes and tools; they go together."""
    assert isinstance(asked.model, ScriptedLlm)
    found = []
    for request in asked.model.requests:
        parts = ("wool" in system_text(request), "<TURN_NOTES>" in ALL(request), "remember" in offered_tools(request))
        assert len(set(parts)) == 1
        found.append(parts[0])
    return found


async def talk(host: PluginHost, *texts: str) -> None:
    await (await host.engine()).memory.add(SCOPE, [NewFact("is allergic to wool")])
    for text in texts:
        await host.run_turn(text)


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_the_agent_that_got_the_conversation_has_memory_and_its_helper_has_none(tmp_path: Path) -> None:
    """In the request right after the transfer, and in the later turns, which ADK routes to it."""
    tailor = agent("tailor")
    advisor = agent(
        "style_advisor",
        call("tailor", request="a coat"),
        "Cotton.",
        call("remember", fact="hates polyester"),
        tools=[AgentTool(tailor)],
    )
    stock = agent("stock", mode="single_turn")
    root = agent(
        "shop_helper",
        call("stock", request="coats?"),
        call("transfer_to_agent", agent_name="style_advisor"),
        sub_agents=[advisor, stock],
    )
    async with open_plugin_host(tmp_path, root) as host:
        await talk(host, "What style fits me?", "Remember that I hate polyester")
        facts = await (await host.engine()).memory.facts(SCOPE)

    assert [has_memory(each) for each in (root, advisor)] == [[True] * 2, [True] * 4]
    assert [has_memory(each) for each in (tailor, stock)] == [[False], [False]]
    assert offered_tools(tailor.model.requests[0]) == []  # type: ignore[union-attr]
    assert set(offered_tools(advisor.model.requests[-1])) > set(TOOLS)  # type: ignore[union-attr]
    assert [fact.text for fact in facts] == ["is allergic to wool", "hates polyester"]


async def test_a_task_has_memory_while_it_speaks_with_the_person(tmp_path: Path) -> None:
    """From its first request, which does not have the person's message; a helper that it calls has none."""
    helper = agent("prices", mode="single_turn")
    task = agent(
        "booker",
        call("prices", request="Lisbon"),
        "What do you eat?",
        call("finish_task", result="booked"),
        mode="task",
        sub_agents=[helper],
    )
    root = agent("root", call("booker", request="trip"), "Done.", sub_agents=[task])
    async with open_plugin_host(tmp_path, root) as host:
        await talk(host, "book a trip", "I am vegan")

    assert [has_memory(each) for each in (root, task, helper)] == [[True] * 2, [True] * 3, [False]]
    first, _, last = (ALL(request) for request in task.model.requests)  # type: ignore[union-attr]
    assert first.endswith('</TURN_NOTES>\n{"request": "trip"}')
    assert last.endswith("</TURN_NOTES>\nI am vegan")


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_a_sequence_that_got_the_conversation_speaks_through_its_agents(tmp_path: Path) -> None:
    """It has no prompt of its own."""
    first, second = agent("first"), agent("second")
    flow = SequentialAgent(name="flow", description="is flow", sub_agents=[first, second])
    root = agent("root", call("transfer_to_agent", agent_name="flow"), sub_agents=[flow])
    async with open_plugin_host(tmp_path, root) as host:
        await talk(host, "hi")

    assert [has_memory(each) for each in (first, second)] == [[True], [True]]
