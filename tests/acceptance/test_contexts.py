"""Contexts, seen from outside: the active one is the default on write, and decides what the agent is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.tools.tool_context import ToolContext

from gaia_memory.adk.plugins.active_context import ACTIVE_CONTEXT_KEY, switch_context
from gaia_memory.errors import InvalidInputError
from gaia_memory.testing import ScriptedLlm, call
from support.harness import ALL, INSTRUCTION, Sut, facts, tool_responses

Make = Callable[..., Awaitable[Sut]]

FACTS = {
    "work": "The colleague Tom likes green tea",
    "home": "The sister Ann likes mint tea",
    "global": "Likes black tea",
}


def switch(context: str, tool_context: ToolContext) -> str:
    """Switch to another context."""
    return switch_context(tool_context, context)


def with_tools(model: ScriptedLlm) -> LlmAgent:
    return LlmAgent(name="assistant", model=model, instruction=INSTRUCTION, tools=[switch, preload_memory_tool])


async def remember_all(sut: Sut) -> None:
    for context, text in FACTS.items():
        tomorrow = sut.clock.now() + timedelta(days=1)
        await sut.gaia.memory.remember(sut.scope("ada"), text, context=context, due_at=tomorrow)


def shown(text: str) -> set[str]:
    """Return the contexts whose fact stands in a text."""
    return {context for context, fact in FACTS.items() if fact in text}


def profile_in(request: LlmRequest) -> str:
    return "".join(re.findall(r"<USER_PROFILE>.*?</USER_PROFILE>", ALL(request), re.DOTALL))


async def ask(sut: Sut, channel: str = "cli") -> tuple[set[str], ...]:
    """Send a question that the model looks up; return what profile, tool, ADK's preloading and the notes show."""
    sut.main.add(call("load_memory", query="Who likes which tea?"), "ok")
    await sut.chat("ada", channel, "Who likes which tea?")
    request = sut.REQ[-1]
    preloaded = "".join(re.findall(r"<PAST_CONVERSATIONS>.*?</PAST_CONVERSATIONS>", ALL(request), re.DOTALL))
    notes = "".join(re.findall(r"<TURN_NOTES>.*?</TURN_NOTES>", ALL(request), re.DOTALL))
    answer = json.dumps(tool_responses(request)[-1])
    return shown(profile_in(request)), shown(answer), shown(preloaded), shown(notes)


@pytest.mark.parametrize("name", ["none", "global"])
async def test_a_context_is_left_with_none_or_off_as_with_global(make: Make, name: str) -> None:
    """As `/private off` ends that, and as the replies say "none"."""
    sut = await make()
    talk = sut.conversation("ada", "cli")
    await talk.send("/context work")

    assert (await talk.send(f"/context {name}")).text.startswith("No context is active.")


@pytest.mark.acceptance("W07")
@pytest.mark.parametrize("way", ["command", "state", "tool"])
async def test_an_agent_sees_the_active_context_and_what_belongs_to_none(make: Make, way: str) -> None:
    """In profile, tool, search and the notes of a turn, also after a restart, and on every channel."""
    sut = await make(agent=with_tools, profiler=[lambda prompt: prompt.split("<FACTS>")[1]] * 9)
    await remember_all(sut)
    before = await ask(sut)

    if way == "command":
        [reply] = await sut.chat("ada", "cli", "/context work")
        assert reply.startswith("The context work is active")
    elif way == "state":
        state = {ACTIVE_CONTEXT_KEY: "work"}
        await sut.gaia.session_service.create_session(app_name="gaia", user_id="ada", session_id="ada:web", state=state)
    else:
        sut.main.add(call("switch", context="work"), "ok")
        await sut.chat("ada", "cli", "I am at work")
    during = await ask(sut)
    await sut.close()
    await sut.reopen()
    elsewhere = await ask(sut, "telegram")
    [told] = await sut.chat("ada", "telegram", "/context")
    await sut.chat("ada", "telegram", "/context HOME")
    at_home = await ask(sut)
    [everything] = await sut.chat("ada", "cli", "/memory tea")

    assert before == ({"global"},) * 4
    assert during == elsewhere == ({"work", "global"},) * 4
    assert told == (
        "The context work is active: I use its facts and what belongs to none. Others with facts: home. /context NAME "
        "switches, /context global ends it."
    )
    assert at_home == ({"home", "global"},) * 4
    assert shown(everything) == {"work", "home", "global"}
    assert f"{FACTS['work']} (context work" in everything
    assert shown(" ".join(hit.fact.text for hit in await sut.gaia.memory.recall(sut.scope("ada"), "tea"))) == set(FACTS)


async def test_a_context_that_comes_back_has_its_profile_without_a_question(make: Make) -> None:
    """Each is written once, until something changes in it; a forget drops all of them."""
    sut = await make(main=["ok"] * 8, profiler=[lambda prompt: prompt.split("<FACTS>")[1]] * 9)
    await remember_all(sut)
    seen = []
    for context in ("work", "home", "work", "home"):
        await sut.chat("ada", "cli", f"/context {context}")
        await sut.chat("ada", "cli", "hi")
        seen.append(shown(profile_in(sut.REQ[-1])))
    asked = len(sut.PROF)
    [first, *_] = await sut.gaia.memory.facts(sut.scope("ada"))
    receipt = await sut.gaia.memory.forget(sut.scope("ada"), fact_id=first.id)

    assert seen == [{"work", "global"}, {"home", "global"}] * 2
    assert asked == 2
    # With that of the running session.
    assert receipt.removed["profiles"] == 3


async def test_the_active_context_is_the_default_on_write(make: Make) -> None:
    """By command, by tool, and for what a conversation teaches: the context of its turn, not of the sweep."""
    learned = [facts("Ada knows Rust"), facts("Ada plays chess")]
    sut = await make(main=["ok", call("remember", fact="I use vim"), "noted", "ok"], extractor=learned)
    await sut.chat("ada", "cli", "/context work")
    await sut.chat("ada", "cli", "/remember My desk is in room 5")
    await sut.chat("ada", "cli", "I know Rust")
    await sut.chat("ada", "cli", "I use vim")
    await sut.chat("ada", "cli", "/context global")
    await sut.sweep_after_idle()
    await sut.chat("ada", "cli", "I play chess")
    await sut.sweep_after_idle()

    contexts = {fact.text: fact.context for fact in await sut.gaia.memory.facts(sut.scope("ada"))}
    assert contexts == {
        "My desk is in room 5": "work",
        "I use vim": "work",
        "Ada knows Rust": "work",
        "Ada plays chess": "global",
    }


async def test_what_is_said_in_two_contexts_is_true_in_both(make: Make) -> None:
    """It belongs to neither alone; a change said at work of something global stays global."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, "Likes jazz", context="home")
    await memory.remember(scope, "I live in Oslo", key="user/home")
    await sut.chat("ada", "cli", "/context work")
    await sut.chat("ada", "cli", "/remember Likes jazz")
    await memory.remember(scope, "I live in Berlin", key="user/home", active_context="work")

    found = {fact.text: fact.context for fact in await memory.facts(scope)}
    assert found == {"Likes jazz": "global", "I live in Berlin": "global"}


@pytest.mark.parametrize("name", ["wo\nrk", "a\x07b", "x" * 201])
async def test_a_name_that_can_be_no_context_is_refused(make: Make, name: str) -> None:
    """By command and by code; a state that a host sets to it counts as none."""
    sut = await make(main=["ok"] * 2)
    [reply] = await sut.chat("ada", "cli", f"/context {name}")
    with pytest.raises(InvalidInputError, match="context is"):
        await sut.gaia.memory.recall(sut.scope("ada"), "tea", context=name)
    state = {ACTIVE_CONTEXT_KEY: name}
    await sut.gaia.session_service.create_session(app_name="gaia", user_id="ada", session_id="ada:web", state=state)
    await sut.chat("ada", "web", "hi")

    assert reply.startswith("Nothing was changed: the name of a context is")
    assert (await sut.chat("ada", "cli", "/context"))[0].startswith("No context is active")
