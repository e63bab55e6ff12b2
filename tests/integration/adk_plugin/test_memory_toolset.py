"""The tools `recall`, `update_memory` and `forget_memory`, and the toolset that offers them, on a real Runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool

from gaia_memory import MemoryToolset
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from gaia_memory.models import Fact, NewFact, Scope
from gaia_memory.testing import ScriptedLlm, call
from support.plugin_host import (
    KEY,
    SCOPE,
    TOOLS,
    PluginHost,
    break_database,
    build_agent,
    events_text,
    function_responses,
    offered_tools,
    open_plugin_host,
    request_text,
    user_content,
)

ADDRESS = "Lives at 12 Rose Street"
BAD_INPUTS: list[tuple[str, dict[str, Any], str]] = [
    ("remember", {"due_at": "2001-01-01"}, "due_at is '2001-01-01': it is past"),
    ("remember", {"due_at": "soonish"}, "due_at is 'soonish': pass an ISO time"),
    ("remember", {"due_at": "2999-12-32"}, "due_at is '2999-12-32': pass an ISO time"),
    ("remember", {"due_at": "February 30"}, "due_at is 'February 30': pass an ISO time"),
    ("remember", {"due_at": "tomorrow", "every": "FREQ=SECONDLY"}, "every is 'FREQ=SECONDLY': pass one of daily"),
    ("remember", {"every": "weekly"}, "every is 'weekly': pass due_at too"),
    ("remember", {"context": "wo\x00rk"}, r"context is 'wo\x00rk': pass a visible text"),
    ("remember", {"sensitive": "perhaps"}, "sensitive is 'perhaps': pass true or false"),
    ("remember", {"valid_until": "2001-01-01"}, "valid_until is '2001-01-01': it is past"),
    ("remember", {"colour": "red"}, "remember has no argument 'colour': it takes fact, category"),
    ("recall", {"limit": "1000"}, "limit is '1000': pass 1 to 100"),
    ("recall", {"limit": 0}, "limit is 0: pass 1 to 100"),
    ("recall", {"offset": -1}, "offset is -1: pass 0 to 800"),
    ("recall", {"since": "whenever"}, "since is 'whenever': pass an ISO time"),
    ("recall", {"category": ["a"]}, "category is ['a']: pass a text"),
    ("update_memory", {}, "update_memory needs id"),
    ("switch_context", {"context": "wo\x00rk"}, r"context is 'wo\x00rk': pass a visible text"),
    ("forget_memory", {"id": 7}, "id is 7: no fact with this id was shown"),
]
"""Tools with arguments and what the refusal says."""


class Talk:
    """A conversation in which a scripted model calls tools."""

    def __init__(self, host: PluginHost, model: ScriptedLlm) -> None:
        """Take the Runner and its model."""
        self.host, self.model = host, model

    async def use(self, text: str, tool: str, *, says: str = "ok", **arguments: Any) -> dict[str, Any]:
        """Run a turn in which the model calls one tool; return the tool's answer."""
        self.model.add(call(tool, **arguments), says)
        await self.host.run_turn(text)
        return function_responses(self.model.requests[-1])[-1]

    async def shown(self, query: str) -> str:
        """Have the model look something up; return the id of the first result."""
        return str((await self.use("hm", "load_memory", query=query))["memories"][0]["id"])

    async def facts(self) -> list[Fact]:
        """Return what is known."""
        return await (await self.host.engine()).memory.facts(SCOPE)

    async def add(self, *texts: str, scope: Scope = SCOPE, **details: Any) -> list[Fact]:
        """Store facts."""
        memory = (await self.host.engine()).memory
        return list(await memory.add(scope, [NewFact(text, **details) for text in texts]))


@asynccontextmanager
async def open_talk(folder: Path, *, settings: dict[str, Any] | None = None, **memory: Any) -> AsyncIterator[Talk]:
    model = ScriptedLlm()
    config = {"memory": {"time_zone": "Europe/Berlin", **memory, **(settings or {})}}
    async with open_plugin_host(folder, build_agent(model), config=config) as host:
        yield Talk(host, model)


async def test_by_default_an_agent_is_offered_all_tools_and_told_of_them(tmp_path: Path) -> None:
    """The same in each request."""
    async with open_talk(tmp_path) as talk:
        talk.model.add("one", "two")
        await talk.host.run_turn("hm")
        await talk.host.run_turn("hm")

    first, second = talk.model.requests
    assert offered_tools(first) == offered_tools(second) == TOOLS
    assert first.config == second.config
    assert all(f"`{name}`" in request_text(first) for name in TOOLS)


async def test_basic_tools_are_remember_and_load_memory(tmp_path: Path) -> None:
    """A call that the conversation still shows is refused, and the turn goes on."""
    async with open_talk(tmp_path, settings={"tools": "basic"}) as talk:
        talk.model.add("ok")
        await talk.host.run_turn("hm")
        tool = MemoryToolset(config=talk.host.config)
        names = [each.name for each in await tool.get_tools()]
        await tool.close()

    assert offered_tools(talk.model.requests[0]) == names == TOOLS[:2]
    assert "recall" not in request_text(talk.model.requests[0])
    [declaration, _] = talk.model.requests[0].config.tools[0].function_declarations
    assert list(declaration.parameters_json_schema["properties"]) == ["fact"]


async def test_remember_stores_the_details_it_is_given(tmp_path: Path) -> None:
    """Times are read in the person's zone."""
    async with open_talk(tmp_path) as talk:
        details = {"category": "chores", "context": "family", "entity": "the bins", "every": "weekly"}
        answer = await talk.use(
            "remind me of the bins", "remember", fact="Take out the bins", due_at="2999-03-04T09:00", **details,
            sensitive=True, valid_until="3000-01-01",
        )  # fmt: skip
        [fact] = await talk.facts()

    assert {name: getattr(fact, name) for name in details} == details
    assert fact.due_at == datetime(2999, 3, 4, 8, tzinfo=UTC)
    assert (fact.due_zone, fact.due_all_day, fact.sensitive) == ("Europe/Berlin", False, True)
    assert fact.valid_until == datetime(3000, 1, 1, 23, tzinfo=UTC)
    assert (answer["status"], answer["text"], answer["due_at"]) == (
        "success",
        "Take out the bins",
        "2999-03-04T09:00+01:00",
    )


async def test_due_dates_are_read_from_words(tmp_path: Path) -> None:
    """With their recurrence; a day without a time is a whole day."""
    async with open_talk(tmp_path) as talk:
        await talk.use("remind me", "remember", fact="Call Noa", due_at="every Monday at 9:30")
        await talk.use("remind me", "remember", fact="Buy figs", due_at="tomorrow")
        this_week = await talk.use("remind me", "remember", fact="Buy dates", due_at="this week")
        call_noa, buy_figs, _ = await talk.facts()

    assert call_noa.every == "weekly"
    assert call_noa.due_at is not None
    assert call_noa.due_at.weekday() == 0
    assert (call_noa.due_all_day, buy_figs.due_all_day, buy_figs.due_zone) == (False, True, "Europe/Berlin")
    assert this_week["status"] == "success"


async def test_bad_input_is_refused_in_a_way_the_model_can_read(tmp_path: Path) -> None:
    """Nothing is written."""
    answers = []
    async with open_talk(tmp_path) as talk:
        for tool, arguments, _ in BAD_INPUTS:
            fact = {"fact": "Likes figs"} if tool == "remember" else {}
            answers.append(await talk.use("I like figs", tool, **fact, **arguments))
        facts = await talk.facts()

    assert {answer["status"] for answer in answers} == {"error"}
    pairs = zip(answers, BAD_INPUTS, strict=True)
    assert [named for answer, (*_, named) in pairs if named not in answer["message"]] == []
    assert facts == []


async def test_an_unknown_time_zone_of_the_session_is_refused(tmp_path: Path) -> None:
    """Only the host can change it, so the answer names where it is set."""
    async with open_talk(tmp_path) as talk:
        await talk.host.sessions.create_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session, state={"user:time_zone": "Mars/Base"}
        )
        answer = await talk.use("remind me", "remember", fact="Call Noa", due_at="tomorrow")
        facts = await talk.facts()

    assert (answer["status"], facts) == ("error", [])
    assert "user:time_zone is 'Mars/Base'" in answer["message"]


@pytest.mark.acceptance("W08")
async def test_recall_lists_pages_of_what_passes_the_filters(tmp_path: Path) -> None:
    """A limit above 100 gets 100 and a note, and nobody else's facts are among them."""
    async with open_talk(tmp_path) as talk:
        await talk.add(*(f"eats dish {number}" for number in range(130)), category="food")
        await talk.add("has a boat", category="travel")
        await talk.add("eats nothing", category="food", scope=Scope(SCOPE.app, "grace"))
        cut = await talk.use("hm", "recall", category="food", limit=200)
        rest = await talk.use("hm", "recall", category="food", offset=100, limit=100)
        asked = await talk.use("hm", "recall", query="dish", category="food", limit=3)
        both = await talk.use("hm", "recall", query="boat", category="food")

    assert [each["text"] for each in cut["memories"]] == [f"eats dish {number}" for number in range(100)]
    assert (cut["status"], cut["has_more"]) == ("success", True)
    assert cut["note"].startswith("limit is 200, and an answer has at most 100: pass offset for others; ")
    assert [each["text"] for each in rest["memories"]] == [f"eats dish {number}" for number in range(100, 130)]
    assert (rest["status"], rest["has_more"]) == ("success", False)
    assert (len(asked["memories"]), asked["has_more"]) == (3, True)
    assert (both["memories"], both["has_more"]) == ([], False)


async def test_recall_filters_by_time_context_entity_and_agent(tmp_path: Path) -> None:
    """Words for times count, too."""
    old, new = datetime.now(UTC) - timedelta(days=40), datetime.now(UTC) - timedelta(days=2)
    async with open_talk(tmp_path) as talk:
        await talk.add("likes figs", said_at=old, entity="Noa")
        await talk.add("likes picnics", said_at=old - timedelta(days=1), context="family")
        await talk.add("likes dates", said_at=new, agent="doc_expert")
        found = [
            [each["text"] for each in (await talk.use("hm", "recall", **filters))["memories"]]
            for filters in (
                {"entity": "Noa"},
                {"context": "family"},
                {"agent": "doc_expert"},
                {"since": "last week"},
                {"until": (old + timedelta(days=1)).date().isoformat()},
                {"query": "likes", "since": (new - timedelta(days=1)).isoformat()},
            )
        ]

    assert found == [
        *[["likes figs"], ["likes picnics"]],
        *[["likes dates"]] * 2,
        *[["likes figs"], ["likes dates"]],
    ]


@pytest.mark.acceptance("W09")
async def test_only_ids_of_this_person_that_the_conversation_was_shown_are_accepted(tmp_path: Path) -> None:
    """Whole or short, with or without `#`."""
    async with open_talk(tmp_path) as talk:
        [mine] = await talk.add("Lives in Berlin")
        [foreign] = await talk.add("Lives in Berlin", scope=Scope(SCOPE.app, "grace"))
        ids = (foreign.id, f"#{foreign.id[:6]}", mine.id, f"#{mine.id[:6]}", mine.id[:3], "#", "")
        refused = [await talk.use("not Berlin", "update_memory", id=each, fact="Lives in Rome") for each in ids]
        before = await talk.facts()
        short_id = await talk.shown("Berlin")
        still = await talk.use("not Berlin", "forget_memory", id=foreign.id)
        done = [
            await talk.use("not Berlin", "update_memory", id=each, category="home")
            for each in (short_id, short_id.removeprefix("#"), mine.id)
        ]
        others = await (await talk.host.engine()).memory.facts(Scope(SCOPE.app, "grace"))

    assert {each["status"] for each in [*refused, still]} == {"error"}
    assert len({each["message"].split(": ", 1)[1] for each in [*refused, still]}) == 1
    assert (before, others) == ([mine], [foreign])
    assert [each["status"] for each in done] == ["success"] * 3


async def test_what_was_shown_outlives_the_process_and_not_the_conversation(tmp_path: Path) -> None:
    """It is kept in the database, apart for each conversation."""
    async with open_talk(tmp_path) as talk:
        await talk.add("Lives in Berlin")
        short_id = await talk.shown("Berlin")
    async with open_talk(tmp_path) as talk:
        talk.model.add(call("update_memory", id=short_id, category="home"), "ok")
        await talk.host.run_turn("I left Berlin", session="another")
        elsewhere = function_responses(talk.model.requests[-1])[-1]
        kept = await talk.use("I left Berlin", "update_memory", id=short_id, category="home")
        await talk.host.run_turn("/reset")
        after_reset = await talk.use("I left Berlin", "update_memory", id=short_id, category="town")

    assert [each["status"] for each in (elsewhere, kept, after_reset)] == ["error", "success", "error"]


async def test_an_update_changes_only_what_is_given(tmp_path: Path) -> None:
    """The fact keeps its id, and the agent is named in its history."""
    async with open_talk(tmp_path) as talk:
        [before] = await talk.add("Lives in Berlin", category="home", due_at=datetime(2999, 1, 1, tzinfo=UTC))
        short_id = await talk.shown("Berlin")
        moved = await talk.use("I moved from Berlin to Rome", "update_memory", id=short_id, fact="Lives in Rome")
        again = await talk.use("not Rome", "update_memory", id=short_id, category="", due_at="", sensitive=True)
        [after] = await talk.facts()
        history = await (await talk.host.engine()).memory.history(SCOPE, before.id)
        origins = await (await talk.host.engine()).memory.sources(SCOPE, before.id)

    assert (moved["status"], moved["id"], moved["text"]) == ("success", short_id, "Lives in Rome")
    assert (again["status"], after.id, after.text) == ("success", before.id, "Lives in Rome")
    assert (after.category, after.due_at, after.sensitive) == (None, None, True)
    assert after.source == "agent"
    assert not after.is_unconfirmed
    assert [(past.text, past.actor) for past in history if past.ended_at] == [("Lives in Berlin", "agent:root")]
    assert origins[-1].agent == "root"
    assert "moved from Berlin" in (origins[-1].excerpt or "")


async def test_a_tool_repeats_no_sensitive_fact_that_the_person_does_not_name(tmp_path: Path) -> None:
    """The conversation was shown it before it was sensitive; the person's own words still change it."""
    async with open_talk(tmp_path, settings={"agent_writes": "confirm"}) as talk:
        [fact] = await talk.add("Takes Truvada", due_at=datetime(2999, 1, 1, tzinfo=UTC))
        short_id = await talk.shown("Truvada")
        await (await talk.host.engine()).memory.update(SCOPE, fact.id, sensitive=True)
        unasked = [
            await talk.use("nice weather", tool, id=short_id, **changes)
            for tool, changes in (("forget_memory", {}), ("update_memory", {"sensitive": False}),
                                  ("update_memory", {"reminded_at": "now"}))
        ]  # fmt: skip
        kept = await talk.facts()
        asked = await talk.use("forget the Truvada", "forget_memory", id=short_id)
        done = await talk.use("yes", "forget_memory", id=short_id)

    assert [each["status"] for each in [*unasked, asked, done]] == [*["error"] * 3, "confirmation_required", "success"]
    assert not [each for each in unasked if "Truvada" in str(each)]
    assert "this fact is sensitive" in unasked[0]["message"]
    assert [each.reminded_at for each in kept] == [None]


@pytest.mark.acceptance("W10")
async def test_a_fact_is_forgotten_if_the_person_asks_for_it_and_else_not(tmp_path: Path) -> None:
    """The person's words name it by its text or its category; with `undo_seconds: 0` it is erased at once."""
    async with open_talk(tmp_path, undo_seconds=0) as talk:
        await talk.add(ADDRESS, category="address")
        short_id = await talk.shown("Rose Street")
        refused = await talk.use("nice weather", "forget_memory", id=short_id)
        kept = await talk.facts()
        done = await talk.use("forget my old address", "forget_memory", id=short_id)
        memory = (await talk.host.engine()).memory
        await memory.settled()
        left = await talk.facts()
        files = await asyncio.to_thread(lambda: list((tmp_path / "gaia").rglob("*")))
        found = [
            path for path in files if path.is_file() and b"Rose Street" in await asyncio.to_thread(path.read_bytes)
        ]

    assert refused == {"status": "confirmation_required", "message": refused["message"], "text": ADDRESS}
    assert [fact.text for fact in kept] == [ADDRESS]
    assert (done["status"], left, found) == ("success", [], [])


async def test_a_yes_to_the_fact_that_the_tool_named_allows_the_change(tmp_path: Path) -> None:
    """Only in the next message, for the same fact and the same tool."""
    async with open_talk(tmp_path) as talk:
        await talk.add(ADDRESS)
        short_id = await talk.shown("Rose Street")
        asked = [await talk.use("hm", "forget_memory", says="May I?", id=short_id)]
        other_tool = await talk.use("yes", "update_memory", id=short_id, category="home")
        asked.append(await talk.use("hm", "forget_memory", says="May I?", id=short_id))
        talk.model.add("fine")
        await talk.host.run_turn("wait")
        too_late = await talk.use("yes", "forget_memory", id=short_id)
        asked.append(await talk.use("hm", "forget_memory", says="May I?", id=short_id))
        done = await talk.use("Yes, please!", "forget_memory", id=short_id)
        facts = await talk.facts()

    assert {each["status"] for each in [*asked, other_tool, too_late]} == {"confirmation_required"}
    assert (done["status"], facts) == ("success", [])


async def test_that_the_person_was_reminded_needs_no_request(tmp_path: Path) -> None:
    """Everything else in the same call does."""
    async with open_talk(tmp_path, agent_writes="refuse") as talk:
        [fact] = await talk.add("Take out the bins", due_at=datetime(2999, 1, 1, tzinfo=UTC))
        short_id = await talk.shown("bins")
        refused = await talk.use("the bins", "update_memory", id=short_id, reminded_at="now", category="x")
        done = await talk.use("thanks", "update_memory", id=short_id, reminded_at="now")
        [after] = await talk.facts()

    assert (refused["status"], done["status"]) == ("error", "success")
    assert fact.reminded_at is None
    assert after.reminded_at is not None
    assert (after.category, after.due_at) == (None, fact.due_at)


@pytest.mark.parametrize(("policy", "status"), [("refuse", "error"), ("confirm", "confirmation_required")])
async def test_agent_writes_applies_to_changes(tmp_path: Path, policy: str, status: str) -> None:
    """Even where the person's words ask for it; with `confirm` a yes is enough."""
    async with open_talk(tmp_path, agent_writes=policy) as talk:
        [fact] = await talk.add(ADDRESS)
        short_id = await talk.shown("Rose Street")
        held = await talk.use("remember figs", "remember", fact="Likes figs", category="food")
        refused = await talk.use("forget Rose Street", "forget_memory", id=short_id)
        kept = await talk.facts()
        after_yes = await talk.use("yes", "forget_memory", id=short_id)

    assert {held["status"], refused["status"]} == {status}
    assert kept == [fact]
    assert after_yes["status"] == ("success" if policy == "confirm" else "error")


async def test_a_held_fact_is_stored_with_its_details(tmp_path: Path) -> None:
    """Once the person says yes."""
    async with open_talk(tmp_path, agent_writes="confirm") as talk:
        await talk.use("I like figs", "remember", says="May I?", fact="Likes figs", category="food")
        talk.model.add("saved")
        await talk.host.run_turn("yes")
        [fact] = await talk.facts()

    assert (fact.text, fact.category) == ("Likes figs", "food")


async def test_a_private_turn_writes_nothing(tmp_path: Path) -> None:
    """Not even which facts it was shown."""
    private = RunConfig(custom_metadata={PRIVATE_KEY: True})
    async with open_talk(tmp_path) as talk:
        [fact] = await talk.add(ADDRESS)
        talk.model.add(call("recall", query="Rose"), call("forget_memory", id=f"#{fact.id[:6]}"), "ok")
        await talk.host.run_turn("forget Rose Street", run_config=private)
        found, refused = function_responses(talk.model.requests[-1])
        later = await talk.use("forget Rose Street", "forget_memory", id=fact.id)

    assert [each["text"] for each in found["memories"]] == [ADDRESS]
    assert (refused["status"], later["status"]) == ("error", "error")
    assert "private" in refused["message"]


@pytest.mark.parametrize("tools", [{}, {"tool_name_prefix": "mem"}, {"tool_filter": ["recall", "load_memory"]}])
async def test_an_agent_with_the_toolset_gets_no_tool_twice(tmp_path: Path, tools: dict[str, Any]) -> None:
    """And is told once of those it has."""
    model = ScriptedLlm("one", "two")
    config = {"home": str(tmp_path / "gaia")}
    toolset = MemoryToolset(config=config, **tools)
    async with open_plugin_host(tmp_path, build_agent(model, tools=[toolset])) as host:
        await host.run_turn("hm")
        await host.run_turn("hm")

    prefix = "mem_" if "tool_name_prefix" in tools else ""
    names = [prefix + name for name in tools.get("tool_filter", TOOLS)]
    assert sorted(offered_tools(model.requests[0])) == sorted(names)
    assert model.requests[0].config == model.requests[1].config
    assert request_text(model.requests[0]).count("long-term memory of the user") == 1
    assert all((f"`{name}`" in request_text(model.requests[0])) == (name in names) for name in TOOLS)


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_the_toolset_works_in_an_agent_tool(tmp_path: Path) -> None:
    """The words of the person count, not those of the calling agent."""
    outer, inner = ScriptedLlm(), ScriptedLlm()
    toolset = MemoryToolset(config={"home": str(tmp_path / "gaia")})
    agent = build_agent(outer, tools=[AgentTool(build_agent(inner, "keeper", tools=[toolset]))])
    async with open_plugin_host(tmp_path, agent) as host:
        memory = (await host.engine()).memory
        fact = await memory.remember(SCOPE, ADDRESS)
        outer.add(call("keeper", request="look up Rose Street"), "ok")
        inner.add(call("recall", query="Rose Street"), "found")
        await host.run_turn("where do I live?")
        outer.add(call("keeper", request="forget Rose Street"), "ok")
        inner.add(call("forget_memory", id=fact.id), "no")
        await host.run_turn("nice weather")
        refused = function_responses(inner.requests[-1])[-1]
        outer.add(call("keeper", request="forget it"), "ok")
        inner.add(call("forget_memory", id=fact.id), "done")
        await host.run_turn("forget Rose Street")
        facts = await memory.facts(SCOPE)

    assert refused["status"] == "confirmation_required"
    assert facts == []


@pytest.mark.acceptance("W20")
async def test_without_memory_there_are_no_tools_and_without_its_database_the_turn_is_answered(tmp_path: Path) -> None:
    """Switched off and cut off."""
    toolset = MemoryToolset(config={"home": str(tmp_path / "off"), "memory": {"enabled": False}})
    off = ScriptedLlm("hello")
    async with open_plugin_host(
        tmp_path, build_agent(off, tools=[toolset]), config={"memory": {"enabled": False}}
    ) as host:
        switched_off = await host.run_turn("hm")
    async with open_talk(tmp_path) as talk:
        await talk.host.run_turn("/help")
        break_database(await talk.host.engine())
        talk.model.add(
            *[call("recall", query="figs"), call("remember", fact="Likes figs", category="food")],
            *[call("update_memory", id="#a1b2c3", category="x"), call("forget_memory", id="#a1b2c3"), "sorry"],
        )
        cut_off = await talk.host.run_turn("I like figs")
        answers = function_responses(talk.model.requests[-1])

    assert offered_tools(off.requests[0]) == []
    assert events_text(switched_off).endswith("hello")
    assert events_text(cut_off).endswith("sorry")
    assert [each["status"] for each in answers] == ["unavailable", "error", "error", "error"]


@pytest.mark.acceptance("W22")
async def test_an_agent_reads_what_another_agent_of_the_same_person_noted(tmp_path: Path) -> None:
    """And corrects it only if the person asks; another person's agent finds nothing."""
    config = {"home": str(tmp_path / "gaia"), "memory": {"profile_agents": "all"}}
    expert, root = ScriptedLlm(), ScriptedLlm()
    agent = build_agent(root, sub_agents=[build_agent(expert, "doc_expert")])
    async with open_plugin_host(tmp_path, agent, config=config) as host:
        root.add(call("transfer_to_agent", agent_name="doc_expert"))
        expert.add(call("remember", fact="Prefers short summaries"), "noted")
        await host.run_turn("I prefer short summaries")
        root.add(call("recall", query="summaries", agent="doc_expert"), "found")
        expert.add(call("transfer_to_agent", agent_name="root"))
        await host.run_turn("hm")
        [found] = function_responses(root.requests[-1])[-1]["memories"]
        root.add(call("update_memory", id=found["id"], fact="Prefers long texts"), "no")
        await host.run_turn("nice weather")
        refused = function_responses(root.requests[-1])[-1]
        root.add(call("update_memory", id=found["id"], fact="Prefers long summaries"), "done")
        await host.run_turn("I prefer long summaries")
        corrected = function_responses(root.requests[-1])[-1]
        root.add(call("recall", query="summaries", agent="doc_expert"), "nothing")
        await host.run_turn("hm", user="grace")

    assert (found["text"], found["agent"]) == ("Prefers short summaries", "doc_expert")
    assert (refused["status"], corrected["status"]) == ("confirmation_required", "success")
    assert function_responses(root.requests[-1])[-1]["memories"] == []


@pytest.mark.acceptance("W24")
async def test_a_fact_of_the_app_stands_beside_personal_ones_and_no_tool_changes_it(tmp_path: Path) -> None:
    """Only code writes it, and only with `memory.app_facts` is it asked."""
    shared = Scope.app_wide(SCOPE.app or "")
    async with open_talk(tmp_path, app_facts=True) as talk:
        memory = (await talk.host.engine()).memory
        await talk.add("The office kitchen closes at nine", scope=shared)
        [own] = await talk.add("Works in the office kitchen")
        loaded = await talk.use("hm", "load_memory", query="office kitchen")
        found = await talk.use("hm", "recall", query="office kitchen")
        listed = await talk.use("hm", "recall")
        [fact] = await memory.facts(shared)
        refused = await talk.use("forget the office kitchen", "forget_memory", id=fact.id)
        await talk.use("I like figs", "remember", fact="Likes figs")
        hits = await memory.recall(SCOPE, "office kitchen")
        after = await memory.facts(shared)
    async with open_talk(tmp_path) as talk:
        alone = await talk.use("hm", "load_memory", query="office kitchen")

    assert {each["text"] for each in loaded["memories"]} == {fact.text, own.text}
    assert [each.get("id") for each in loaded["memories"] if each["text"] == fact.text] == [None]
    shown = (loaded["memories"], found["memories"])
    assert [[each["text"] for each in rows if each.get("app_wide")] for rows in shown] == [[fact.text]] * 2
    assert [each["text"] for each in listed["memories"]] == [own.text]
    assert (refused["status"], after) == ("error", [fact])
    assert {hit.fact.scope for hit in hits} == {SCOPE, shared}
    assert alone["memories"][0]["text"] == own.text
    assert fact.text not in [each["text"] for each in alone["memories"]]


async def test_the_tools_show_the_active_context_and_nothing_sensitive(tmp_path: Path) -> None:
    """New facts belong to it; a sensitive fact is shown if the person's words name it."""
    async with open_talk(tmp_path) as talk:
        await talk.host.sessions.create_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session, state={"user:memory_context": "work"}
        )
        await talk.add("likes figs")
        await talk.add("likes meetings", context="work")
        await talk.add("likes picnics", context="family")
        await talk.add("likes the diabetes clinic", sensitive=True)
        listed = await talk.use("hm", "recall")
        found = await talk.use("hm", "recall", query="what the user likes")
        family = await talk.use("hm", "recall", query="likes", context="family")
        named = await talk.use("what about diabetes?", "recall", query="likes diabetes")
        await talk.use("I like tables", "remember", fact="Likes tables")
        await talk.use("I like swings", "remember", fact="Likes swings", context="family")
        switched = await talk.use("now the family", "switch_context", context="family")
        family_now = await talk.use("hm", "recall")
        await talk.use("I like slides", "remember", fact="Likes slides", context="Global")
        none = await talk.use("now for me", "switch_context", context=" GLOBAL ")
        contexts = {fact.text: fact.context for fact in await talk.facts()}

    assert [each["text"] for each in listed["memories"]] == ["likes figs", "likes meetings"]
    assert {each["text"] for each in found["memories"]} == {"likes figs", "likes meetings"}
    assert [each["text"] for each in family["memories"]] == ["likes picnics"]
    assert "likes the diabetes clinic" in [each["text"] for each in named["memories"]]
    assert switched == {"status": "success", "context": "family"}
    assert [each["text"] for each in family_now["memories"]] == ["likes figs", "likes picnics", "Likes swings"]
    assert (contexts["Likes tables"], contexts["Likes swings"]) == ("work", "family")
    assert (contexts["Likes slides"], none["context"]) == ("global", "global")


async def test_the_toolset_works_without_the_plugin(tmp_path: Path) -> None:
    """In a Runner whose memory service names the configuration; a yes counts there, too."""
    model = ScriptedLlm()
    toolset = MemoryToolset()
    service = Mem0MemoryService(config={"home": str(tmp_path / "gaia")})
    runner = Runner(
        app=App(name=KEY.app, root_agent=build_agent(model, tools=[toolset])),
        session_service=InMemorySessionService(),
        memory_service=service,
        auto_create_session=True,
    )

    async def use(text: str, *answers: Any) -> dict[str, Any]:
        model.add(*answers)
        async for _ in runner.run_async(user_id=KEY.user, session_id="s", new_message=user_content(text)):
            pass
        return function_responses(model.requests[-1])[-1]

    saved = await use("I like figs", call("remember", fact="Likes figs"), "ok")
    asked = await use("hm", call("forget_memory", id=saved["id"]), "May I?")
    done = await use("yes", call("forget_memory", id=saved["id"]), "ok")
    left = await use("hm", call("recall"), "nothing")
    await runner.close()

    assert [each["status"] for each in (saved, asked, done)] == ["success", "confirmation_required", "success"]
    assert left["memories"] == []
    assert request_text(model.requests[0]).count("long-term memory of the user") == 1
    assert (tmp_path / "gaia" / "memory.db").exists()


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")
async def test_without_the_plugin_the_words_of_a_calling_agent_count_as_the_persons(tmp_path: Path) -> None:
    """An AgentTool passes on nothing else."""
    outer, inner = ScriptedLlm(), ScriptedLlm()
    config = {"home": str(tmp_path / "gaia")}
    keeper = build_agent(inner, "keeper", tools=[MemoryToolset(config=config)])
    runner = Runner(
        app=App(name=KEY.app, root_agent=build_agent(outer, tools=[AgentTool(keeper)])),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    outer.add(call("keeper", request="the user likes figs, then forget figs"), "ok")
    inner.add(call("remember", fact="Likes figs"), lambda request: forget_shown(request), "done")
    async for _ in runner.run_async(user_id=KEY.user, session_id="s", new_message=user_content("hello")):
        pass
    await runner.close()

    assert [each["status"] for each in function_responses(inner.requests[-1])] == ["success", "success"]


def forget_shown(request: Any) -> Any:
    """Forget the fact that the last answer showed."""
    return call("forget_memory", id=function_responses(request)[-1]["id"])


@pytest.mark.parametrize("memory", [{"database_url": "postgresql+asyncpg://127.0.0.1:1/none"}, {"recall_limit": 500}])
async def test_memory_that_cannot_be_opened_costs_the_tools_alone(tmp_path: Path, memory: dict[str, Any]) -> None:
    """The tools are offered and say so; the plugin is not needed for that."""
    model = ScriptedLlm(call("recall"), call("remember", fact="Likes figs"), "sorry")
    toolset = MemoryToolset(config={"home": str(tmp_path / "gaia"), "memory": memory})
    runner = Runner(
        app=App(name=KEY.app, root_agent=build_agent(model, tools=[toolset])),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    turn = runner.run_async(user_id=KEY.user, session_id="s", new_message=user_content("I like figs"))
    events = [event async for event in turn]
    await runner.close()

    assert offered_tools(model.requests[0]) == TOOLS
    assert [each["status"] for each in function_responses(model.requests[-1])] == ["unavailable", "error"]
    assert events_text(events).endswith("sorry")


async def test_recall_answers_as_of_a_time(tmp_path: Path) -> None:
    """What has ended is shown without an id: no tool can change it."""
    now = datetime.now(UTC)
    async with open_talk(tmp_path) as talk:
        await talk.add("Lives in Berlin", said_at=now - timedelta(days=400))
        await talk.add("Stays at the Grand Hotel", said_at=now - timedelta(days=9), valid_until=now - timedelta(days=5))
        memory = (await talk.host.engine()).memory
        await memory.settled()
        then = (now - timedelta(days=7)).date().isoformat()
        answers = [
            await talk.use("hm", "recall", **asked)
            for asked in ({}, {"as_of": then}, {"as_of": then, "query": "Where does the user stay?"})
        ]

    texts = [{each["text"] for each in answer["memories"]} for answer in answers]
    assert texts[0] == {"Lives in Berlin"}
    assert texts[1] == {"Lives in Berlin", "Stays at the Grand Hotel"}
    assert "Stays at the Grand Hotel" in texts[2]
    assert [each.get("id") for each in answers[1]["memories"] if "Hotel" in each["text"]] == [None]
