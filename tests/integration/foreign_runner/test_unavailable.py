"""Memory that cannot be opened: turns continue, the log says it once, commands give the reason, a fix suffices."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import load_memory, preload_memory

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin
from gaia_memory.drafts import write_verbatim as verbatim_module
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.testing import ScriptedLlm, call
from support.hosts.plain_runner import APP, USER, build_runner, fact_texts_in, run_turn
from support.plugin_host import TOOLS, function_responses, offered_tools

WRONG = "memory: {recall_limit: 0}\n"


class Host:
    """A third-party Runner whose parts share one gaia.yaml; its agent also lists ADK's own tools."""

    def __init__(self, folder: Path, *answers: Any) -> None:
        self.file = folder / "gaia.yaml"
        self.home = folder / "data"
        self.model = ScriptedLlm(*answers, default="ok")
        self.service = Mem0MemoryService(uri=f"mem0://?config={self.file}")
        self.runner = build_runner(SessionWindowPlugin(), MemoryPlugin(), model=self.model, service=self.service)

    async def write(self, text: str) -> None:
        await asyncio.to_thread(self.file.write_text, f"home: {self.home}\n{text}")


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return our logged warnings and errors."""
    ours = [record for record in caplog.records if record.name.startswith("gaia_memory")]
    return [record.getMessage() for record in ours if record.levelno >= logging.WARNING]


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the file name the home, and keep offline models and a slow embedder out of the reported problems."""
    monkeypatch.delenv("GAIA_HOME")
    monkeypatch.setenv("GAIA_MEMORY__LLM__PROVIDER", "offline")
    monkeypatch.setenv("GAIA_MEMORY__EMBEDDER__PROVIDER", "offline")
    monkeypatch.setattr(verbatim_module, "REMEMBER_EMBED_TIMEOUT_SECONDS", 60.0)


async def test_an_invalid_file_is_reported_once_and_fixing_it_is_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two plugins, tools and a service encounter it at every turn."""
    host = Host(tmp_path)
    await host.write(WRONG)
    answers = [await run_turn(host.runner, text) for text in ("hi", "/memory", "/remember I like figs", "hi again")]
    found = await host.service.search_memory(app_name=APP, user_id=USER, query="figs")
    with pytest.raises(ConfigError):
        await host.service.list_memories(app_name=APP, user_id=USER)
    told = errors_in(caplog)
    offered = offered_tools(host.model.requests[-1])
    await host.write("")
    mended = [await run_turn(host.runner, text) for text in ("hello", "/remember I like figs", "/memory")]
    await host.runner.close()

    assert answers[0] == answers[3] == "ok"
    for answer in answers[1:3]:
        assert "nothing was changed" in answer
        assert "gaia.yaml is not usable" in answer
        assert str(host.file.parent) not in answer
        assert "memory.recall_limit: 0 is not allowed" in answer
    assert found.memories == []
    # Their answers tell the agent.
    assert offered == TOOLS
    assert len(told) == 1
    assert "memory cannot be opened" in told[0]
    assert "memory.recall_limit: 0 is not allowed" in told[0]
    assert mended[:2] == ["ok", "I will remember: I like figs"]
    assert mended[2].startswith("I remember 1 fact about you:\n1. I like figs")
    assert offered_tools(host.model.requests[-1]) == TOOLS
    assert len(errors_in(caplog)) == 1


async def test_a_second_mistake_is_reported_too_and_one_after_a_fix_keeps_the_good_version(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log helps whoever edits the file."""
    host = Host(tmp_path)
    counts = []
    for text in (WRONG, "memory: {recall_limit: many}\n", "", WRONG):
        await host.write(text)
        await run_turn(host.runner, "hi")
        await run_turn(host.runner, "hi")
        counts.append(len(errors_in(caplog)))
        await host.runner.close()

    # The last one is a new version of the file of a memory that worked: the good version before it stays in force.
    assert counts[:3] == [1, 2, 2]
    answer = await run_turn(host.runner, "/memory")
    assert answer.startswith("Nothing is stored about you yet.\nThere is a problem: ")
    assert "the last good version stays in force" in answer
    await host.runner.close()


async def test_a_missing_file_and_an_unavailable_database_are_reported_alike(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each names a remedy; the database recovers by itself."""
    host = Host(tmp_path)
    missing = await run_turn(host.runner, "/memory")
    await host.write("")
    host.home.write_text("a file stands where the folder should be")
    away = [await run_turn(host.runner, text) for text in ("/memory", "hi", "/memory")]
    told = errors_in(caplog)
    host.home.unlink()
    back = await run_turn(host.runner, "/remember I like figs")
    await host.runner.close()

    assert "no such file" in missing
    assert str(host.file) not in missing
    assert str(host.file) in told[0]
    assert "make it a writable folder" in away[0]
    assert away[1] == "ok"
    assert away[2] == away[0]
    assert len(told) == 2
    assert back == "I will remember: I like figs"
    assert fact_texts_in(host.home) == ["I like figs"]


async def test_adks_own_tools_find_nothing_and_the_turn_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`load_memory` and `preload_memory` call the service, which returns nothing."""
    model = ScriptedLlm(call("load_memory", query="figs"), "I do not know.")
    agent = LlmAgent(name="assistant", model=model, instruction="Help.", tools=[load_memory, preload_memory])
    (tmp_path / "gaia.yaml").write_text(WRONG)
    service = Mem0MemoryService(uri=f"mem0://?config={tmp_path / 'gaia.yaml'}")
    runner = Runner(
        app=App(name=APP, root_agent=agent),
        session_service=InMemorySessionService(),
        memory_service=service,
        auto_create_session=True,
    )
    async with runner:
        answer = await run_turn(runner, "what do I like?")

    assert answer == "I do not know."
    assert "memories=[]" in str(function_responses(model.requests[1])).replace("'memories': []", "memories=[]")
    assert len(errors_in(caplog)) == 1


async def test_a_search_in_a_missing_file_is_an_error_that_names_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty answer would look like a memory without facts."""
    service = Mem0MemoryService(uri="mem0://?config=missing.yaml", agents_dir=str(tmp_path))

    for _ in range(2):
        with pytest.raises(ConfigError, match=r"missing\.yaml"):
            await service.search_memory(app_name=APP, user_id=USER, query="figs")
    assert len(errors_in(caplog)) == 1

    (tmp_path / "missing.yaml").write_text(f"home: {tmp_path / 'data'}\n")
    found = await service.search_memory(app_name=APP, user_id=USER, query="figs")
    assert found.memories == []


async def test_a_turn_continues_where_the_file_is_missing(tmp_path: Path) -> None:
    """The plugin answers for ADK's own tool, and the model learns that memory is unavailable."""
    model = ScriptedLlm(call("load_memory", query="figs"), "I do not know.")
    service = Mem0MemoryService(config=tmp_path / "missing.yaml")
    runner = build_runner(MemoryPlugin(), model=model, service=service, tools=[load_memory])
    answer = await run_turn(runner, "what do I like?")
    await runner.close()

    assert answer == "I do not know."
    assert "unavailable" in str(function_responses(model.requests[1]))


async def test_our_tools_say_that_memory_is_unavailable(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Models repeat calls they find in the conversation, even of tools they are not offered."""
    host = Host(tmp_path, call("remember", fact="likes figs"), call("load_memory", query="fruit"), "Sorry.")
    await host.write(WRONG)
    answer = await run_turn(host.runner, "I like figs")
    await host.runner.close()
    told = function_responses(host.model.requests[-1])

    assert answer == "Sorry."
    assert [response["status"] for response in told] == ["error", "unavailable"]
    assert "not saved" in told[0]["message"]
    assert len(errors_in(caplog)) == 1


@pytest.mark.parametrize("where", ["argument", "environment"])
async def test_with_on_unavailable_fail_the_turn_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """`memory.on_unavailable: fail`, if that much of the configuration can be read; ADK wraps the error."""
    home = tmp_path / "data"
    await asyncio.to_thread(home.write_text, "no folder")
    config = {"home": str(home), "memory": {"on_unavailable": "fail"}} if where == "argument" else None
    if config is None:
        monkeypatch.setenv("GAIA_HOME", str(home))
        monkeypatch.setenv("GAIA_MEMORY__ON_UNAVAILABLE", "fail")
    runner = build_runner(MemoryPlugin(config=config))
    with pytest.raises(RuntimeError, match=r"Error in plugin 'gaia_memory' .*make it a writable folder") as raised:
        await run_turn(runner, "hi")
    assert isinstance(raised.value.__cause__, MemoryUnavailable)
    service = Mem0MemoryService(config=config)
    with pytest.raises(Exception, match="make it a writable folder"):
        await service.search_memory(app_name=APP, user_id=USER, query="figs")
    await runner.close()


async def test_messages_sent_while_memory_was_unavailable_are_learned_afterwards(tmp_path: Path) -> None:
    """The first turn with memory registers the existing sessions."""
    host = Host(tmp_path)
    await host.write(WRONG)
    await run_turn(host.runner, "I live in Berlin.")
    await host.write("sessions: {idle_consolidate_minutes: 0.001}\n")
    await run_turn(host.runner, "hi", session="another")
    engine = await host.service.source.engine()
    async with asyncio.timeout(60):
        while not fact_texts_in(host.home):
            await engine.sweep()
    await host.runner.close()

    assert fact_texts_in(host.home) == ["I live in Berlin."]
