"""`gaia memory profile` on a real home: it shows exactly what the agent gets, without asking a model."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from gaia_memory.errors import BadAnswerError
from gaia_memory.profile import distil
from gaia_memory.testing import ScriptedLlm
from support.cli.cli_runner import gaia_home, run_gaia, write_offline_config
from support.plugin_host import system_text
from support.servers.fake_gemini import FakeGemini


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for an empty home."""
    return str(write_offline_config(tmp_path))


def profile(config: str, *arguments: str) -> dict[str, Any]:
    """Return the JSON output of the command."""
    done = run_gaia("memory", "profile", "--user", "itay", "--config", config, "--json", *arguments)
    assert done.code == 0
    return dict(done.json_output)


def talk_once(config: str, *facts: str) -> str:
    """Store these facts, let a host take one turn, and return the profile block in its prompt."""

    async def turn() -> str:
        model = ScriptedLlm(default="ok")
        async with open_memory(config) as gaia_memory:
            scope = gaia_memory.scope(user_id="itay")
            await gaia_memory.memory.add(scope, [NewFact(fact) for fact in facts])
            agent = LlmAgent(name="assistant", model=model)
            await gaia_memory.conversation(agent, user_id="itay", channel="cli").send("hi")
        system = system_text(model.requests[0])
        return system[system.index("<USER_PROFILE>") :]

    return asyncio.run(turn())


def test_profile_shows_the_exact_block_of_the_agents_prompt(config: str) -> None:
    """For the running session and for the next one, with the number of facts and what made it."""
    began = datetime.now(UTC)
    block = talk_once(config, "Is called Itay", "Allergic to nuts")
    told = profile(config)
    shown = run_gaia("memory", "profile", "--user", "itay", "--config", config).out

    assert told["facts"] == 2
    assert [session["session"] for session in told["sessions"]] == ["itay:cli"]
    assert told["sessions"][0]["block"] == told["next"]["block"] == block
    assert told["sessions"][0]["made_by"] == told["next"]["made_by"] == "model"
    assert shown.count(block) == 2
    assert {told["sessions"][0]["model"], told["next"]["model"]} == {"the offline model"}
    assert len(re.findall(r"has this profile, written by the offline model at 20", shown)) == 2
    assert told["sessions"][0]["made_at"] == told["next"]["made_at"]
    made_at = datetime.fromisoformat(told["next"]["made_at"])
    assert began - timedelta(seconds=1) <= made_at <= datetime.now(UTC)


def test_the_profile_of_a_chat_is_current_for_the_other_commands(config: str) -> None:
    """The chat merges no messages and may name another agent's model: neither shapes a profile."""
    run_gaia("memory", "add", "--user", "itay", "--config", config, "Allergic to nuts")
    run_gaia("chat", "--user", "itay", "--model", "offline", "--config", config, stdin="hello\n")
    told = profile(config)
    shown = run_gaia("memory", "profile", "--user", "itay", "--config", config).out

    assert [session["note"] for session in told["sessions"]] == [""]
    assert "configuration changed" not in shown
    assert shown.count("written by the offline model") == 2


def test_the_model_that_writes_the_profile_is_named(tmp_path: Path, gemini: FakeGemini) -> None:
    """By provider and model, as in `status` and the log."""
    config = str(write_offline_config(tmp_path, "memory: {embedder: {provider: offline}}"))
    gemini.set_default("profile", "- Likes tea")
    run_gaia("memory", "add", "--user", "itay", "--config", config, "Likes tea")
    told = profile(config, "--refresh")["next"]
    shown = run_gaia("memory", "profile", "--user", "itay", "--config", config).out

    assert (told["made_by"], told["model"].split("/")[0]) == ("model", "gemini")
    assert f"profile, written by {told['model']} at {told['made_at']}:" in shown


def test_profile_asks_the_model_only_on_request(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it shows the fallback, and says that the model will be asked."""
    asked = []
    write = distil.Distiller._ask_model

    def counted(self: Any, *arguments: Any) -> Any:
        asked.append(1)
        return write(self, *arguments)

    monkeypatch.setattr(distil.Distiller, "_ask_model", counted)
    run_gaia("memory", "add", "--user", "itay", "--config", config, "Likes tea", "Is called Itay")
    before = profile(config)["next"]
    calls = len(asked)
    after = profile(config, "--refresh")["next"]

    assert calls == 0
    assert (before["made_by"], after["made_by"]) == ("fallback", "model")
    assert before["block"].split("\n")[2:-1] == ["- Is called Itay", "- Likes tea"]
    assert "the next session asks the model" in before["note"]
    assert len(asked) == 1
    assert profile(config, "--refresh")["next"] == after
    assert len(asked) == 1


def test_profile_gives_the_reason_if_there_is_none(config: str, tmp_path: Path) -> None:
    """No facts, forgotten, or switched off."""
    gaia_home().mkdir()
    nobody = run_gaia("memory", "profile", "--user", "itay", "--config", config).out
    talk_once(config, "Likes tea")
    run_gaia("memory", "forget", "--user", "itay", "--config", config, "-y")
    forgotten = profile(config)
    off = run_gaia(
        "memory",
        "profile",
        "--user",
        "itay",
        "--config",
        str(write_offline_config(tmp_path, "memory: {preload: false}")),
    ).out

    assert nobody == "The next session of itay has no profile (there are no facts).\n"
    assert forgotten["sessions"] == []
    assert forgotten["next"]["block"] == ""
    assert "memory.preload is false" in off


def test_a_session_keeps_the_origin_and_time_of_its_profile(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the model answers again, or the facts have changed."""
    write = distil.Distiller._ask_model

    def refuse(*_: Any) -> Any:
        raise BadAnswerError("no answer")

    monkeypatch.setattr(distil.Distiller, "_ask_model", refuse)
    talk_once(config, "Is called Itay")
    [made] = profile(config)["sessions"]
    monkeypatch.setattr(distil.Distiller, "_ask_model", write)
    run_gaia("memory", "add", "--user", "itay", "--config", config, "Likes tea")
    told = profile(config, "--refresh")
    shown = run_gaia("memory", "profile", "--user", "itay", "--config", config).out

    assert made["made_by"] == "fallback"
    assert datetime.fromisoformat(made["made_at"]) <= datetime.now(UTC)
    assert told["sessions"] == [made]
    assert told["next"]["made_by"] == "model"
    assert f"profile, made by fallback at {made['made_at']}:" in shown
