"""`gaia chat` and `gaia sweep`, and several processes on one home."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gaia_memory import open_memory
from support.cli.cli_runner import (
    TIMEOUT_SECONDS,
    CommandResult,
    gaia_home,
    run_gaia,
    run_gaia_process,
    write_offline_config,
)
from support.cli.terminal import running_command
from support.servers.fake_gemini import Failure, FakeGemini, facts


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration with keyless defaults."""
    return str(write_offline_config(tmp_path))


def chat(config: str, *lines: str, user: str = "itay", channel: str = "cli") -> CommandResult:
    """Send these lines to the agent."""
    typed = "".join(f"{line}\n" for line in lines)
    return run_gaia("chat", "--user", user, "--channel", channel, "--config", config, stdin=typed)


def listed(config: str, user: str = "itay") -> list[str]:
    """Return the texts of a user's facts."""
    done = run_gaia("memory", "list", "--user", user, "--config", config, "--json")
    return [row["text"] for row in done.json_output["memories"]]


def test_a_chat_names_its_model_answers_and_says_goodbye(config: str) -> None:
    """The first line names model and memory, each line is answered, commands work, the end says what happens next."""
    done = chat(config, "Remember that I am allergic to nuts", "", "/memory", "/nope", "What am I allergic to?")
    first, *rest = done.out.splitlines()

    assert done.code == 0
    assert first == "agent: offline · memory: offline + offline embedder (no GEMINI_API_KEY) · user itay, channel cli"
    assert len(first) < 100
    assert "user itay, channel cli" in first
    assert "allergic to nuts" in "\n".join(rest)
    assert "/help" in done.out
    assert "Bye" in done.err
    assert listed(config) == ["I am allergic to nuts"]


def test_a_chat_says_what_waits_to_be_learned(config: str) -> None:
    """A question finds what is learned; the goodbye says what waits, and a reset names what it learned."""
    said = ("I live in Oslo", "Where do I live?", "/memory")
    first = chat(config, *said, "quit", "I like jazz")
    second = chat(config, "/reset")
    third = chat(config, "Where do I live?")

    assert "I find nothing about that in memory." in first.out
    assert "This conversation waits to be learned: /reset does it now." in first.out
    assert "This conversation waits to be learned" in first.err
    assert "after 30 quiet minutes" in " ".join(first.err.split())
    assert "I learned 1 thing:\n- I live in Oslo" in second.out
    assert 'you said: "I live in Oslo"' in third.out
    assert "Nothing of this conversation waits" in second.err


def test_a_private_chat_says_so_at_each_end_and_is_not_counted_as_learned(config: str) -> None:
    """Also in the next process, until it is switched off."""
    first = chat(config, "/private", "I have a brother called Max")
    second = chat(config, "I have a sister called Noa")
    swept = run_gaia("sweep", "--force", "--config", config)

    assert "Nothing of this conversation is learned." in first.err
    assert second.out.splitlines()[1].startswith("This conversation is private")
    assert swept.out.splitlines() == [
        "0 conversations learned, 0 failed, 0 skipped",
        "1 private conversation: nothing of it is learned",
    ]
    assert listed(config) == []


def test_a_forgotten_chat_is_not_counted_as_learned(config: str) -> None:
    """Nothing is left in it to learn; what is said afterwards is."""
    chat(config, "I live in Oslo", "/forget yes")
    swept = run_gaia("sweep", "--force", "--config", config)
    chat(config, "I live in Rome")
    later = run_gaia("sweep", "--force", "--config", config)

    assert swept.out.splitlines() == [
        "0 conversations learned, 0 failed, 0 skipped",
        "1 conversation gave no new fact",
    ]
    assert later.out.startswith("1 conversation learned")


def test_a_sweep_names_the_new_facts_and_what_waits(config: str) -> None:
    """With their users."""
    chat(config, "I live in Haifa", user="dana")
    early = run_gaia("sweep", "--config", config)
    swept = run_gaia("sweep", "--force", "--config", config)

    assert early.out.endswith("1 conversation not quiet yet: see --force\n")
    assert swept.out.endswith("I learned 1 thing:\n- dana: I live in Haifa\n")


def test_where_the_agents_own_model_learns_no_other_process_is_named(tmp_path: Path) -> None:
    """`gaia sweep` does not have it: the end of a chat, lists and the sweep itself name who does."""
    config = str(write_offline_config(tmp_path, "memory: {llm: {provider: agent}}"))
    said = chat(config, "I live in Haifa")
    swept = run_gaia("sweep", "--config", config)
    found = run_gaia("memory", "list", "--user", "itay", "--config", config)
    reset = chat(config, "/reset")

    assert "/reset in the next chat does it now" in said.err
    assert swept.out.endswith("1 conversation not quiet yet: see --force\n")
    assert found.err == "1 conversation waits to be learned: the process of the agent does it.\n"
    assert "- I live in Haifa" in reset.out


def test_a_no_after_forget_is_neither_talk_nor_learned(config: str) -> None:
    """Without a question it is talk."""
    done = chat(config, "/remember I like teal", "/forget", "nah", "no")
    swept = run_gaia("sweep", "--force", "--config", config, "--json")

    assert done.out.count("Nothing was forgotten.") == 1
    assert "Noted." in done.out
    assert swept.json_output["facts"] == 0
    assert listed(config) == ["I like teal"]


@pytest.mark.slow
def test_a_chat_applies_its_edited_file(config: str) -> None:
    """At the next line and without the debounce, which a terminal does not need; a bad edit is only reported."""
    command = [sys.executable, "-m", "gaia_memory.cli", "chat", "--user", "itay", "--config", config]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    path = Path(config)
    good = path.read_text(encoding="utf-8")
    with subprocess.Popen(command, text=True, **pipes) as talk:
        try:

            def said(line: str) -> str:
                talk.stdin.write(f"{line}\n")
                talk.stdin.flush()
                return talk.stdout.readline()

            talk.stdout.readline()
            before = said("/remember I like teal")
            path.write_text(
                f"{good}\nmemory: {{enabled: false}}\nsessions: {{coalesce_seconds: 60}}\n", encoding="utf-8"
            )
            off = said("/memory")
            path.write_text("- oops\n", encoding="utf-8")
            still_off = said("/memory")
            answered = said("hello")
            path.write_text(good, encoding="utf-8")
            on = said("/memory")
            while "remember" not in on:
                # An answer of the agent's may have several lines.
                on = talk.stdout.readline()
            _, told = talk.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            talk.kill()

    assert "teal" in before
    assert off == still_off == "Memory is off. Set `memory.enabled: true` in gaia.yaml to switch it on.\n"
    assert answered.strip()
    assert on == "I remember 1 fact about you:\n"
    assert told.count(f"{path}: the last good version stays in force: the file contains a list") == 1


def test_a_chat_is_learned_by_a_forced_sweep_and_known_in_the_next_chat(config: str) -> None:
    """The sweep reports its count, clears the session, and finds nothing the second time."""
    chat(config, "I live in Haifa. I like green tea.")
    early = run_gaia("sweep", "--config", config, "--json")
    first = run_gaia("sweep", "--force", "--config", config, "--json")
    second = run_gaia("sweep", "--force", "--config", config)
    answer = chat(config, "Where do I live?", channel="web")

    nothing = {"consolidated": 0, "failed": 0, "skipped": 0, "facts": 0, "waiting": 1, "error": None}
    assert early.json_output == nothing
    assert first.json_output == {**nothing, "consolidated": 1, "facts": 2, "waiting": 0}
    assert second.out == "0 conversations learned, 0 failed, 0 skipped\n"
    assert "Haifa" in answer.out


def test_a_sweep_that_cannot_learn_exits_with_1_and_keeps_the_conversation(tmp_path: Path, gemini: FakeGemini) -> None:
    """A refusing model loses no message; the next sweep learns the conversation."""
    config = str(write_offline_config(tmp_path, "memory: {embedder: {provider: offline}}"))
    chat(config, "I live in Haifa.")
    gemini.set_default("extractor", Failure(400))
    failed = run_gaia("sweep", "--force", "--config", config)
    gemini.set_default("extractor", facts("User lives in Haifa"))
    learned = run_gaia("sweep", "--force", "--config", config, "--json")

    assert failed.code == 1
    assert "1 failed" in failed.out
    assert "itay:cli of itay is not learned yet" in failed.err
    assert "400" in failed.err
    assert "Traceback" not in failed.err
    assert learned.json_output["consolidated"] == 1
    assert listed(config) == ["User lives in Haifa"]


def test_with_memory_off_a_chat_works_and_a_sweep_gives_the_reason(tmp_path: Path) -> None:
    """The agent answers without memory; the sweep exits with 1."""
    config = str(write_offline_config(tmp_path, "memory: {enabled: false}"))
    talked, swept = chat(config, "hello", "I like tea.", "/help"), run_gaia("sweep", "--config", config)

    assert talked.code == 0
    assert "memory: off" in talked.out.splitlines()[0]
    assert "Memory is off" in talked.out
    assert swept.code == 1
    assert "memory.enabled" in swept.err


def test_an_unknown_model_is_reported(config: str) -> None:
    """The message names the model; no message is sent."""
    done = run_gaia("chat", "--config", config, "--model", "nosuch", stdin="hello\n")

    assert done.code == 1
    assert "nosuch" in done.err
    assert len(done.err.splitlines()) == 2


def test_gemini_without_a_key_is_refused_before_the_first_message(config: str) -> None:
    """One line names the variable and the alternative that needs no key."""
    done = run_gaia("chat", "--config", config, "--model", "gemini-3.5-flash", stdin="hello\n")

    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "gemini-3.5-flash needs a key: set GEMINI_API_KEY" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Failure(403), "the model refused the key (403)"),
        (Failure(404), "the provider knows no model of that name (404)"),
        (Failure(400), "the model refused the request (400)"),
    ],
)
def test_an_unanswered_piped_message_is_explained_and_exits_with_1(
    config: str, gemini: FakeGemini, failure: Failure, said: str
) -> None:
    """In words, not by the name of an exception; the following lines are still answered."""
    gemini.set_default("agent", failure)
    done = run_gaia_process("chat", "--config", config, "--model", "gemini-3.5-flash", stdin="hello\n/help\n")

    assert done.code == 1
    assert said in done.err
    assert "Error" not in done.err
    assert "/forget" in done.out


@pytest.mark.slow
def test_ctrl_c_ends_a_chat_that_waits_for_a_line(config: str) -> None:
    """The process exits at once and without a traceback, though its input stays open."""
    pipe = subprocess.PIPE
    with running_command("chat", "--user", "itay", "--config", config, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=TIMEOUT_SECONDS)
        said = process.stderr.read()

    assert b"offline" in first
    assert code == 0
    assert b"Traceback" not in said
    assert b"Bye" in said


@pytest.mark.slow
async def test_commands_work_while_another_process_has_the_home_open(config: str) -> None:
    """Facts are added and listed, and a forget names the process that finishes the erasure."""
    async with open_memory(config) as gaia_open:
        scope = gaia_open.scope(user_id="itay")
        await gaia_open.memory.remember(scope, "likes tea")
        await gaia_open.memory.settled()
        shared = ("--user", "itay", "--config", config)
        await asyncio.to_thread(run_gaia_process, "memory", "add", *shared, "likes cake")
        seen = [fact.text for fact in await gaia_open.memory.facts(scope)]

        reader = await asyncio.to_thread(_reading, gaia_home() / "memory.db")
        forgot = await asyncio.to_thread(run_gaia_process, "memory", "forget", *shared, "-y", "--json")
        pending = (await gaia_open.memory.status(scope)).erasures
        reader.close()
        await gaia_open.memory.settled()
        left = await gaia_open.memory.facts(scope)

    assert seen == ["likes tea", "likes cake"]
    assert forgot.code == 0, forgot.err
    assert (forgot.json_output["count"], forgot.json_output["pending"]) == (2, True)
    assert f"process {os.getpid()} " in forgot.json_output["notes"][-1]
    assert pending == 1
    assert left == []


def _reading(database: Path) -> sqlite3.Connection:
    """Return a connection in the middle of a read: until it ends, no old page can leave the files."""
    connection = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return connection


def test_a_chat_shows_facts_as_they_were_typed_and_stores_them_so(config: str) -> None:
    """A terminal reads neither HTML nor Markdown. Line breaks and control characters never get there."""
    said = ['<b>bold</b> & "quotes" *now* [a](b)', "snake`case`"]
    lines = "".join(f"/remember {text}\n" for text in said)
    shown = run_gaia("chat", "--user", "ada", "--config", config, stdin=f"{lines}/memory\n").out

    assert shown.count(said[0]) == shown.count(said[1]) == 2
    listed = run_gaia("memory", "list", "--user", "ada", "--config", config, "--json").json_output["memories"]
    assert [each["text"] for each in listed] == said


def test_remember_says_what_is_known_and_memory_shows_when_a_note_is_due(config: str) -> None:
    """The words stay as they were said, and "tomorrow" has its day beside it."""
    out = chat(
        config, "/remember I like teal", "/remember I like teal", "/remember dentist tomorrow at 9", "/memory"
    ).out

    assert out.count("I will remember: I like teal\n") == out.count("I know that already: I like teal\n") == 1
    due = re.search(r"I will remember: (dentist tomorrow at 9 \(\d{4}-\d\d-\d\d\))\nDue (.+)\n", out)
    assert due is not None
    assert f"2. {due[1]} (due {due[2]})\n" in out
    assert listed(config) == ["I like teal", due[1]]
