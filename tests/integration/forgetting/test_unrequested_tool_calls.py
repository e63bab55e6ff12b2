"""A model still sees a forgotten fact in the open session: its tool stores it only if the user says it again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from gaia_memory import NewFact
from gaia_memory.testing import ScriptedLlm, call
from support.database_matrix import make as make  # a fixture, on both databases
from support.databases import empty_postgres_url
from support.harness import Sut, tool_responses
from support.plugin_host import SCOPE, build_agent, function_responses, open_plugin_host

Make = Callable[..., Awaitable[Sut]]

NUTS, IN_OTHER_WORDS = "Is allergic to peanuts", "User has a peanut allergy"


@pytest.fixture(params=["sqlite", "postgresql"])
async def config(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Return a function that configures the memory of a third-party host on a kind of database."""
    if request.param == "sqlite":
        return {}
    address = (await empty_postgres_url(request.config, tmp_path)).render_as_string(hide_password=False)
    return {"memory": {"database_url": address}}


@pytest.mark.parametrize("text", [NUTS, IN_OTHER_WORDS, "is ALLERGIC  to pe\u0430nuts!"])
async def test_a_forgotten_fact_is_refused_unless_the_user_says_it_again(make: Make, text: str) -> None:
    """In our own Runner, in any words, unless a distinctive word of it is in the user's message."""
    tool = call("remember", fact=text)
    sut = await make(main=[call("remember", fact=NUTS), "noted", tool, "well", tool, "noted"])
    await sut.chat("u", "cli", "peanuts make me ill")
    [fact] = await sut.gaia.memory.facts(sut.scope("u"))
    await sut.gaia.memory.forget(sut.scope("u"), fact_id=fact.id)

    await sut.chat("u", "cli", "what shall I cook?")
    refused, kept_nothing = tool_responses(sut.REQ[-1])[-1], await sut.texts("u")
    await sut.chat("u", "cli", "Mind you, PEANUTS are still my enemy")

    assert refused["status"] == "error"
    assert "asked to forget this" in refused["message"]
    assert "when the user says it again" in refused["message"]
    assert kept_nothing == []
    assert tool_responses(sut.REQ[-1])[-1]["status"] == "success"
    assert await sut.texts("u") == [text]


async def test_a_forgotten_fact_is_refused_in_a_third_party_runner_too(tmp_path: Path, config: dict[str, Any]) -> None:
    """There, after the user types `/forget`, the messages stay in the session's replay."""
    tool = call("remember", fact=NUTS)
    model = ScriptedLlm(tool, "noted", tool, "well", tool, "noted")
    async with open_plugin_host(tmp_path, build_agent(model), config=config) as host:
        memory = (await host.engine()).memory
        await host.run_turn("peanuts make me ill")
        await host.run_turn("/forget 1")
        await host.run_turn("/forget 1 yes")
        await host.run_turn("what shall I cook?")
        refused, kept_nothing = function_responses(model.requests[-1])[-1], await memory.facts(SCOPE)
        await host.run_turn("peanuts, I told you")
        facts = await memory.facts(SCOPE)

    assert "asked to forget this" in refused["message"]
    assert kept_nothing == []
    assert [fact.text for fact in facts] == [NUTS]


async def test_after_forgetting_everything_an_open_session_restores_nothing(make: Make) -> None:
    """Only what the user says now is stored; a session started afterwards is like any other."""
    tool = call("remember", fact=NUTS)
    sut = await make(main=["noted", tool, "well", tool, "noted", call("remember", fact="User sails"), "noted"])
    await sut.chat("u", "cli", "peanuts make me ill")
    await sut.chat("u", "cli", "/forget yes")
    await sut.chat("u", "cli", "what shall I cook?")
    refused, kept_nothing = tool_responses(sut.REQ[-1])[-1], await sut.texts("u")
    await sut.chat("u", "cli", "peanuts are my enemy")
    await sut.chat("u", "phone", "yes, please")

    assert "asked to forget this" in refused["message"]
    assert kept_nothing == []
    assert await sut.texts("u") == [NUTS, "User sails"]


@pytest.mark.parametrize("what", ["everything", "one fact"])
async def test_a_turn_that_began_before_the_forget_restores_nothing(make: Make, what: str) -> None:
    """Even if the user mentioned the fact in that message: it was said before it was forgotten, elsewhere."""
    sut = await make(main=[call("lookup"), call("remember", fact=NUTS), "noted", call("remember", fact=NUTS), "noted"])
    memory, scope = sut.gaia.memory, sut.scope("u")
    [fact] = await memory.add(scope, [NewFact(NUTS)])

    async def lookup() -> str:
        """Look up the menu."""
        await memory.forget(scope, fact_id=None if what == "everything" else fact.id)
        return "soup"

    sut.agent.tools.append(lookup)
    await sut.chat("u", "cli", "I am allergic to peanuts, look up the menu")
    refused, kept_nothing = tool_responses(sut.REQ[-1])[-1], await sut.texts("u")
    await sut.chat("u", "cli", "I am allergic to peanuts, as you know")

    assert "asked to forget this" in refused["message"]
    assert kept_nothing == []
    assert await sut.texts("u") == [NUTS]


async def test_a_fact_never_forgotten_is_stored_in_the_models_own_words(make: Make) -> None:
    """Other facts share no more than a word with the forgotten one, and most models paraphrase."""
    sut = await make(main=[call("remember", fact="User moved to Lyon"), "noted"])
    fact = await sut.gaia.memory.remember(sut.scope("u"), NUTS)
    await sut.gaia.memory.forget(sut.scope("u"), fact_id=fact.id)

    await sut.chat("u", "cli", "yes, please")

    assert await sut.texts("u") == ["User moved to Lyon"]


async def test_another_users_forgotten_fact_is_stored(make: Make) -> None:
    """Each user has separate tombstones."""
    sut = await make(main=[call("remember", fact=NUTS), "noted"])
    fact = await sut.gaia.memory.remember(sut.scope("other"), NUTS)
    await sut.gaia.memory.forget(sut.scope("other"), fact_id=fact.id)

    await sut.chat("u", "cli", "yes, please")

    assert await sut.texts("u") == [NUTS]


async def test_the_user_and_the_host_can_restore_a_forgotten_fact(make: Make) -> None:
    """`/remember`, `remember` and `add` are each deliberate."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("u")

    async def typed() -> None:
        await sut.chat("u", "cli", f"/remember {NUTS}")

    async def added() -> None:
        await memory.add(scope, [NewFact(NUTS)])

    async def remembered() -> None:
        await memory.remember(scope, NUTS)

    for brings_back in (typed, added, remembered, typed):
        await brings_back()
        assert await sut.texts("u") == [NUTS]
        [fact] = await memory.facts(scope)
        await memory.forget(scope, fact_id=fact.id)
        assert await sut.texts("u") == []


@pytest.mark.parametrize(("said", "status"), [("what shall I cook?", "error"), ("peanuts again!", "success")])
@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_inside_an_agent_tool_the_users_own_message_counts(tmp_path: Path, said: str, status: str) -> None:
    """The calling agent's request to the inner one may repeat a forgotten fact."""
    outer = ScriptedLlm(call("inner", request="Save that the user is allergic to peanuts"), "ok")
    inner = ScriptedLlm(call("remember", fact=NUTS), "done")
    async with open_plugin_host(tmp_path, build_agent(outer)) as host:
        memory = (await host.engine()).memory
        fact = await memory.remember(SCOPE, NUTS)
        await memory.forget(SCOPE, fact_id=fact.id)
        host.runner.agent.tools.append(AgentTool(build_agent(inner, "inner", tools=host.plugin._tools["extended"])))
        await host.run_turn(said)

    assert function_responses(inner.requests[1])[-1]["status"] == status


async def test_a_message_without_text_does_not_mention_a_forgotten_fact(tmp_path: Path) -> None:
    """A picture, or the response to a call: then the user has to say it in words."""
    model = ScriptedLlm(call("remember", fact=NUTS), "ok")
    picture = types.Part.from_bytes(data=b"x", mime_type="image/png")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        memory = (await host.engine()).memory
        fact = await memory.remember(SCOPE, NUTS)
        await memory.forget(SCOPE, fact_id=fact.id)
        await host.run_turn(types.Content(role="user", parts=[picture]))
        facts = await memory.facts(SCOPE)

    assert function_responses(model.requests[1])[-1]["status"] == "error"
    assert facts == []
