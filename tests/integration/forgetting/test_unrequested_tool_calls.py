"""A model still sees in the open session what was forgotten: its tool keeps that only when the person says it again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from gaia_memory import NewFact
from gaia_memory.facts import SqlFacts
from gaia_memory.testing import ScriptedLlm, call
from support.database_matrix import make as make  # a fixture, on both databases
from support.databases import empty_postgres_url
from support.harness import Sut, tool_responses
from support.plugin_host import SCOPE, build_agent, function_responses, open_plugin_host

Make = Callable[..., Awaitable[Sut]]

NUTS, IN_OTHER_WORDS = "Is allergic to peanuts", "User has a peanut allergy"


@pytest.fixture(params=["sqlite", "postgresql"])
async def config(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Give the configuration of a foreign host's memory, on each kind of database."""
    if request.param == "sqlite":
        return {}
    address = (await empty_postgres_url(request.config, tmp_path)).render_as_string(hide_password=False)
    return {"memory": {"database_url": address}}


@pytest.mark.parametrize("text", [NUTS, IN_OTHER_WORDS, "is ALLERGIC  to pe\u0430nuts!"])
async def test_what_nobody_says_again_is_refused_and_what_somebody_says_is_kept(make: Make, text: str) -> None:
    """In our own Runner: whatever the words, as long as the person's message has none that tells of it."""
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


async def test_in_a_foreign_runner_too(tmp_path: Path, config: dict[str, Any]) -> None:
    """There a `/forget` typed by the person leaves the talk in the session's replay."""
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


async def test_after_everything_was_forgotten_an_open_session_gives_nothing_back(make: Make) -> None:
    """Only what the person says now; a session that begins afterwards is like any other."""
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
async def test_a_turn_that_began_before_brings_nothing_back(make: Make, what: str) -> None:
    """Though the person spoke of it in that very message: it was said before it was forgotten, elsewhere."""
    sut = await make(main=[call("lookup"), call("remember", fact=NUTS), "noted", call("remember", fact=NUTS), "noted"])
    memory, scope = sut.gaia.memory, sut.scope("u")
    [fact] = await memory.add(scope, [NewFact(NUTS)])

    async def lookup() -> str:
        """Look the menu up."""
        await memory.forget(scope, fact_id=None if what == "everything" else fact.id)
        return "soup"

    sut.agent.tools.append(lookup)
    await sut.chat("u", "cli", "I am allergic to peanuts, look up the menu")
    refused, kept_nothing = tool_responses(sut.REQ[-1])[-1], await sut.texts("u")
    await sut.chat("u", "cli", "I am allergic to peanuts, as you know")

    assert "asked to forget this" in refused["message"]
    assert kept_nothing == []
    assert await sut.texts("u") == [NUTS]


async def test_what_was_never_forgotten_is_kept_whoever_says_it(make: Make) -> None:
    """Other facts share no more than a word with what is gone, and most models sum up in words of their own."""
    sut = await make(main=[call("remember", fact="User moved to Lyon"), "noted"])
    fact = await sut.gaia.memory.remember(sut.scope("u"), NUTS)
    await sut.gaia.memory.forget(sut.scope("u"), fact_id=fact.id)

    await sut.chat("u", "cli", "yes, please")

    assert await sut.texts("u") == ["User moved to Lyon"]


async def test_what_somebody_else_forgot_keeps_nobody_from_it(make: Make) -> None:
    """Each person's tombstones are their own."""
    sut = await make(main=[call("remember", fact=NUTS), "noted"])
    fact = await sut.gaia.memory.remember(sut.scope("other"), NUTS)
    await sut.gaia.memory.forget(sut.scope("other"), fact_id=fact.id)

    await sut.chat("u", "cli", "yes, please")

    assert await sut.texts("u") == [NUTS]


async def test_the_person_and_the_host_bring_it_back_by_themselves(make: Make) -> None:
    """`/remember`, `remember` and `add`: each is somebody's wish."""
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
async def test_inside_an_agent_tool_the_persons_own_message_counts(tmp_path: Path, said: str, status: str) -> None:
    """What the calling agent asks of the inner one may repeat what was forgotten."""
    outer = ScriptedLlm(call("inner", request="Save that the user is allergic to peanuts"), "ok")
    inner = ScriptedLlm(call("remember", fact=NUTS), "done")
    async with open_plugin_host(tmp_path, build_agent(outer)) as host:
        memory = (await host.engine()).memory
        fact = await memory.remember(SCOPE, NUTS)
        await memory.forget(SCOPE, fact_id=fact.id)
        host.runner.agent.tools.append(AgentTool(build_agent(inner, "inner", tools=host.plugin._tools)))
        await host.run_turn(said)

    assert function_responses(inner.requests[1])[-1]["status"] == status


async def test_a_message_without_text_says_nothing_of_it(tmp_path: Path) -> None:
    """A picture, or the answer to a call: then the person has to say it in words."""
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


@pytest.mark.parametrize(
    ("said", "text", "speaks"),
    [
        ("My peanuts!", NUTS, True),
        ("is it to be?", NUTS, False),
        ("", NUTS, False),
        ("\u958b\u5fc3\u679c?", "\u559c\u6b22\u5f00\u5fc3\u679c", True),
        ("it is what it is", "It is so", True),
        ("hello there", "It is so", False),
        ("so: \U0001f95c", "\U0001f95c", True),
        ("hello", "\U0001f95c", False),
    ],
)
def test_a_message_speaks_of_a_fact_when_they_share_what_tells_of_it(said: str, text: str, speaks: bool) -> None:
    """Any word of a fact that has no telling one, and its very signs where it has no word."""
    assert SqlFacts().mentions(said, text) is speaks
