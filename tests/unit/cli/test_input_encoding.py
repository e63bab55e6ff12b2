"""Input is read as UTF-8; output to a terminal is plain text."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from gaia_memory.language.printable_text import remove_hidden
from support.cli.cli_runner import GAIA_COMMAND, gaia_home, run_gaia, run_gaia_process, write_offline_config

pytestmark = pytest.mark.heavy

HIDDEN = "\u061c\u200b\u200e\u200f\u202e\u2060\ufeff\ufff9\ufffb\U000e0041"
"""Characters that no terminal shows, or that reorder what it shows."""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration that needs no keys."""
    return str(write_offline_config(tmp_path))


@pytest.mark.slow
def test_an_invalid_byte_in_a_chat_is_replaced_and_the_message_is_learned(config: str) -> None:
    """This does not depend on the machine's encoding."""
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    talked = run_gaia_process("chat", "-u", "itay", "-c", config, stdin=b"I live in the caf\xe9.\n", environment=strict)
    swept = run_gaia("sweep", "--force", "--json", "-c", config)
    listed = run_gaia("memory", "list", "-u", "itay", "-c", config, "--json").json_output["memories"]

    assert (talked.code, "Traceback" in talked.err) == (0, False)
    assert swept.json_output["consolidated"] == 1
    assert ["caf\ufffd" in fact["text"] for fact in listed] == [True]


def test_input_that_is_not_text_is_refused_as_a_fact(config: str, tmp_path: Path) -> None:
    """This applies to files and standard input, and to NUL characters."""
    file = tmp_path / "binary"
    file.write_bytes(b"likes tea\0\n")
    shared = ("memory", "add", "-u", "itay", "-c", config)
    refused = [
        run_gaia(*shared, stdin=b"\xff\xfe\n"),
        run_gaia(*shared, stdin=b"a\0b\n"),
        run_gaia(*shared, "-f", str(file)),
    ]

    assert [done.code for done in refused] == [2, 2, 2]
    assert not gaia_home().exists()


def test_a_byte_order_mark_is_not_part_of_the_first_line(config: str, tmp_path: Path) -> None:
    """This applies to files and standard input."""
    file = tmp_path / "facts.txt"
    file.write_text("likes tea\n", encoding="utf-8-sig")
    shared = ("memory", "add", "-u", "itay", "-c", config)
    run_gaia(*shared, "-f", str(file))
    run_gaia(*shared, stdin="\ufefflikes cake\n".encode())
    chatted = run_gaia("chat", "-u", "itay", "-c", config, stdin="\ufeff/memory\n".encode())
    listed = run_gaia("memory", "list", "-u", "itay", "-c", config, "--json").json_output["memories"]

    assert [fact["text"] for fact in listed] == ["likes tea", "likes cake"]
    assert "likes cake" in chatted.out


@pytest.mark.parametrize("command", [("chat",), ("memory", "add", "-u", "itay")], ids=" ".join)
def test_a_closed_standard_input_is_reported(config: str, command: tuple[str, ...]) -> None:
    """The error is one line without a traceback."""
    shell = ["sh", "-c", '"$@" <&-', "sh", *GAIA_COMMAND, *command, "-c", config]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard input is closed" in done.stderr


def test_control_characters_in_a_fact_do_not_reach_the_terminal(config: str) -> None:
    """Tables and chats leave them out, and JSON escapes them."""
    run_gaia("memory", "add", "-u", "itay", "-c", config, f"likes \x1b[31mred\x1b[0m \x9b2J tea\x07{HIDDEN}")
    shared = ("-u", "itay", "-c", config)
    shown = [
        run_gaia("memory", "list", *shared).out,
        run_gaia("memory", "search", *shared, "tea").out,
        run_gaia("chat", *shared, stdin="/memory\n").out,
        run_gaia("memory", "list", *shared, "--json").out,
    ]

    assert ["[31mred" in out for out in shown] == [True] * 4
    assert [remove_hidden(out) == out for out in shown] == [True] * 4
    assert {"\x9b", *HIDDEN} <= set(json.loads(shown[-1])["memories"][0]["text"])


def test_a_character_the_output_cannot_encode_becomes_a_question_mark(config: str) -> None:
    """An ASCII terminal still shows the rest."""
    run_gaia("memory", "add", "-u", "itay", "-c", config, "likes שוקו")
    done = run_gaia_process("memory", "list", "-u", "itay", "-c", config, environment={"PYTHONIOENCODING": "ascii"})

    assert done.code == 0, done.err
    assert "likes ????" in done.out


EVIL = "ada\nOK   store is fine \x1b[2J\u202egnorw [bold]x[/bold] :heart:"


@pytest.mark.parametrize(
    "command",
    [
        ("memory", "list", "--user", EVIL),
        ("memory", "search", "--user", EVIL, "tea"),
        ("memory", "add", "--user", EVIL, "likes tea"),
        ("memory", "forget", "--user", EVIL, "-y"),
        ("memory", "import", "--user", "ada", f"/tmp/{EVIL}"),
        ("people", "merge", EVIL, "bob"),
        ("chat", "--user", EVIL),
    ],
)
def test_an_id_is_printed_as_one_harmless_line(config: str, command: tuple[str, ...]) -> None:
    """It cannot start a line that looks like ours, and is not interpreted as markup."""
    gaia_home().mkdir()
    done = run_gaia(*command, "-c", config, stdin="")
    shown = done.out + done.err

    assert "bold]x" in "".join(shown.split())
    assert ":heart:" in shown
    assert re.search(r"(?m)^OK", shown) is None
    assert set(shown) & set("\x1b\u202e") == set()
