"""An agent has a real model and memory is offline, as `auto` found nothing else: the log and `status` say so."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.adk.models.offline_model import OfflineModel
from gaia_memory.testing import ScriptedLlm
from support.plugin_host import SCOPE, build_agent, open_plugin_host

if TYPE_CHECKING:
    from gaia_memory.models import Status

OFFLINE = {"provider": "offline"}
SECRET = "my sister is called Noa"


def offline_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return our warnings about offline models."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("gaia_memory") and record.levelno == logging.WARNING
        if "offline" in record.getMessage()
    ]


def settings_in(text: str) -> Any:
    """Return the YAML of a text: its first two indented lines."""
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    return yaml.safe_load("\n".join(lines[:2]))


async def run_in_foreign_runner(home: Path, model: Any, *turns: str, **memory: Any) -> Status:
    agent = build_agent(model)
    async with open_plugin_host(home, agent, config={"memory": memory}) as host:
        for text in turns:
            await host.run_turn(text)
        return await (await host.engine()).memory.status(SCOPE)


async def test_the_first_turn_warns_once_with_the_lines_that_change_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the agent's model and nothing that a user said; `status` repeats it, and stays `ok`."""
    status = await run_in_foreign_runner(tmp_path, ScriptedLlm(default="ok", model="gpt-5"), SECRET, "hi", "hi")

    [warning] = offline_warnings(caplog)
    assert "although the agent's model is gpt-5: there is no GEMINI_API_KEY" in warning
    assert settings_in(warning) == {"memory": {"llm": {"provider": "agent"}}}
    assert "Noa" not in warning
    assert status.state == "ok"
    assert [settings_in(note) for note in status.notes] == [{"memory": {"llm": {"provider": "agent"}}}]


async def test_a_conversation_warns_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not before its first turn, and once for all conversations."""
    settings = {"home": str(tmp_path), "sessions": {"coalesce_seconds": 0}}
    async with open_memory(settings, home=tmp_path) as gaia:
        agent = LlmAgent(name="assistant", model=ScriptedLlm(default="ok"), instruction="Help.")
        conversation = gaia.conversation(agent, user_id="ada", channel="cli")
        before = offline_warnings(caplog)
        await conversation.send("hi")
        await conversation.send("hi")
        await gaia.conversation(agent, user_id="eli", channel="cli").send("hi")

    assert before == []
    assert len(offline_warnings(caplog)) == 1


@pytest.mark.parametrize(
    ("model", "memory"),
    [
        (OfflineModel(), {}),
        (ScriptedLlm(default="ok"), {"llm": OFFLINE, "embedder": OFFLINE}),
        (ScriptedLlm(default="ok"), {"enabled": False}),
    ],
    ids=["offline agent", "chosen", "memory is off"],
)
async def test_there_is_no_reason_to_warn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, model: Any, memory: dict[str, Any]
) -> None:
    """The offline model was chosen, is all there is, or does nothing."""
    await run_in_foreign_runner(tmp_path, model, "hi", **memory)

    assert offline_warnings(caplog) == []


async def test_with_the_agents_own_model_only_the_embedder_is_left_to_warn_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The lines confirm the offline embedder, because nothing better is known."""
    await run_in_foreign_runner(tmp_path, ScriptedLlm(default="ok"), "hi", llm={"provider": "agent"})

    [warning] = offline_warnings(caplog)
    assert warning.startswith("the offline embedder compares texts on this machine, although")
    assert settings_in(warning) == {"memory": {"embedder": {"provider": "offline"}}}
