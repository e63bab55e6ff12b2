"""`gaia chat`, `gaia sweep` and `gaia demo`, and several processes on one home."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gaia_memory import open_memory
from support.commandline import COMMAND, Done, gaia, gaia_process, home, offline_config
from support.fake_gemini import Failure, FakeGemini, facts


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration on the keyless defaults."""
    return str(offline_config(tmp_path))


def chat(config: str, *lines: str, user: str = "itay", channel: str = "cli") -> Done:
    """Say these lines to the agent."""
    typed = "".join(f"{line}\n" for line in lines)
    return gaia("chat", "--user", user, "--channel", channel, "--config", config, typed=typed)


def listed(config: str, user: str = "itay") -> list[str]:
    """Return the texts of a person's facts."""
    done = gaia("memory", "list", "--user", user, "--config", config, "--json")
    return [row["text"] for row in done.data["memories"]]


def test_a_chat_says_what_it_runs_on_answers_and_ends_politely(config: str) -> None:
    """The first line names model and memory, each line is answered, commands work, the end says what happens."""
    done = chat(config, "Remember that I am allergic to nuts", "", "/memory", "/nope", "What am I allergic to?")
    first, *rest = done.out.splitlines()

    assert done.code == 0
    assert "offline" in first
    assert "user itay, channel cli" in first
    assert "allergic to nuts" in "\n".join(rest)
    assert "/help" in done.out
    assert "Bye" in done.err
    assert listed(config) == ["I am allergic to nuts"]


def test_what_is_said_in_a_chat_is_learned_by_a_forced_sweep_and_known_in_the_next(config: str) -> None:
    """The sweep counts what it did, clears it, and finds nothing the second time."""
    chat(config, "I live in Haifa and I like green tea.")
    early = gaia("sweep", "--config", config, "--json")
    first = gaia("sweep", "--force", "--config", config, "--json")
    second = gaia("sweep", "--force", "--config", config)
    answer = chat(config, "Where do I live?", channel="web")

    assert early.data == {"consolidated": 0, "failed": 0, "skipped": 0}
    assert first.data == {"consolidated": 1, "failed": 0, "skipped": 0}
    assert second.out == "0 conversations learned, 0 failed, 0 skipped\n"
    assert "Haifa" in answer.out


def test_a_sweep_that_could_not_learn_leaves_with_1_and_keeps_the_talk(tmp_path: Path, gemini: FakeGemini) -> None:
    """A model that refuses costs no word of the conversation; the next sweep learns it."""
    config = str(offline_config(tmp_path, "memory: {embedder: {provider: offline}}"))
    chat(config, "I live in Haifa.")
    gemini.default("extractor", Failure(400))
    failed = gaia("sweep", "--force", "--config", config)
    gemini.default("extractor", facts("User lives in Haifa"))
    learned = gaia("sweep", "--force", "--config", config, "--json")

    assert failed.code == 1
    assert "1 failed" in failed.out
    assert "Traceback" not in failed.err
    assert learned.data["consolidated"] == 1
    assert listed(config) == ["User lives in Haifa"]


def test_with_memory_off_a_chat_works_and_a_sweep_says_why_not(tmp_path: Path) -> None:
    """The agent answers without memory; the sweep leaves with 1 and the reason."""
    config = str(offline_config(tmp_path, "memory: {enabled: false}"))
    talked, swept = chat(config, "hello", "/memory"), gaia("sweep", "--config", config)

    assert talked.code == 0
    assert "off" in talked.out
    assert swept.code == 1
    assert "memory.enabled" in swept.err


def test_a_model_nobody_knows_is_explained(config: str) -> None:
    """The message names the model; nothing was talked about."""
    done = gaia("chat", "--config", config, "--model", "nosuch", typed="hello\n")

    assert done.code == 1
    assert "nosuch" in done.err
    assert len(done.err.splitlines()) == 2


@contextmanager
def running(*arguments: str, **streams: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends."""
    with subprocess.Popen([*COMMAND, *arguments], **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def test_ctrl_c_ends_a_chat_that_waits_for_a_line(config: str) -> None:
    """The process ends by itself, at once and without a traceback, though its input stays open."""
    pipe = subprocess.PIPE
    with running("chat", "--user", "itay", "--config", config, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=15)
        said = process.stderr.read()

    assert b"offline" in first
    assert code == 0
    assert b"Traceback" not in said
    assert b"Bye" in said


class Screen:
    """What a terminal shows, read from its other end."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unseen = b""

    def until(self, wanted: bytes, *, seconds: float = 30.0) -> bytes:
        """Return what is shown up to and with something, beginning where the last look ended."""
        ends = time.monotonic() + seconds
        while wanted not in self._unseen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, ends - time.monotonic()))
            assert ready, f"{wanted!r} is not in {self._unseen!r}"
            self._unseen += os.read(self._terminal, 4096)
        before, _, self._unseen = self._unseen.partition(wanted)
        return before + wanted

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of Unix")
def test_at_a_terminal_commands_are_completed_and_ctrl_d_ends_the_chat(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typing the beginning of a command offers the rest; an answer is shown; Ctrl-D leaves."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    ours, theirs = pty.openpty()
    with running("chat", "--user", "itay", "--config", config, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        screen = Screen(ours)
        first = screen.until(b">")
        screen.type(b"/rem")
        screen.until(b"/remember")
        screen.type(b"\t I like tea\r")
        screen.until(b"I will remember: I like tea")
        screen.until(b">")
        screen.type(b"\x04")
        screen.until(b"Bye")
        code = process.wait(timeout=15)
    os.close(ours)

    assert b"offline" in first
    assert code == 0
    assert listed(config) == ["I like tea"]


async def test_commands_work_while_another_process_has_the_home_open(config: str) -> None:
    """Facts are added and listed, and a forget says which process finishes the erasure, then does."""
    async with open_memory(config) as gaia_open:
        scope = gaia_open.scope(user_id="itay")
        await gaia_open.memory.remember(scope, "likes tea")
        await gaia_open.memory.settled()
        shared = ("--user", "itay", "--config", config)
        await asyncio.to_thread(gaia_process, "memory", "add", *shared, "likes cake")
        seen = [fact.text for fact in await gaia_open.memory.facts(scope)]

        reader = await asyncio.to_thread(_reading, home() / "memory.db")
        forgot = await asyncio.to_thread(gaia_process, "memory", "forget", *shared, "-y", "--json")
        pending = (await gaia_open.memory.status(scope)).erasures
        reader.close()
        await gaia_open.memory.settled()
        left = await gaia_open.memory.facts(scope)

    assert seen == ["likes tea", "likes cake"]
    assert forgot.code == 0, forgot.err
    assert (forgot.data["count"], forgot.data["pending"]) == (2, True)
    assert f"process {os.getpid()} " in forgot.data["notes"][-1]
    assert pending == 1
    assert left == []


def _reading(database: Path) -> sqlite3.Connection:
    """Return a connection in the middle of reading: while it lasts no old page can leave the files."""
    connection = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return connection


def test_the_demo_holds_without_key_and_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its lines is an observation that holds; the machine's own settings do not change it."""
    monkeypatch.setenv("GAIA_MEMORY__ENABLED", "false")
    monkeypatch.setenv("GEMINI_API_KEY", "no-real-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    pipe = subprocess.PIPE
    with running("demo", stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        rest = process.stdout.read().decode().splitlines()
        code = process.wait()

    assert code == 0
    assert {line[:4] for line in rest[:-1]} == {"OK  "}
    assert len(rest) >= 15
    assert "observations hold" in rest[-1]
    assert "no key, no network" in first
    assert not home().exists()
