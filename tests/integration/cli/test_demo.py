"""`gaia demo`: the story, the checks of `--verify`, and what they say when something fails."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from docs.render.demo_capture import CAPTURE_PATH, USER, text_of
from rich.console import Console

from gaia_memory.cli.demo import demo_checks, doomed_sweep, story
from gaia_memory.cli.demo.demo import NEXT_COMMAND
from gaia_memory.cli.demo.demo_home import count_files
from gaia_memory.cli.demo.story_screen import MAX_COLUMNS, Screen
from gaia_memory.models import SweepReport
from gaia_memory.sessions.learning.sweep import Sweeper
from support.checkout import ROOT
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, run_gaia_process
from support.cli.terminal import running_command

SCREEN_LINES = 24
PATIENCE_SECONDS = 170.0
OTHER_SETTINGS = {
    "LOGNAME": USER,
    "GAIA_MEMORY__ENABLED": "false",
    "GEMINI_API_KEY": "no-real-key",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
}


DAY = re.compile(r"(?<=On)[A-Z][a-z]+day(?=yousaid)")
"""Depends on the day of the run."""


def run_demo(*arguments: str) -> CommandResult:
    """Run the demo in a child process, on a machine whose own settings would break it."""
    return run_gaia_process("demo", *arguments, environment=OTHER_SETTINGS, timeout_seconds=PATIENCE_SECONDS)


def test_the_demo_tells_the_story_on_one_screen() -> None:
    """A talk, a question in a new session, another person, a kill and a forget; the last line is the next command."""
    done = run_demo()
    lines = done.out.splitlines()
    expected = [
        "Three days ago",
        "ada  I am allergic to peanuts.",
        "Learned",
        "Today",
        "ada  What am I allergic to?",
        "peanuts",
        "eli  What am I allergic to?",
        "Eli asked the same and learned nothing",
        "ada  I started to learn the cello.",
        "kill -9",
        "Nothing was lost",
        "ada  /forget yes",
        "I forgot 3 facts about you.",
        "No file contains peanuts, harbour or cello any more.",
        NEXT_COMMAND,
    ]
    unread = iter(lines)
    missing = [text for text in expected if not any(text in line for line in unread)]

    assert (done.code, done.err) == (0, "")
    assert missing == [], done.out
    assert lines[-1] == f"Now you: {NEXT_COMMAND} {USER}"
    assert "✗" not in done.out
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= MAX_COLUMNS
    assert "\x1b" not in done.out
    assert not gaia_home().exists()
    captured, shown = text_of((ROOT / CAPTURE_PATH).read_text(encoding="utf-8")), "".join(done.out.split())
    assert DAY.sub("", captured) == DAY.sub("", shown)


@pytest.mark.slow
def test_verify_lists_the_checks_as_text_and_as_json() -> None:
    """Each passes; the machine's own settings do not affect them."""
    done, as_json = run_demo("--verify"), run_demo("--verify", "--json")
    first, *lines, last = done.out.splitlines()

    assert (done.code, done.err) == (0, "")
    assert "no key, no network" in first
    assert len(lines) == 22
    assert {line[:5] for line in lines} == {"OK   "}
    assert last.startswith("22 of 22 checks passed (")
    assert (as_json.code, as_json.json_output["passed"], as_json.json_output["failed"]) == (0, 22, 0)
    assert all(check["passed"] for check in as_json.json_output["checks"])


class ImmortalSweep:
    """A process that cannot be killed, and does not learn either."""

    pid = 0

    async def kill_while_it_learns(self, statement: str) -> bool:
        """Do nothing."""
        return False


@asynccontextmanager
async def start_no_process(_: Path) -> AsyncIterator[ImmortalSweep]:
    yield ImmortalSweep()


async def test_a_failed_observation_is_told_in_red_and_no_sweep_runs_beside_the_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after it is still observed; conversations are learned only when the story says so."""
    is_scheduled: list[bool] = []
    sweep = Sweeper.sweep

    async def record(self: Sweeper, **options: object) -> SweepReport:
        is_scheduled.append(bool(options["is_scheduled"]))
        return await sweep(self, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Sweeper, "sweep", record)
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system="standard")
    screen = Screen(console)
    await story.tell_story(tmp_path, ImmortalSweep(), screen)  # type: ignore[arg-type]
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    red = shown.partition("\x1b[31mexpected:")[2].partition("\x1b[0m")[0]

    assert is_scheduled == [False, False]
    assert screen.failed_count == 1
    assert shown.count("\x1b[31mexpected:") == 1
    assert "kill -9" in red
    assert "No file contains peanuts" in shown


@pytest.mark.parametrize("arguments", [[], ["--verify"], ["--verify", "--json"]])
def test_a_failed_check_exits_with_1(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """The failed one is marked and counted; the next command is for those who have seen all pass."""

    async def tell(folder: Path, sweep: object, screen: Screen) -> None:
        screen.observe(True, "water is wet", found="dry water")
        screen.observe(False, "pigs fly", found="pigs walk")

    async def check(folder: Path, sweep: object, observe: Callable[[str, bool], None]) -> None:
        observe("water is wet", True)
        observe("pigs fly", False)

    monkeypatch.setattr(doomed_sweep, "start_doomed_sweep", start_no_process)
    monkeypatch.setattr(story, "tell_story", tell)
    monkeypatch.setattr(demo_checks, "run_checks", check)
    done = run_gaia("demo", *arguments)

    assert done.code == 1
    assert "1 of 2 checks failed" in done.err
    assert NEXT_COMMAND not in done.out
    if "--json" in arguments:
        assert json.loads(done.out)["checks"][1] == {"check": "pigs fly", "passed": False}
    else:
        assert ("FAIL pigs fly" if arguments else "expected: pigs fly; found: pigs walk") in done.out


async def test_a_sweep_that_learned_nothing_fails_its_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipping is no recovery, and a process that survived was not killed."""

    async def sweep(_: Path) -> tuple[int, str, int]:
        return 0, '{"consolidated": 0, "failed": 0, "skipped": 2, "error": null}', 1

    failed: list[str] = []
    monkeypatch.setattr(demo_checks, "_sweep_in_a_process", sweep)
    await demo_checks.run_checks(
        tmp_path,
        ImmortalSweep(),  # type: ignore[arg-type]
        lambda description, passed: None if passed else failed.append(description),
    )
    killed, leased, recovered, learned, *_ = failed

    assert "was killed" in killed
    assert "held by no process" in leased
    assert "took over and finished" in recovered
    assert "nothing" in learned


def test_the_files_of_a_home_are_searched_in_any_case(tmp_path: Path) -> None:
    """Each file counts once, at any depth and of any kind."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.bin").write_bytes(b"\x00\xffPEANUTS peanuts\x00")
    (tmp_path / "b.txt").write_text("Peanuts")

    assert count_files(tmp_path, ["peanuts", "cello"]) == {"peanuts": 2, "cello": 0}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this signal is of Unix")
def test_a_demo_that_is_interrupted_leaves_neither_folder_nor_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even while a child is working in that folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pipe = subprocess.PIPE
    with running_command("demo", stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        while b"cello" not in process.stdout.readline():
            assert process.poll() is None
        children = psutil.Process(process.pid).children(recursive=True)
        folders = list(tmp_path.glob("gaia-demo-*"))
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=PATIENCE_SECONDS)

    assert len(folders) == 1
    assert children
    assert code != 0
    assert not folders[0].exists()
    # Whoever takes the children over may need a moment to let go of them.
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_SECONDS)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
