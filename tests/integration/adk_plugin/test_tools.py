"""The tools `remember` and `load_memory`, called by a model through ADK."""

from __future__ import annotations

import logging
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.plugins.window_plugin import SessionWindowPlugin
from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from gaia_memory.adk.tools.fact_framing import TOOL_TOKENS
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.errors import ModelUnavailableError
from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import NewFact, Scope
from gaia_memory.testing import ScriptedEmbedder, ScriptedExtractor, ScriptedLlm, call
from support.plugin_host import (
    SCOPE,
    SECRET_TEXT,
    TOOLS,
    USER,
    break_database,
    broken_ledger_client,
    build_agent,
    events_text,
    function_responses,
    offered_tools,
    open_plugin_host,
    request_text,
)


@pytest.mark.acceptance("R01", "R07")
async def test_remember_stores_the_text_and_does_not_log_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Stripped, otherwise verbatim, without the extractor; the log only records the call."""
    caplog.set_level(logging.DEBUG, logger="gaia_memory")
    model = ScriptedLlm(call("remember", fact="  The user's timezone is IST  "), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        events = await host.run_turn("I live in Israel")
        engine = await host.engine()
        facts = await engine.memory.facts(SCOPE)

    [response] = function_responses(model.requests[1])
    assert response["status"] == "success"
    assert [fact.text for fact in facts] == ["The user's timezone is IST"]
    assert events_text(events).endswith("ok")
    assert "[filtered]" in caplog.text
    assert "timezone" not in caplog.text


async def test_a_remembered_fact_names_its_agent_and_turn(tmp_path: Path) -> None:
    """The source is the model's tool call, not the person; the argument may be called `text`, too."""
    model = ScriptedLlm(call("remember", text="Likes tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("I like tea")
        page = await (await host.engine()).memory.browse(SCOPE, include_origins=True)

    [fact] = page.facts
    [origin] = page.origins[fact.id]
    assert (fact.text, fact.source, fact.agent) == ("Likes tea", "agent", build_agent(model).name)
    assert (origin.source, origin.agent) == ("agent", fact.agent)
    assert origin.turn_event_ids == origin.event_ids != ()


@pytest.mark.acceptance("R02")
async def test_a_blank_fact_is_refused_and_the_turn_continues(tmp_path: Path) -> None:
    """Nothing is stored."""
    model = ScriptedLlm(call("remember", fact="   "), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        events = await host.run_turn("hm")
        facts = await (await host.engine()).memory.facts(SCOPE)

    assert function_responses(model.requests[1])[0]["status"] == "error"
    assert facts == []
    assert events_text(events).endswith("ok")


async def test_a_credential_is_left_out_of_a_fact_and_the_model_told(tmp_path: Path) -> None:
    """It can tell the user why. The user's own words are compared without the mask."""
    model = ScriptedLlm(call("remember", fact="my password: hunter2hunter2"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("my password: hunter2hunter2")
        [fact] = await (await host.engine()).memory.facts(SCOPE)

    [response] = function_responses(model.requests[1])
    assert response["status"] == "success"
    assert "a password was left out" in response["note"]
    assert (fact.text, fact.metadata) == ("my password: [redacted: a password]", {})


@pytest.mark.acceptance("R05")
async def test_a_fact_remembered_twice_is_stored_once(tmp_path: Path) -> None:
    """Both calls succeed."""
    model = ScriptedLlm(call("remember", fact="Likes tea"), "ok", call("remember", fact="likes  tea."), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("one")
        await host.run_turn("two")
        count = await (await host.engine()).memory.count(SCOPE)

    assert [response["status"] for response in function_responses(model.requests[-1])] == ["success", "success"]
    assert count == 1


@pytest.mark.acceptance("R03", "Q08")
async def test_with_memory_off_the_tools_are_not_offered_and_a_call_is_refused(tmp_path: Path) -> None:
    """Models repeat calls they find in the conversation; that must not end the turn."""
    model = ScriptedLlm(call("remember", fact="tea"), call("load_memory", query="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model), config={"memory": {"enabled": False}}) as host:
        events = await host.run_turn("hm")

    assert [offered_tools(request) for request in model.requests] == [[], [], []]
    assert "load_memory" not in request_text(model.requests[0])
    assert [(response["status"], response["message"]) for response in function_responses(model.requests[-1])] == [
        ("error", "memory is disabled")
    ] * 2
    assert events_text(events).endswith("ok")


@pytest.mark.acceptance("R04", "Q06")
async def test_an_unavailable_database_fails_the_tools_but_not_the_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A write is an error, a read is unavailable, and neither logs what the user said."""
    model = ScriptedLlm(call("remember", fact="tea"), call("load_memory", query="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        break_database(await host.engine())
        events = await host.run_turn("hm")

    assert [response["status"] for response in function_responses(model.requests[-1])] == ["error", "unavailable"]
    assert function_responses(model.requests[-1])[1]["memories"] == []
    assert events_text(events).endswith("ok")
    assert SECRET_TEXT not in caplog.text


@pytest.mark.acceptance("R04")
@pytest.mark.parametrize("damage", ["file", "configuration"])
async def test_memory_that_cannot_be_opened_is_told_to_the_agent(tmp_path: Path, damage: str) -> None:
    """The tools are offered and say so, as in a later outage."""
    memory: dict[str, Any] = {"recall_limit": 500} if damage == "configuration" else {"tools": "basic"}
    (tmp_path / "gaia").mkdir()
    (tmp_path / "gaia" / "memory.db").write_bytes(b"no database" * 1_000)
    model = ScriptedLlm(call("load_memory", query="router"), call("remember", fact="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model), config={"memory": memory}) as host:
        events = await host.run_turn("What router do I have?")

    assert offered_tools(model.requests[0]) == (TOOLS if damage == "configuration" else TOOLS[:2])
    assert [response["status"] for response in function_responses(model.requests[-1])] == ["unavailable", "error"]
    assert events_text(events).endswith("ok")


async def test_memory_that_is_off_and_cannot_be_opened_offers_nothing(tmp_path: Path) -> None:
    """Nobody expects it to answer."""
    (tmp_path / "gaia").mkdir()
    (tmp_path / "gaia" / "memory.db").write_bytes(b"no database" * 1_000)
    model = ScriptedLlm("ok")
    async with open_plugin_host(tmp_path, build_agent(model), config={"memory": {"enabled": False}}) as host:
        await host.run_turn("What router do I have?")

    assert offered_tools(model.requests[0]) == []


@pytest.mark.acceptance("R04")
async def test_nothing_is_saved_in_a_turn_whose_conversation_may_be_private(tmp_path: Path) -> None:
    """The ledger was away when the turn began, and nobody knows."""
    model = ScriptedLlm(call("remember", fact="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        engine = await host.engine()
        engine.turns._client = broken_ledger_client(engine)
        await host.run_turn("I like tea")
        facts = await engine.memory.facts(SCOPE)

    assert offered_tools(model.requests[0]) == TOOLS
    assert [response["status"] for response in function_responses(model.requests[-1])] == ["error"]
    assert facts == []


@pytest.mark.acceptance("R04")
async def test_an_unavailable_embedder_does_not_block_remember(tmp_path: Path) -> None:
    """The fact is stored, and found by its words."""
    model = ScriptedLlm(call("remember", fact="allergic to nuts"), call("load_memory", query="nuts"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        engine = await host.engine()
        embedder = ScriptedEmbedder()
        embedder.error = ModelUnavailableError("no embedder")
        engine.backend.embedder = embedder
        await host.run_turn("hm")

    saved, found = function_responses(model.requests[-1])
    assert saved["status"] == "success"
    assert [memory["text"] for memory in found["memories"]] == ["allergic to nuts"]


@pytest.mark.acceptance("Q01")
async def test_load_memory_returns_compact_memories_best_first(tmp_path: Path) -> None:
    """At most `recall_limit`, each with only an id, a text and an ISO time."""
    texts = ["sister is called Noa", *(f"likes film number {number}" for number in range(7))]
    model = ScriptedLlm(call("load_memory", query="sister"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model), config={"memory": {"recall_limit": 3}}) as host:
        await (await host.engine()).memory.add(SCOPE, [NewFact(text, metadata={"secret": "x"}) for text in texts])
        await host.run_turn("who?")

    [response] = function_responses(model.requests[1])
    memories = response["memories"]
    assert response["status"] == "success"
    assert 1 <= len(memories) <= 3
    assert memories[0]["text"] == "sister is called Noa"
    assert all(set(memory) == {"id", "text", "timestamp"} for memory in memories)
    assert all(datetime.fromisoformat(memory["timestamp"]) for memory in memories)


@pytest.mark.acceptance("Q03", "Q04")
async def test_a_user_finds_no_fact_of_another_user(tmp_path: Path) -> None:
    """Not even with the exact words."""
    model = ScriptedLlm(call("load_memory", query="sister is called Noa"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await (await host.engine()).memory.remember(SCOPE, "sister is called Noa")
        events = await host.run_turn("who?", user="grace")

    assert function_responses(model.requests[1]) == [{"status": "success", "memories": []}]
    assert events_text(events).endswith("ok")


@pytest.mark.acceptance("Q05")
async def test_a_blank_query_is_an_error_with_no_memories(tmp_path: Path) -> None:
    """It raises no exception."""
    model = ScriptedLlm(call("load_memory", query="  "), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("hm")

    [response] = function_responses(model.requests[1])
    assert (response["status"], response["memories"]) == ("error", [])


@pytest.mark.parametrize("args", [{}, {"fact": None, "query": None}, {"fact": 7, "query": 7}])
async def test_malformed_arguments_do_not_end_the_turn(tmp_path: Path, args: dict[str, Any]) -> None:
    """Models omit arguments and confuse their types."""
    model = ScriptedLlm(call("remember", **args), call("load_memory", **args), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        events = await host.run_turn("hm")

    assert events_text(events).endswith("ok")


@pytest.mark.acceptance("L12")
@pytest.mark.parametrize("user", ["a b", " pad ", "7", "*", "../x", "a:b"])
async def test_every_user_id_has_its_own_memory(tmp_path: Path, user: str) -> None:
    """Ids are compared byte by byte."""
    model = ScriptedLlm(call("remember", fact="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("hm", user=user)
        memory = (await host.engine()).memory
        counts = [await memory.count(Scope("host", other)) for other in (user, user.strip() + "x", USER)]

    assert counts == [1, 0, 0]


@pytest.mark.acceptance("I21")
async def test_a_private_turn_saves_nothing(tmp_path: Path) -> None:
    """The tool saves nothing either."""
    model = ScriptedLlm(call("remember", fact="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("hm", run_config=RunConfig(custom_metadata={PRIVATE_KEY: True}))
        count = await (await host.engine()).memory.count(SCOPE)

    assert function_responses(model.requests[1])[0]["status"] == "error"
    assert count == 0


@pytest.mark.acceptance("Q08")
async def test_an_agent_is_offered_both_tools_with_usage_instructions(tmp_path: Path) -> None:
    """Every request is the same."""
    model = ScriptedLlm("one", "two")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("hm")
        await host.run_turn("hm")

    assert [offered_tools(request) for request in model.requests] == [TOOLS, TOOLS]
    assert model.requests[0].config.tools == model.requests[1].config.tools
    assert "`remember`" in request_text(model.requests[0])
    assert "`load_memory`" in request_text(model.requests[0])


async def test_tools_listed_by_the_agent_are_not_offered_twice(tmp_path: Path) -> None:
    """This applies to ours and to a tool of the same name."""

    def load_memory(query: str) -> str:
        """Another memory."""
        return f"nothing about {query}"

    model = ScriptedLlm(call("load_memory", query="x"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model, tools=[load_memory])) as host:
        await host.run_turn("hm")

    assert sorted(offered_tools(model.requests[0])) == sorted(TOOLS)
    assert function_responses(model.requests[1]) == [{"result": "nothing about x"}]


async def test_an_agent_with_an_output_schema_is_offered_no_functions(tmp_path: Path) -> None:
    """Models refuse both in one request; the profile is still included."""
    config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema={"type": "object"})
    model = ScriptedLlm("{}")
    agent = build_agent(model, generate_content_config=config)
    async with open_plugin_host(tmp_path, agent) as host:
        await (await host.engine()).memory.remember(SCOPE, "likes tea")
        await host.run_turn("hm")

    assert offered_tools(model.requests[0]) == []
    assert "`remember`" not in request_text(model.requests[0])
    assert "likes tea" in request_text(model.requests[0])


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_the_tools_of_an_agent_inside_an_agent_tool_use_the_same_memory(tmp_path: Path) -> None:
    """ADK gives that agent's Runner an empty memory service."""
    outer = ScriptedLlm(call("inner", request="note it"), "ok")
    inner = ScriptedLlm(call("remember", fact="likes tea"), "noted")
    async with open_plugin_host(tmp_path, build_agent(outer)) as host:
        tools = memory_tools(host.source)
        host.runner.agent.tools.append(AgentTool(build_agent(inner, "inner", tools=tools)))
        await host.run_turn("I like tea")
        facts = await (await host.engine()).memory.facts(SCOPE)

    assert [fact.text for fact in facts] == ["likes tea"]


async def test_remember_asks_no_model(tmp_path: Path) -> None:
    """The extractor is not asked."""
    extractor = ScriptedExtractor()
    model = ScriptedLlm(call("remember", fact="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        (await host.engine()).consolidator.learner._extractor = extractor
        await host.run_turn("hm")

    assert extractor.chunks == []


async def test_what_a_search_shows_the_model_has_a_budget(tmp_path: Path) -> None:
    """By default; five facts of 100,000 characters would be half a million. ADK's own tool gets the same."""
    model = ScriptedLlm(call("load_memory", query="roses"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        await host.run_turn("/help")
        engine = await host.engine()
        await engine.memory.add(SCOPE, [NewFact(f"{number} " + "roses need pruning " * 5_000) for number in range(5)])
        await host.run_turn("What do roses need?")
        service = Mem0MemoryService(config=host.config)
        found = await service.search_memory(app_name=SCOPE.app or "", user_id=USER, query="roses")

    [response] = function_responses(model.requests[1])
    [shown] = [memory["text"] for memory in response["memories"]]
    assert [part.text for entry in found.memories for part in entry.content.parts or []] == [shown]
    assert shown.endswith(" […]")
    assert estimate_tokens(shown) <= TOOL_TOKENS


async def test_a_configured_budget_holds_in_every_answer(tmp_path: Path) -> None:
    """Even one fact that is longer than the budget keeps to it."""
    config = {"memory": {"recall": {"tokens": 200}}}
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok")), config=config) as host:
        engine = await host.engine()
        await engine.memory.add(SCOPE, [NewFact("roses need pruning " * 5_000)])
        [hit] = await engine.memory.recall(SCOPE, "roses")

    assert estimate_tokens(hit.fact.text) <= 200


@pytest.mark.acceptance("W15")
async def test_a_long_result_of_another_tool_is_cut_in_the_request_alone(tmp_path: Path) -> None:
    """The stored event keeps all of it."""

    def read_page() -> dict[str, str]:
        """Read a page."""
        return {"status": "ok", "page": "word " * 10_000}

    model = ScriptedLlm(call("read_page"), "ok", "ok again")
    async with open_plugin_host(
        tmp_path, build_agent(model, tools=[read_page]), plugins=[SessionWindowPlugin()]
    ) as host:
        await host.run_turn("Read it")
        await host.run_turn("And now?")
        session = await host.load_session()

    assert session is not None
    [stored] = [response.response for event in session.events for response in event.get_function_responses()]
    assert stored == {"status": "ok", "page": "word " * 10_000}
    for request in model.requests[1:]:
        [shown] = function_responses(request)
        assert shown["result"].startswith('{"status": "ok", "page": "word word')
        assert re.search(r"… \[cut: 380\d\d more characters\]$", shown["result"])
        assert len(str(shown)) <= 12_000
