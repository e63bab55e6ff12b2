"""`gaia sweep` as seen by a user and by a program while it works."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.testing import ScriptedLlm
from support.cli.cli_runner import gaia_home, run_gaia, write_offline_config
from support.cli.terminal import command_in_terminal
from support.plugin_host import APP, build_agent, open_plugin_host
from support.servers.fake_gemini import Answer, Failure, facts

if TYPE_CHECKING:
    from support.servers.fake_gemini import FakeGemini

MODEL = b"gemini/"


class Gate:
    """A model that answers only once it is opened, always the same, and refuses Bob's messages."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Answer:
        assert self._open.wait(60)
        return Failure(400) if "I am bob" in str(body) else self._answer

    def open(self) -> None:
        self._open.set()


def talked(folder: Path, *users: str) -> str:
    """Let each user send a message, and return the configuration; Gemini learns from them."""
    config = write_offline_config(folder, "memory: {embedder: {provider: offline}}", "sessions: {coalesce_seconds: 0}")

    async def talk() -> None:
        async with open_memory(config) as memory:
            agent = LlmAgent(name="assistant", model=memory.model)
            for user in users:
                await memory.conversation(agent, user_id=user, channel="cli").send(f"I am {user} and I like tea")

    asyncio.run(talk())
    return str(config)


@pytest.fixture
def config(tmp_path: Path, gemini: FakeGemini) -> str:
    """Three users have sent a message."""
    return talked(tmp_path, "ada", "bob", "cy")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of Unix")
def test_a_user_sees_the_progress_and_what_it_waits_for(
    config: str, gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts as they go, the model by name, and each failure once, after the bar."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    gate = Gate(facts("likes tea"))
    gemini.set_default("extractor", gate)
    with command_in_terminal("sweep", "--force", "--config", config) as (screen, process):
        shown = screen.read_until(b"Learning with " + MODEL, seconds=60)
        shown += screen.read_until(b"0/3")
        gate.open()
        shown += screen.read_until(b"3/3")
        shown += screen.read_until(b"2 conversations learned, 1 failed, 0 skipped")
        shown += screen.read_until(b"failed conversations are kept and tried again")
        assert process.wait(timeout=60) == 1

    assert shown.count(b"bob:cli") == 1
    assert b"warning" not in shown


def test_a_program_reads_one_line_or_json_and_no_bar(config: str, gemini: FakeGemini) -> None:
    """A pipe gets no progress bar."""
    gemini.set_default("extractor", facts("likes tea"))
    counts = run_gaia("sweep", "--force", "--json", "--config", config)
    line = run_gaia("sweep", "--force", "--config", config)

    counted = {"consolidated": 3, "failed": 0, "skipped": 0, "facts": 3, "waiting": 0, "error": None}
    assert counts.json_output == counted
    assert line.out == "0 conversations learned, 0 failed, 0 skipped\n"
    assert counts.err == line.err == ""


@pytest.mark.slow
def test_conversations_without_a_fact_are_told_apart(tmp_path: Path) -> None:
    """ "3 conversations learned" above one fact looks like a loss."""
    config = str(write_offline_config(tmp_path))
    for user, said in (("ada", "I like tea"), ("bob", "What time is it?"), ("eve", "Where do I live?")):
        run_gaia("chat", "--user", user, "--config", config, stdin=f"{said}\n")
    swept = run_gaia("sweep", "--force", "--config", config).out

    assert swept.startswith(
        "3 conversations learned, 0 failed, 0 skipped\n2 conversations gave no new fact\nI learned 1 thing:"
    )


def test_of_many_failures_some_are_named(tmp_path: Path, gemini: FakeGemini) -> None:
    """Too many lines would hide the reason."""
    config = talked(tmp_path, *(f"user{number}" for number in range(12)))
    gemini.set_default("extractor", Failure(400))
    swept = run_gaia("sweep", "--force", "--config", config)

    assert swept.code == 1
    assert swept.out == "0 conversations learned, 12 failed, 0 skipped\n"
    assert swept.err.count("is not learned yet") == 10
    assert "`gaia doctor` shows them" in swept.err


def test_conversations_not_tried_are_reported_with_the_reason(tmp_path: Path, gemini: FakeGemini) -> None:
    """An unavailable model is not asked about every user; that is no success."""
    config = talked(tmp_path, *(f"user{number}" for number in range(12)))
    gemini.set_default("extractor", Failure(503))
    swept = run_gaia("sweep", "--force", "--config", config)

    assert swept.code == 1
    assert "not tried, because the model gives no answer" in swept.err
    assert "503" in swept.err


def damage(file: Path, *, pages_only: bool) -> None:
    """Make a SQLite file unreadable as a whole, or keep its header and overwrite all pages behind it."""
    whole = file.read_bytes()
    kept = whole[:4096] if pages_only else b""
    file.write_bytes(kept + b"\xaa" * (len(whole) - len(kept)))
    # A process that ended in the middle of a statement leaves the log, which may have all pages.
    file.with_name(f"{file.name}-wal").unlink(missing_ok=True)


@pytest.mark.parametrize("pages_only", [False, True])
def test_a_damaged_session_database_is_reported_as_a_failure(tmp_path: Path, pages_only: bool) -> None:
    """It must not look like nothing to learn; a scheduled sweep is judged by its exit code."""
    config = talked(tmp_path, "ada", "bob")
    damage(gaia_home() / "sessions.db", pages_only=pages_only)
    swept = run_gaia("sweep", "--config", config)
    counts = run_gaia("sweep", "--json", "--config", config)

    assert (swept.code, counts.code) == (1, 1)
    assert swept.out == "0 conversations learned, 0 failed, 0 skipped\n"
    assert swept.err.startswith(f"gaia: {gaia_home() / 'sessions.db'} cannot be read (DatabaseError)")
    assert "no conversation of gaia is learned" in swept.err
    assert "restore a backup" in swept.err
    assert swept.err.count("\n") == 1
    assert counts.json_output["error"] == swept.err.removeprefix("gaia: ").rstrip("\n")
    assert counts.json_output["failed"] == 0


def test_a_restored_session_database_is_read_again(tmp_path: Path) -> None:
    """The failed sweep has given up no conversation."""
    config = talked(tmp_path, "ada")
    sessions = gaia_home() / "sessions.db"
    with closing(sqlite3.connect(sessions)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = sessions.read_bytes()
    damage(sessions, pages_only=False)
    broken = run_gaia("sweep", "--config", config)
    sessions.write_bytes(whole)
    mended = run_gaia("sweep", "--force", "--json", "--config", config)

    assert broken.code == 1
    assert (mended.code, mended.json_output["error"], mended.json_output["failed"]) == (0, None, 0)


def test_a_sweep_that_can_read_none_of_what_waits_fails(tmp_path: Path) -> None:
    """With the exit code of a sweep without a model; a conversation that it can read makes it a success."""
    talked(tmp_path, "ada")
    other = str(
        write_offline_config(tmp_path, "app: shop", f"sessions: {{database_url: sqlite:///{tmp_path}/shop.db}}")
    )
    unread = run_gaia("sweep", "--force", "--config", other)
    counts = run_gaia("sweep", "--json", "--config", other)
    assert run_gaia("chat", "--user", "bob", "--config", other, stdin="I like tea\n").code == 0
    waits = run_gaia("sweep", "--config", other)
    learned = run_gaia("sweep", "--force", "--config", other)

    assert (unread.code, counts.code, waits.code, learned.code) == (1, 1, 0, 0)
    assert unread.err == (
        "gaia: conversations of gaia are pending, but not in `sessions.database_url`: that app has to learn them\n"
    )
    assert counts.json_output["error"] == unread.err.removeprefix("gaia: ").rstrip("\n")
    assert waits.err == learned.err == ""
    assert learned.out.startswith("1 conversation learned")


def test_a_sweep_finishes_the_erasure_of_an_earlier_forget(tmp_path: Path) -> None:
    """If only sweeps run, no other process would rewrite the files."""
    config = write_offline_config(tmp_path)

    async def forget() -> int:
        async with open_memory(config) as gaia:
            scope = gaia.scope("ada")
            await gaia.memory.remember(scope, "Allergic to zanzibarnuts")
            await gaia.memory.settled()
            await gaia.memory.forget(scope)
            return (await gaia.memory.status(scope)).erasures

    assert asyncio.run(forget()) == 1
    swept = run_gaia("sweep", "--config", str(config))

    assert (swept.code, swept.err) == (0, "")
    files = [path for path in gaia_home().rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"zanzibarnuts" in path.read_bytes()] == []


def test_a_session_in_an_unread_database_is_named_with_its_user_and_the_key_to_set(tmp_path: Path) -> None:
    """The message shows the database that was read, because a relative path starts at the home."""

    async def talk() -> None:
        agent, home = build_agent(ScriptedLlm(default="ok")), {"home": str(gaia_home())}
        async with open_plugin_host(tmp_path, agent, config=home) as host:
            await host.run_turn("I like tea.")

    asyncio.run(talk())
    extra = f"app: {APP}\nsessions: {{database_url: sqlite:///own.db}}"
    config = str(write_offline_config(tmp_path, extra))
    swept = run_gaia("sweep", "--force", "--config", config)

    assert swept.code == 1
    assert "s1 of itay is not learned yet: its session is in no session database that this process reads" in swept.err
    assert f"set `sessions.database_url`, now sqlite+aiosqlite:///{gaia_home() / 'own.db'}, to the abs" in swept.err
