"""Evaluations and tests of an agent with our plugins use no memory, unless one is explicitly configured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.adk.evaluation.request_intercepter_plugin import _RequestIntercepterPlugin
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from gaia_memory import Mem0MemoryService, MemoryPlugin, Scope, SessionWindowPlugin, open_memory
from gaia_memory.adk.sessions.session_database import EVALUATION_SESSION_PREFIXES
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.testing import ScriptedLlm
from support.hosts.adk_eval import EvalResult, EvalWorkspace
from support.hosts.plain_runner import build_runner, count_open_engines, fact_texts_in, run_turn
from support.plugin_host import TOOLS, offered_tools

SAID = ("I live in Berlin", "/remember I like figs", "When do you open?")
Tree = dict[str, str]


def tree(folder: Path) -> Tree:
    """Return every file and folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes().hex() if path.is_file() else "" for path in folder.rglob("*")
    }


def assert_untouched(trial: EvalResult, turns: int) -> None:
    """Check that the model was asked once per turn, by the agent alone, and that nothing was printed or sent."""
    assert trial.code == 0, trial.output
    assert trial.network_calls == ""
    # ADK itself names every plugin of a Runner.
    said = [line for line in trial.output.splitlines() if "gaia" in line and not line.endswith("registered.")]
    assert said == []
    assert [(seen["tools"], "USER_PROFILE" in seen["system"]) for seen in trial.model_requests] == [([], False)] * turns
    assert len({seen["system"] for seen in trial.model_requests}) <= 1


@pytest.mark.slow
def test_an_evaluation_without_a_configuration_leaves_no_trace(tmp_path: Path) -> None:
    """Neither in the home nor beside the agent, in the log, the prompt or on the network; commands are plain text."""
    bench = EvalWorkspace(tmp_path)
    before = tree(bench.agents)
    trial = bench.evaluate(*SAID)

    assert_untouched(trial, turns=3)
    assert "Tests passed: 1" in trial.output
    assert "/remember I like figs" in trial.model_requests[1]["contents"]
    assert tree(bench.home) == {}
    added = [name for name in tree(bench.agents) if name not in before]
    assert all(name.startswith("shop/.adk") for name in added), added


@pytest.mark.slow
async def test_an_evaluation_does_not_touch_the_memory_of_the_environment(tmp_path: Path) -> None:
    """Even with the id of a real user: nothing is learned, and the agent gets no facts."""
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


@pytest.mark.slow
def test_an_evaluation_uses_a_memory_configured_in_the_plugin(tmp_path: Path) -> None:
    """Its developer asked for it: a separate home, with facts to find."""
    config = json.dumps({"home": str(tmp_path / "named")})
    bench = EvalWorkspace(tmp_path, f"MemoryPlugin(config={config})")
    trial = bench.evaluate(*SAID)

    assert trial.code == 0, trial.output
    assert fact_texts_in(tmp_path / "named") == ["I like figs"]
    assert [seen["tools"] for seen in trial.model_requests] == [TOOLS] * 2
    assert tree(bench.home) == {}


async def test_a_plugin_in_use_skips_an_evaluation_in_its_server(tmp_path: Path) -> None:
    """`adk web` evaluates the loaded App with its plugins, without the service whose configuration they use."""
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


async def test_an_evaluation_uses_a_memory_configured_in_its_memory_service(tmp_path: Path) -> None:
    """A service passed to ADK's evaluation with a configuration is meant to be used."""
    service = Mem0MemoryService(config={"home": str(tmp_path / "data")})
    plugins = [MemoryPlugin(), _RequestIntercepterPlugin(name="any name")]
    async with build_runner(*plugins, service=service) as runner:
        await run_turn(runner, "/remember I like figs")
    async with build_runner(*plugins, service=Mem0MemoryService()) as runner:
        assert await run_turn(runner, "/remember I like plums") == "ok"

    assert fact_texts_in(tmp_path / "data") == ["I like figs"]


async def test_a_window_with_a_fixed_size_applies_in_an_evaluation() -> None:
    """It needs no configuration and writes nothing."""
    model = ScriptedLlm(default="ok")
    plugins = [SessionWindowPlugin(window_turns=1), _RequestIntercepterPlugin(name="any name")]
    async with build_runner(*plugins, model=model) as runner:
        await run_turn(runner, "one")
        await run_turn(runner, "two")

    assert "one" not in str(model.requests[1].contents)


async def test_evaluation_sessions_are_never_learned() -> None:
    """`adk web` stores them among users' sessions, where the first sweep would find them."""
    sessions = InMemorySessionService()
    for name in ("talk", *(f"{prefix}1" for prefix in EVALUATION_SESSION_PREFIXES)):
        await sessions.create_session(app_name="shop", user_id="ada", session_id=name)
    found = await SessionTranscript(sessions, "shop", clear_method="keep").sessions()

    assert [key.session for key in found] == ["talk"]


def test_adk_still_names_its_evaluation_sessions_this_way() -> None:
    """The class that marks an evaluation run is still in the package that we check."""
    from google.adk.cli import cli_eval

    assert (cli_eval.EVAL_SESSION_ID_PREFIX, cli_eval._LEGACY_EVAL_SESSION_ID_PREFIX) == EVALUATION_SESSION_PREFIXES
    assert _RequestIntercepterPlugin.__module__.startswith("google.adk.evaluation.")
