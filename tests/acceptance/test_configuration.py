"""An edited gaia.yaml applies at the next message, sweep or call, in our Conversation and in any Runner."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.engine_registry import _registry
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.testing import FakeClock, ScriptedLlm, call
from support.harness import ALL, Sut, facts, text_parts, tool_names, tool_responses
from support.host_matrix import ConversationHost, Host, RunnerHost, force_sweep, last_request, wait_until
from support.host_matrix import stored_fact_texts as facts_of
from support.hosts.plain_runner import APP, USER
from support.plugin_host import broken_ledger_client
from support.servers.fake_gemini import FakeGemini
from support.servers.fake_gemini import facts as learned

Make = Callable[..., Awaitable[Sut]]
Opened = Callable[[str], Awaitable[Host]]

OURS = {"remember", "load_memory"}


@pytest.fixture(params=["conversation", "foreign runner"])
async def opened(request: pytest.FixtureRequest, make: Make, tmp_path: Path) -> AsyncIterator[Opened]:
    """Return a function that opens one installation in either kind of host."""
    hosts: list[Host] = []

    async def open_host(text: str = "") -> Host:
        host: Host = (
            ConversationHost(await make(text))
            if request.param == "conversation"
            else RunnerHost(tmp_path / "host", text)
        )
        hosts.append(host)
        return host

    yield open_host
    for host in hosts:
        await host.close()


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = [record for record in caplog.records if record.name.startswith("gaia_memory")]
    return [record.message for record in ours if record.levelno >= logging.WARNING]


@pytest.mark.acceptance("S14")
async def test_S14_an_edited_window_applies_at_the_next_turn(opened: Opened) -> None:
    """In the same session with its whole history, for a smaller and then a larger window."""
    host = await opened("sessions: {window_turns: 3}")
    for number in range(4):
        await host.chat(f"t{number}")
    assert text_parts(last_request(host), "user") == ["t1", "t2", "t3"]
    host.write_config("sessions: {window_turns: 1}")
    await host.chat("t4")
    assert text_parts(last_request(host), "user") == ["t4"]
    host.write_config("sessions: {window_turns: 9}")
    await host.chat("t5")

    assert text_parts(last_request(host), "user") == [f"t{number}" for number in range(6)]
    assert len(await host.events()) == 12


BAD = {
    "broken": "memory: {recall_limit: [\n",
    "value": "sessions: {window_turns: 0}\n",
    "secret": "memory: {llm: {api_key: sk-0123456789}}\n",
    "missing": None,
}


@pytest.mark.acceptance("G02")
@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
async def test_G02_a_bad_edit_only_logs_one_warning(
    opened: Opened, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The last good version stays in force, the status gives the reason, and the next good version is applied."""
    good = "sessions: {window_turns: 1, background_sweep: false}"
    host = await opened(good)
    await host.chat("one")
    if text is None:
        host.config_path.unlink()
    else:
        host.config_path.write_text(text, encoding="utf-8")
    answers = [await host.chat(said) for said in ("two", "three", "four")]
    engine = await host.engine()
    status = await engine.memory.status(host.scope)
    told = warnings_in(caplog)

    assert answers == ["ok"] * 3
    assert text_parts(last_request(host)) == ["four"]
    assert len(told) == 1
    assert str(host.config_path) in told[0]
    assert "last good version stays in force" in told[0]
    assert status.state == "degraded"
    assert str(host.config_path) in status.reason
    assert "correct the file" in status.remedy

    host.write_config(good)
    await host.chat("five")
    assert (await engine.memory.status(host.scope)).state == "ok"
    assert len(warnings_in(caplog)) == 1


@pytest.mark.acceptance("G03")
@pytest.mark.parametrize("text", ["", "- enabled\n", "memory: {enabled: tru"])
async def test_G03_a_bad_edit_does_not_reenable_disabled_memory(opened: Opened, text: str) -> None:
    """Only a file that enables it brings it back."""
    host = await opened("memory: {enabled: false}")
    await host.chat("one")
    host.config_path.write_text(text, encoding="utf-8")
    await host.chat("two")
    engine = await host.engine()
    status = await engine.memory.status(host.scope)

    assert not OURS & tool_names(last_request(host))
    assert status.state == "disabled"
    assert "last good version" in status.reason
    assert engine.backend._embedding_model is None
    host.write_config("memory: {enabled: true}")
    await host.chat("three")
    assert tool_names(last_request(host)) >= OURS


@pytest.mark.acceptance("G06")
async def test_G06_each_version_of_the_file_is_parsed_once(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a hundred turns, although the service, two plugins and a direct caller use the file."""
    parses: list[object] = []
    parse = yaml.load

    def counting(stream: Any, Loader: Any) -> Any:  # noqa: N803 - its name in PyYAML
        if Loader.__module__.startswith("gaia_memory"):
            parses.append(stream)
        return parse(stream, Loader)

    host = await opened("memory: {preload: false}")
    host.write_config("memory: {preload: false, auto_ingest: false}")
    monkeypatch.setattr(yaml, "load", counting)
    for number in range(100):
        await host.chat(f"t{number}")
    await force_sweep(host)
    another = RunnerHost(host.config_path.parent / "another", "")
    another.config_path.unlink()
    another.service.source._config = host.config_path
    await another.chat("hello")
    await another.close()

    assert len(parses) == 1
    assert len(host.main.requests) == 100


def _name_model(path: Path, model: str) -> None:
    settings = {
        "sessions": {"coalesce_seconds": 0},
        "memory": {"llm": {"provider": "gemini", "model": model}, "embedder": {"provider": "offline"}},
    }
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")


@pytest.mark.acceptance("G07")
async def test_G07_an_edited_model_is_used_at_the_next_consolidation(gemini: FakeGemini, tmp_path: Path) -> None:
    """Without a restart or another message; learned facts stay, and the profile is renewed."""
    gemini.set_default("extractor", learned("User has a dog"))
    gemini.set_default("profile", "- has a dog")
    gemini.set_default("agent", "ok")
    path, clock = tmp_path / "gaia.yaml", FakeClock()

    async def learn_quiet() -> None:
        clock.advance(timedelta(minutes=gaia.config.sessions.idle_consolidate_minutes, seconds=1))
        await gaia.sweep()

    _name_model(path, "gemini-first")
    async with open_memory(path, home=tmp_path / "home", clock=clock) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        await gaia.conversation(agent, user_id="u", channel="cli").send("I have a dog")
        await learn_quiet()
        before = await gaia.memory.facts(gaia.scope("u"))
        gemini.set_default("extractor", learned("User has a cat"))
        await gaia.conversation(agent, user_id="u", channel="cli").send("and a cat")
        _name_model(path, "gemini-second")
        await learn_quiet()
        after = await gaia.memory.facts(gaia.scope("u"))
        await gaia.memory.settled()
        status = await gaia.memory.status(gaia.scope("u"))
        await gaia.conversation(agent, user_id="u", channel="cli").send("hello")

    assert [request.model for request in gemini.requests_of("extractor")] == [
        "models/gemini-first",
        "models/gemini-second",
    ]
    assert gemini.requests_of("profile")[-1].model == "models/gemini-second"
    assert [fact.text for fact in after] == ["User has a dog", "User has a cat"]
    assert after[0] == before[0]
    assert status.model.startswith("gemini-second")


@pytest.mark.acceptance("G07")
async def test_G07_a_model_replaced_during_a_request_still_delivers_its_answer(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """Its answer is kept, the next chunk goes to the new model, and its client is closed with memory."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: Any) -> Any:
        asked.set()
        go_on.wait(60)
        return learned("User has a dog")

    gemini.add("extractor", slow, learned("User has a cat"))
    path, clock = tmp_path / "gaia.yaml", FakeClock()
    _name_model(path, "gemini-first")
    async with open_memory(path, home=tmp_path / "home", model=ScriptedLlm(default="ok"), clock=clock) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        engine = gaia._engine
        for session in ("one", "two"):
            await gaia.conversation(agent, user_id="u", channel=session).send("I have a dog and a cat")
        first = asyncio.create_task(gaia.sweep(force=True))
        await asyncio.to_thread(asked.wait, 60)
        old = await engine.backend.pools.model.run(engine.backend.llm.instance)
        _name_model(path, "gemini-second")
        await gaia.memory.status(gaia.scope("u"))
        is_open = not old.client._api_client._httpx_client.is_closed
        go_on.set()
        await first
        known = {fact.text for fact in await gaia.memory.facts(gaia.scope("u"))}

    assert is_open
    assert old.client._api_client._httpx_client.is_closed
    assert known == {"User has a dog", "User has a cat"}
    assert {request.model for request in gemini.requests_of("extractor")} <= {
        "models/gemini-first",
        "models/gemini-second",
    }


@pytest.mark.acceptance("Q02")
async def test_Q02_an_edited_limit_applies_at_the_next_call(opened: Opened) -> None:
    """For the tool, also in a running turn, and for a program that calls memory directly."""
    host = await opened("memory: {recall_limit: 5, preload: false}")
    engine = await host.engine()
    for number in range(8):
        await engine.memory.remember(host.scope, f"likes tea number {number}")
    host.main.add(call("load_memory", query="tea"), "ok")
    await host.chat("first")
    before = len(tool_responses(last_request(host))[-1]["memories"])
    host.write_config("memory: {recall_limit: 2, preload: false}")
    host.main.add(call("load_memory", query="tea"), "ok")
    await host.chat("second")
    at_the_next_turn = len(tool_responses(last_request(host))[-1]["memories"])

    async def edit(_: Any) -> Any:
        await asyncio.to_thread(host.write_config, "memory: {recall_limit: 1, preload: false}")
        return call("load_memory", query="tea")

    host.main.add(edit, "ok")
    await host.chat("third")
    in_the_same_turn = len(tool_responses(last_request(host))[-1]["memories"])
    host.write_config("memory: {recall_limit: 4, preload: false}")

    assert (before, at_the_next_turn, in_the_same_turn) == (5, 2, 1)
    assert len(await engine.memory.recall(host.scope, "tea")) == 4


@pytest.mark.acceptance("P16")
async def test_P16_an_edited_setting_renews_the_profile_and_keeps_the_session(opened: Opened) -> None:
    """Any changed setting renews the profile; a changed comment asks no model."""
    host = await opened("sessions: {window_turns: 30}")
    engine = await host.engine()
    await engine.memory.remember(host.scope, "likes tea")
    host.script.answers["profiler"].extend(["- the first", "- the second"])
    await host.chat("one")
    await host.chat("two")
    assert len(host.script.prompts["profiler"]) == 1
    with host.config_path.open("a", encoding="utf-8") as file:
        file.write("# a remark\n")
    await host.chat("three")
    assert len(host.script.prompts["profiler"]) == 1
    assert "- the first" in ALL(last_request(host))
    host.write_config("sessions: {window_turns: 29}")
    await host.chat("four")

    assert len(host.script.prompts["profiler"]) == 2
    assert "- the second" in ALL(last_request(host))
    assert "- the first" not in ALL(last_request(host))
    assert text_parts(last_request(host), "user") == ["one", "two", "three", "four"]


@pytest.mark.acceptance("C17")
async def test_C17_disabling_memory_applies_at_once_and_enabling_it_restores_everything(opened: Opened) -> None:
    """With its tools and profile; facts stay, and messages sent meanwhile are never learned."""
    host = await opened("memory: {enabled: true}")
    engine = await host.engine()
    await engine.memory.remember(host.scope, "likes tea")
    host.script.answers["profiler"].append("- likes tea")
    await host.chat("before")
    on = last_request(host)
    host.write_config("memory: {enabled: false}")
    await host.chat("the PIN word is ZEBRA")
    off = last_request(host)
    command = await host.chat("/memory")
    kept = await facts_of(host)
    host.write_config("memory: {enabled: true}")
    await host.chat("after that I said something")
    again = last_request(host)
    host.script.answers["extractor"].append(facts("said something"))
    await force_sweep(host)

    assert tool_names(on) >= OURS
    assert tool_names(again) >= OURS
    assert not OURS & tool_names(off)
    assert "USER_PROFILE" not in ALL(off)
    assert "load_memory" not in ALL(off)
    assert "- likes tea" in ALL(on)
    assert "- likes tea" in ALL(again)
    assert "off" in command
    assert kept == ["likes tea"]
    [learned_from] = host.script.prompts["extractor"]
    assert "before" in learned_from
    assert "after" in learned_from
    assert "ZEBRA" not in learned_from
    assert sorted(await facts_of(host)) == ["likes tea", "said something"]


async def test_memory_disabled_at_the_start_is_built_when_it_is_enabled(opened: Opened) -> None:
    """No part of mem0 exists before; afterwards facts are stored, found and followed."""
    host = await opened("memory: {enabled: false}")
    await host.chat("one")
    engine = await host.engine()
    before = (engine.follower.is_owner, engine.backend._embedding_model)
    host.write_config("memory: {enabled: true}")
    host.main.add(call("remember", fact="likes tea"), "ok")
    await host.chat("I like tea")
    await engine.memory.settled()

    assert before == (False, None)
    assert [hit.fact.text for hit in await engine.memory.recall(host.scope, "tea")] == ["likes tea"]
    assert (await engine.memory.status(host.scope)).lag == 0


@pytest.mark.parametrize("comes_back", ["before the answer", "after the answer"])
async def test_disabling_memory_during_learning_loses_and_duplicates_nothing(opened: Opened, comes_back: str) -> None:
    """The late answer of the model is not written; once memory is on, it is asked again and written once."""
    host = await opened("")
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("likes tea")

    host.script.answers["extractor"].extend([slow, facts("likes tea")])
    await host.chat("I like tea")
    learning = asyncio.create_task(force_sweep(host))
    await asyncio.to_thread(asked.wait, 60)
    engine = await host.engine()
    host.write_config("memory: {enabled: false}")
    await engine.live.reload_if_changed()
    if comes_back == "before the answer":
        host.write_config("memory: {enabled: true}")
        await engine.live.reload_if_changed()
    go_on.set()
    await learning
    meanwhile = await facts_of(host)
    talk = texts_of(await host.events())
    host.write_config("memory: {enabled: true}")
    await force_sweep(host)
    await force_sweep(host)

    assert meanwhile == (["likes tea"] if comes_back == "before the answer" else [])
    assert comes_back == "before the answer" or "I like tea" in talk
    assert await facts_of(host) == ["likes tea"]
    assert len(host.script.prompts["extractor"]) == (1 if comes_back == "before the answer" else 2)
    status = await engine.memory.status(host.scope)
    assert (status.state, status.pending) == ("ok", ())


async def test_disabling_memory_just_before_the_clear_leaves_the_session_untouched(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts are learned; once memory is on, the session is cleared without asking the model again."""
    sut = await make(extractor=[facts("likes tea")])
    await sut.chat("u", "cli", "I like tea")
    learner = sut.gaia._engine.consolidator.learner
    commit = learner._commit

    async def then_off(*arguments: Any, **keywords: Any) -> Any:
        learning = await commit(*arguments, **keywords)
        await asyncio.to_thread(sut.write_config, "memory: {enabled: false}")
        await sut.gaia._engine.live.reload_if_changed()
        return learning

    monkeypatch.setattr(learner, "_commit", then_off)
    await sut.sweep(force=True)
    kept = await sut.session("u", "cli")
    monkeypatch.setattr(learner, "_commit", commit)
    sut.write_config("")
    await sut.sweep(force=True)

    assert kept is not None
    assert texts_of(kept.events) == ["I like tea", "ok"]
    assert await sut.session("u", "cli") is None
    assert await sut.texts("u") == ["likes tea"]
    assert len(sut.EXT) == 1


def texts_of(events: list[Any]) -> list[str]:
    return [part.text for event in events if event.content for part in event.content.parts or []]


async def test_events_passed_to_the_service_are_learned_under_the_current_configuration(tmp_path: Path) -> None:
    """The service reads the file itself; a request in flight while memory goes off is dropped without an error."""
    host = RunnerHost(tmp_path / "host", "memory: {enabled: false}")
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("likes coffee")

    async def hand_over(text: str, session: str) -> None:
        event = Event(author="user", content=types.UserContent(text))
        await host.service.add_events_to_memory(app_name=APP, user_id=USER, events=[event], session_id=session)

    host.script.answers["extractor"].extend([facts("likes tea"), slow])
    await hand_over("I like water", "while off")
    engine = await host.engine()
    host.write_config("memory: {enabled: true}")
    await hand_over("I like tea", "while on")
    handing_over = asyncio.create_task(hand_over("I like coffee", "while it goes off"))
    await asyncio.to_thread(asked.wait, 60)
    host.write_config("memory: {enabled: false}")
    await engine.live.reload_if_changed()
    go_on.set()
    await handing_over
    found = await host.service.search_memory(app_name=APP, user_id=USER, query="tea")
    listed = await host.service.list_memories(app_name=APP, user_id=USER)

    assert await facts_of(host) == ["likes tea"]
    assert (found.memories, listed) == ([], [])
    assert len(host.script.prompts["extractor"]) == 2
    for entry in list(_registry.entries.values()):
        await entry.release(engine)


async def test_a_turn_of_our_own_runner_claims_no_session_while_memory_is_off(make: Make) -> None:
    """Otherwise a conversation whose turn never ends would be skipped for a quarter of an hour."""
    sut = await make("sessions: {idle_consolidate_minutes: 1}", extractor=[facts("likes tea")])
    await sut.chat("u", "cli", "I like tea")
    sut.write_config("memory: {enabled: false}\nsessions: {idle_consolidate_minutes: 1}")
    runner = sut.gaia.runner(sut.agent)
    new = types.UserContent("the PIN word is ZEBRA")
    assert [event async for event in runner.run_async(user_id="u", session_id="u:cli", new_message=new)]
    sut.write_config("sessions: {idle_consolidate_minutes: 1}")
    sut.clock.advance(timedelta(minutes=2))
    report = await sut.sweep()

    assert report.consolidated == 1
    assert "ZEBRA" not in sut.EXT[0]


async def test_a_sweep_running_while_learning_is_disabled_starts_no_further_conversation(make: Make) -> None:
    """Conversations in progress are finished; the rest waits until learning is on again."""
    sut = await make()
    asked, go_on = threading.Semaphore(0), threading.Event()

    def slow(_: str) -> str:
        asked.release()
        go_on.wait(60)
        return facts()

    sut.script.answers["extractor"].extend([slow] * 6)
    for number in range(6):
        await sut.chat(f"u{number}", "cli", "hello")
    sut.clock.advance(timedelta(hours=1))
    sweeping = asyncio.create_task(sut.sweep())
    for _ in range(4):
        await asyncio.to_thread(asked.acquire, timeout=60)
    sut.write_config("memory: {auto_ingest: false}")
    await sut.gaia.memory.status(sut.scope("u0"))
    go_on.set()
    report = await sweeping
    sut.write_config("")
    rest = await sut.sweep()

    assert (report.consolidated, report.skipped, rest.consolidated) == (4, 0, 2)


async def test_an_edited_idle_time_changes_the_sweep_interval(make: Make) -> None:
    """An interval of a minute becomes a tenth of a second, and the quiet conversation is learned in it."""
    sut = await make("sessions: {idle_consolidate_minutes: 30}")
    sut.script.answers["extractor"].append(facts("likes tea"))
    await sut.chat("u", "cli", "I like tea")
    sut.clock.advance(timedelta(minutes=1))
    sut.write_config("sessions: {idle_consolidate_minutes: 0.01}")
    await sut.gaia.memory.facts(sut.scope("u"))

    await wait_until(lambda: sut.EXT)


async def test_edited_people_apply_at_the_next_message(make: Make) -> None:
    """An added sender is let in, a removed one is refused."""
    sut = await make()
    users = {"users": {"ada": {"telegram": ["12345"]}}}
    assert await sut.gaia.inbound("telegram", "12345", "hi", agent=sut.agent) == []
    sut.write_config(yaml.safe_dump({"people": users}))
    let_in = await sut.gaia.inbound("telegram", "12345", "hi", agent=sut.agent)
    sut.write_config("")

    assert [reply.text for reply in let_in] == ["ok"]
    assert await sut.gaia.inbound("telegram", "12345", "hi", agent=sut.agent) == []
    assert len(sut.REQ) == 1


async def test_an_edited_on_unavailable_setting_applies_at_the_next_turn(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fail` ends the turn with memory's error; `degrade` continues without memory."""
    host = await opened("memory: {on_unavailable: degrade}")
    engine = await host.engine()
    await host.chat("one")

    monkeypatch.setattr(engine.turns, "_client", broken_ledger_client(engine))
    assert await host.chat("two") == "ok"
    host.write_config("memory: {on_unavailable: fail}")
    with pytest.raises((MemoryUnavailable, RuntimeError), match="memory failed in"):
        await host.chat("three")


async def test_a_key_that_needs_a_restart_is_reported_once_and_applied_at_the_next_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the file is applied at once; nothing is written to the other home before the restart."""
    monkeypatch.delenv("GAIA_HOME")
    path = tmp_path / "own" / "gaia.yaml"
    path.parent.mkdir()

    def say(**settings: Any) -> None:
        offline = {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}
        settings["memory"] = {**offline, **settings.get("memory", {})}
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    say(home="one", app="first")
    async with open_memory(path) as gaia:
        scope = gaia.scope("u")
        await gaia.memory.remember(scope, "likes tea")
        say(home="two", app="second", memory={"recall_limit": 7})
        await gaia.memory.remember(scope, "likes coffee")
        status = await gaia.memory.status(scope)
        in_force = gaia.config
        parts = gaia.plugins
        await gaia.memory.remember(scope, "likes water")
    told = [line for line in warnings_in(caplog) if "restart" in line]

    assert (in_force.home, in_force.app, in_force.memory.recall_limit) == (path.parent / "one", "first", 7)
    assert len(told) == 1
    assert "app, home" in told[0]
    assert status.state == "degraded"
    assert "restart the process" in status.remedy
    assert not (path.parent / "two").exists()
    async with open_memory(path) as gaia:
        assert (gaia.config.home, gaia.config.app) == (path.parent / "two", "second")
        assert (await gaia.memory.status(gaia.scope("u"))).state == "ok"
        # A part that was made long ago finds the one that is open now.
        assert (await parts[1]._source.load_config()).config.app == "second"


async def test_closed_parts_reopen_with_the_current_file(tmp_path: Path) -> None:
    """Service and plugins loaded the file long ago; `adk web` closes a Runner and builds another one with them."""
    host = RunnerHost(tmp_path / "host", "sessions: {window_turns: 5}")
    for number in range(3):
        await host.chat(f"t{number}")
    await host.close()
    host.write_config("sessions: {window_turns: 1}\nmemory: {scope: user}")
    host.runner = host.build_new_runner()
    await host.chat("t3")
    engine = await host.engine()
    first = (text_parts(last_request(host)), engine.config.memory.scope, (await engine.memory.status(host.scope)).state)
    await host.close()
    host.config_path.write_text("- oops\n", encoding="utf-8")
    host.runner = host.build_new_runner()
    await host.chat("t4")
    status = await (await host.engine()).memory.status(host.scope)
    second = (text_parts(last_request(host)), status.state)
    await host.close()

    assert first == (["t3"], "user", "ok")
    assert second == (["t4"], "degraded")
