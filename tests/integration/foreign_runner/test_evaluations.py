"""An agent that lists our plugins is evaluated and tested: nobody's memory takes part, unless it was named for that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps.app import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.evaluation.request_intercepter_plugin import _RequestIntercepterPlugin
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from gaia_memory import Mem0MemoryService, MemoryPlugin, Scope, SessionWindowPlugin, open_memory
from gaia_memory.adk.sessions.changed_sessions import EVAL_SESSION_PREFIXES
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.testing import ScriptedLlm
from support.hosts.adk_eval import EvalResult, EvalWorkspace
from support.hosts.plain_runner import build_runner, count_open_engines, events_text, fact_texts_in, run_turn
from support.plugin_host import build_agent, offered_tools

SAID = ("I live in Berlin", "/remember I like figs", "When do you open?")
Tree = dict[str, str]


def tree(folder: Path) -> Tree:
    """Return every file and folder with what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes().hex() if path.is_file() else "" for path in folder.rglob("*")
    }


def assert_untouched(trial: EvalResult, turns: int) -> None:
    """See that the model was asked once a turn, by nobody but the agent, and that nothing was said or sent."""
    assert trial.code == 0, trial.output
    assert trial.network_calls == ""
    # ADK itself names every plugin of a Runner.
    said = [line for line in trial.output.splitlines() if "gaia" in line and not line.endswith("registered.")]
    assert said == []
    assert [(seen["tools"], "USER_PROFILE" in seen["system"]) for seen in trial.model_requests] == [([], False)] * turns
    assert len({seen["system"] for seen in trial.model_requests}) <= 1


def test_an_evaluation_without_a_configuration_leaves_no_trace(tmp_path: Path) -> None:
    """Neither in the home nor beside the agent, in the log, the prompt or on the network; a command is plain text."""
    bench = EvalWorkspace(tmp_path)
    before = tree(bench.agents)
    trial = bench.evaluate(*SAID)

    assert_untouched(trial, turns=3)
    assert "Tests passed: 1" in trial.output
    assert "/remember I like figs" in trial.model_requests[1]["contents"]
    assert tree(bench.home) == {}
    added = [name for name in tree(bench.agents) if name not in before]
    assert all(name.startswith("shop/.adk") for name in added), added


async def test_an_evaluation_leaves_the_memory_of_the_environment_alone(tmp_path: Path) -> None:
    """Also where it evaluates with the id of a real person: nothing is learned, and nothing told to the agent."""
    bench = EvalWorkspace(tmp_path)
    real = tmp_path / "real"
    real.mkdir()
    (real / "gaia.yaml").write_text(f"home: {real / 'data'}\nsessions: {{idle_consolidate_minutes: 0.001}}\n")
    async with open_memory(real / "gaia.yaml", home=real / "data") as gaia:
        await gaia.memory.remember(Scope("shop", "ada"), "Plays the cello")
        await gaia.memory.settled()
    before = tree(real)
    trial = bench.evaluate(*SAID, GAIA_CONFIG=str(real / "gaia.yaml"))

    assert_untouched(trial, turns=3)
    assert tree(real) == before
    assert tree(bench.home) == {}


def test_an_evaluation_uses_a_memory_that_the_plugin_names(tmp_path: Path) -> None:
    """Its developer asked for it: a home of its own, with facts to be found."""
    config = json.dumps({"home": str(tmp_path / "named")})
    bench = EvalWorkspace(tmp_path, f"MemoryPlugin(config={config})")
    trial = bench.evaluate(*SAID)

    assert trial.code == 0, trial.output
    assert fact_texts_in(tmp_path / "named") == ["I like figs"]
    assert [seen["tools"] for seen in trial.model_requests] == [["remember", "load_memory"]] * 2
    assert tree(bench.home) == {}


def test_recorded_tests_pass_as_they_do_without_the_plugins(tmp_path: Path) -> None:
    """What was recorded without them is replayed with them, and what is recorded with them is the same."""
    bench = EvalWorkspace(tmp_path, plugins="")
    assert bench.record(*SAID).code == 0
    plain = bench.recording.read_text()
    bench.write_agent("SessionWindowPlugin(), MemoryPlugin()")
    before = tree(bench.agents)
    replayed = bench.replay()
    after = tree(bench.agents)
    recorded = bench.record(*SAID)

    assert "1 passed" in replayed.output
    assert_untouched(replayed, turns=3)
    assert after == before
    assert_untouched(recorded, turns=3)
    assert bench.recording.read_text() == plain
    assert tree(bench.home) == {}


def as_adk_test_does(*plugins: Any, model: ScriptedLlm) -> Runner:
    """Make the Runner that `adk test` makes."""
    return Runner(
        app=App(name="shop", root_agent=build_agent(model), plugins=list(plugins)),
        artifact_service=InMemoryArtifactService(),
        session_service=InMemorySessionService(),
        memory_service=InMemoryMemoryService(),
        auto_create_session=True,
    )


@pytest.mark.parametrize("marked", [{"ADK_TEST_FOLDER": "/agents"}, {"PYTEST_CURRENT_TEST": "rebuild"}, {}])
async def test_a_runner_in_memory_has_memory_unless_adk_tests_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: dict[str, str]
) -> None:
    """A person's own `InMemoryRunner` with the defaults looks much the same."""
    for name, value in marked.items():
        monkeypatch.setenv(name, value)
    model = ScriptedLlm(default="ok")
    async with as_adk_test_does(MemoryPlugin(), model=model) as runner:
        turn = runner.run_async(user_id="test_user", session_id="s1", new_message=types.UserContent("hi"))
        events_text([event async for event in turn])

    assert offered_tools(model.requests[0]) == ([] if marked else ["remember", "load_memory"])
    assert (tmp_path / "gaia" / "memory.db").exists() is not bool(marked)


async def test_somebody_elses_user_has_memory_also_while_tests_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the tests may stand in the environment for good."""
    monkeypatch.setenv("ADK_TEST_FOLDER", "/agents")
    model = ScriptedLlm(default="ok")
    runner = InMemoryRunner(app=App(name="shop", root_agent=build_agent(model), plugins=[MemoryPlugin()]))
    runner.auto_create_session = True
    async with runner:
        await run_turn(runner, "hi")

    assert offered_tools(model.requests[0]) == ["remember", "load_memory"]


async def test_a_plugin_that_served_people_keeps_out_of_an_evaluation_in_its_server(tmp_path: Path) -> None:
    """`adk web` evaluates the loaded App with its plugins, and without the service whose configuration they follow."""
    plugins = [SessionWindowPlugin(), MemoryPlugin()]
    service = Mem0MemoryService(config={"home": str(tmp_path / "data"), "sessions": {"window_turns": 1}})
    model = ScriptedLlm(default="ok")
    people = build_runner(*plugins, service=service, model=model)
    evaluation = build_runner(*plugins, _RequestIntercepterPlugin(name="any name"), model=model)
    await run_turn(people, "/remember I like figs")
    for text in ("I live in Berlin", "/remember I like plums"):
        assert await run_turn(evaluation, text) == "ok"
    await evaluation.close()
    listed = await run_turn(people, "/memory")
    await people.close()

    assert [offered_tools(request) for request in model.requests] == [[], []]
    assert "Berlin" in str(model.requests[1].contents)
    assert listed == "I remember 1 fact about you:\n1. I like figs"
    assert fact_texts_in(tmp_path / "data") == ["I like figs"]
    assert count_open_engines() == 0


async def test_an_evaluation_uses_a_memory_that_its_memory_service_names(tmp_path: Path) -> None:
    """Who hands a service with a configuration to ADK's evaluation wants it used."""
    service = Mem0MemoryService(config={"home": str(tmp_path / "data")})
    plugins = [MemoryPlugin(), _RequestIntercepterPlugin(name="any name")]
    async with build_runner(*plugins, service=service) as runner:
        await run_turn(runner, "/remember I like figs")
    async with build_runner(*plugins, service=Mem0MemoryService()) as runner:
        assert await run_turn(runner, "/remember I like plums") == "ok"

    assert fact_texts_in(tmp_path / "data") == ["I like figs"]


async def test_a_window_of_a_given_size_is_part_of_the_agent_that_is_evaluated() -> None:
    """It needs no configuration and writes nothing."""
    model = ScriptedLlm(default="ok")
    plugins = [SessionWindowPlugin(window_turns=1), _RequestIntercepterPlugin(name="any name")]
    async with build_runner(*plugins, model=model) as runner:
        await run_turn(runner, "one")
        await run_turn(runner, "two")

    assert "one" not in str(model.requests[1].contents)


async def test_sessions_of_evaluations_are_never_learned() -> None:
    """`adk web` keeps them among those of people, where the first sweep would find them."""
    sessions = InMemorySessionService()
    for name in ("talk", *(f"{prefix}1" for prefix in EVAL_SESSION_PREFIXES)):
        await sessions.create_session(app_name="shop", user_id="ada", session_id=name)
    found = await SessionTranscript(sessions, "shop", clear_method="rewind").sessions()

    assert [key.session for key in found] == ["talk"]


def test_adk_still_names_its_evaluation_sessions_so() -> None:
    """And keeps what marks a run of its evaluation in the package that we look for."""
    from google.adk.cli import cli_eval

    assert (cli_eval.EVAL_SESSION_ID_PREFIX, cli_eval._LEGACY_EVAL_SESSION_ID_PREFIX) == EVAL_SESSION_PREFIXES
    assert _RequestIntercepterPlugin.__module__.startswith("google.adk.evaluation.")
