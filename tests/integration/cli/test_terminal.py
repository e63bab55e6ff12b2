"""Commands as seen by a user at a terminal."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from support.cli.cli_runner import run_gaia, write_offline_config
from support.cli.terminal import SLOW_COMMAND, command_in_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of Unix")

ENTER, CTRL_C, CTRL_D = b"\r", b"\x03", b"\x04"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the path of a configuration with keyless defaults."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    return str(write_offline_config(tmp_path))


@pytest.mark.slow
def test_commands_are_completed_and_ctrl_d_ends_the_chat(config: str) -> None:
    """The beginning of a command suggests the rest; a reply is shown; Ctrl-D exits."""
    with command_in_terminal("chat", "--user", "itay", "--config", config) as (screen, process):
        first = screen.read_until(b">")
        screen.type_keys(b"/rem")
        screen.read_until(b"/remember")
        screen.type_keys(b"\t I like tea" + ENTER)
        screen.read_until(b"I will remember: I like tea")
        screen.read_until(b">")
        screen.type_keys(CTRL_D)
        screen.read_until(b"Bye")
        code = process.wait(timeout=60)

    assert b"offline" in first
    assert code == 0
    facts = run_gaia("memory", "list", "--user", "itay", "--config", config, "--json").json_output["memories"]
    assert [fact["text"] for fact in facts] == ["I like tea"]


@pytest.mark.slow
def test_a_streaming_answer_is_not_redrawn(config: str) -> None:
    """Every piece stays where it was printed, and Ctrl-C leaves the chat."""
    slow = ("chat", "--user", "itay", "--config", config, "--model", "slow-5-0.1")
    with command_in_terminal(*slow, command=SLOW_COMMAND) as (screen, process):
        screen.read_until(b">")
        screen.type_keys(b"one" + ENTER)
        screen.read_until(b"piece1 ")
        streamed = screen.read_until(b"piece5 ")
        screen.read_until(b"you>")
        screen.type_keys(CTRL_C)
        screen.read_until(b"Bye")
        code = process.wait(timeout=60)

    assert streamed == b"piece2 piece3 piece4 piece5 "
    assert code == 0


@pytest.mark.slow
def test_the_prompt_says_that_a_conversation_is_private_and_quit_leaves(config: str) -> None:
    """The speakers have names, in colours unless `NO_COLOR` is set."""
    with command_in_terminal("chat", "--user", "itay", "--config", config) as (screen, process):
        banner = screen.read_until(b"you> ")
        screen.type_keys(b"/private" + ENTER)
        screen.read_until(b"gaia> ")
        screen.read_until(b"you (private)> ")
        screen.type_keys(b"quit" + ENTER)
        screen.read_until(b"Nothing of this conversation is learned.")
        code = process.wait(timeout=60)

    assert b"Ctrl-D or quit leaves" in banner
    assert code == 0


def test_ctrl_c_at_a_question_ends_the_command(config: str) -> None:
    """At once, and nothing is changed."""
    whose = ("--user", "itay", "--config", config)
    assert run_gaia("memory", "add", "likes tea", *whose).code == 0
    with command_in_terminal("memory", "forget", *whose) as (screen, process):
        screen.read_until(b"[y/N]")
        process.send_signal(signal.SIGINT)
        code = process.wait(10)

    assert code == 1
    assert "likes tea" in run_gaia("memory", "list", *whose).out


def test_a_ctrl_c_that_no_system_call_noticed_ends_a_question(config: str) -> None:
    """As one that comes between the interpreter's last look and the read: here it interrupts nothing itself."""
    late = "threading.Timer(1, _thread.interrupt_main).start()"
    code = f"import _thread, threading; from gaia_memory.cli.ui.read_input import ask; {late}; ask('Sure?')"
    with command_in_terminal(command=(sys.executable, "-c", code)) as (screen, process):
        screen.read_until(b"[y/N]")

        assert process.wait(30) == 1
