"""What a person says is learned, whichever agent, task or node ADK routes it to; what agents say to agents is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.workflow import Workflow

from gaia_memory.testing import ScriptedLlm, call
from support.harness import Sut, tool_responses
from support.hosts.extractor_input import ExtractionHost, learn_and_read_messages, open_host, run_turn

Make = Callable[..., Awaitable[Sut]]

BOOKED = call("finish_task", result="booked")


def booker(*answers: Any, **arguments: Any) -> LlmAgent:
    """Return an agent that a person talks to until its task is done."""
    model = ScriptedLlm(*answers)
    return LlmAgent(name="booker", model=model, mode="task", description="books trips", instruction="Ask.", **arguments)


async def talk(host: ExtractionHost, *texts: str) -> None:
    for text in texts:
        await run_turn(host, text)


@pytest.mark.parametrize("kind", ["ours", "foreign"])
async def test_a_talk_with_a_delegated_task_is_learned(kind: str, tmp_path: Path, make: Make) -> None:
    """Its questions are the answers' context; the request that the caller wrote is no message of the person."""
    task = booker("What do you eat?", "From where?", BOOKED)
    root = [call("booker", request="trip for ZEBRA"), "Done.", "Nice."]
    async with open_host(
        kind, tmp_path / "host", make, main=root, agent=lambda m: LlmAgent(name="root", model=m, sub_agents=[task])
    ) as host:
        await talk(host, "book a trip", "I am vegan", "I live in Hamburg", "My sister is Noa")

        assert await learn_and_read_messages(host) == [
            ("user", "book a trip"),
            ("assistant", "What do you eat?"),
            ("user", "I am vegan"),
            ("assistant", "From where?"),
            ("user", "I live in Hamburg"),
            ("assistant", "Done."),
            ("user", "My sister is Noa"),
            ("assistant", "Nice."),
        ]


async def test_a_task_as_root_is_learned(tmp_path: Path, make: Make) -> None:
    """ADK gives the second message a scope and the first one none."""
    async with open_host("foreign", tmp_path / "host", make, agent=lambda _: booker("And?", "Where?", BOOKED)) as host:
        await talk(host, "hi", "I am vegan", "I live in Hamburg")

        said = await learn_and_read_messages(host)
        assert said[::2] == [("user", "hi"), ("user", "I am vegan"), ("user", "I live in Hamburg")]
        assert said[1::2] == [("assistant", "And?"), ("assistant", "Where?")]


async def test_the_nodes_of_a_workflow_are_learned(tmp_path: Path, make: Make) -> None:
    """The input of a node is what the node before it says, and never a message of the person."""
    first, last = (LlmAgent(name=name, model=ScriptedLlm(default=f"{name} speaks")) for name in ("first", "last"))
    flow = Workflow(name="flow", edges=[("START", first, booker("What do you eat?", BOOKED), last)])
    async with open_host("foreign", tmp_path / "host", make, agent=lambda _: flow) as host:
        await talk(host, "hi", "I am vegan")

        assert await learn_and_read_messages(host) == [
            ("user", "hi"),
            ("assistant", "first speaks"),
            ("assistant", "What do you eat?"),
            ("user", "I am vegan"),
            ("assistant", "last speaks"),
        ]


@pytest.mark.parametrize("is_delegated", [True, False])
async def test_a_helper_of_a_task_talks_to_no_person(is_delegated: bool, tmp_path: Path, make: Make) -> None:
    """A helper that answers once, below a delegated task and below a task as root."""
    helper = LlmAgent(name="helper", model=ScriptedLlm(default="ZEBRA"), mode="single_turn", description="helps")
    task = booker(call("helper", request="ZEBRA?"), "What do you eat?", "Bye.", sub_agents=[helper])
    delegates = ScriptedLlm(call("booker", request="trip"))
    root = LlmAgent(name="root", model=delegates, sub_agents=[task]) if is_delegated else task
    async with open_host("foreign", tmp_path / "host", make, agent=lambda _: root) as host:
        await talk(host, "hi", "I am vegan")

        assert await learn_and_read_messages(host) == [
            ("user", "hi"),
            ("assistant", "What do you eat?"),
            ("user", "I am vegan"),
            ("assistant", "Bye."),
        ]


async def test_a_tool_of_a_task_takes_nothing_its_caller_wrote_for_the_persons_word(tmp_path: Path, make: Make) -> None:
    """ADK shows the tools of a task the request of the calling agent as the user's message."""
    model = ScriptedLlm(call("remember", fact="User hates his boss"), "Saved.")
    settings = {"memory": {"profile_agents": "all"}}
    task = LlmAgent(name="booker", model=model, mode="task", description="books trips")
    main = [call("booker", request="User hates his boss")]
    async with open_host(
        "foreign",
        tmp_path / "host",
        make,
        main=main,
        settings=settings,
        agent=lambda m: LlmAgent(name="root", model=m, sub_agents=[task]),
    ) as host:
        await talk(host, "book a trip")
        memory, scope = (await host.engine()).memory, (await host.engine()).scope("gaia", "itay")
        [fact] = await memory.facts(scope)
        [source] = await memory.sources(scope, fact.id)

        assert tool_responses(model.requests[-1])
        assert (source.source, source.excerpt) == ("agent", "book a trip")
