"""How the command line fails: one clear message, an exit code, no traceback unless it is asked for."""

from __future__ import annotations

import logging
import sys
import warnings

import pytest
import typer

from gaia_memory.cli import main, sweep
from gaia_memory.cli.demo import story
from gaia_memory.cli.ui.terminal import coloured
from gaia_memory.errors import MemoryUnavailable
from support.cli.cli_runner import CommandResult, run_gaia

pytestmark = pytest.mark.heavy


def failing(error: Exception) -> object:
    """Return a stand-in for loading the configuration that fails."""

    def load(*_: object, **__: object) -> None:
        raise error

    return load


def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> CommandResult:
    """Run the entry point itself, which is the last to see an exception."""
    monkeypatch.setattr(sys, "argv", ["gaia", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    return CommandResult(int(left.value.code or 0), out, err)


def test_an_error_of_ours_is_its_message_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to do; the exit code is 1."""
    monkeypatch.setattr(sweep, "load_config", failing(MemoryUnavailable("the disk is full", remedy="make room")))
    done = run_gaia("sweep")

    assert (done.code, done.out, done.err) == (1, "", "gaia: the disk is full: make room\n")


def test_an_error_nobody_foresaw_is_told_in_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its type and message are shown, and how to see where it came from."""
    monkeypatch.setattr(sweep, "load_config", failing(ZeroDivisionError("by zero")))
    done = run_main(monkeypatch, capsys, "sweep")

    assert done.code == 1
    assert done.err == "gaia: unexpected ZeroDivisionError: by zero (`gaia --debug …` shows where)\n"


def test_a_file_that_cannot_be_used_is_nothing_unexpected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name and the system's reason are told."""
    monkeypatch.setattr(sweep, "load_config", failing(PermissionError(13, "Permission denied", "/x/y")))
    done = run_main(monkeypatch, capsys, "sweep")

    assert done.err == "gaia: /x/y cannot be used (Permission denied) (`gaia --debug …` shows where)\n"


@pytest.mark.parametrize("error", [MemoryUnavailable("away"), ZeroDivisionError("by zero")])
def test_debug_shows_where_it_happened(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """With --debug the exception comes out as it is."""
    monkeypatch.setattr(sweep, "load_config", failing(error))
    monkeypatch.setattr(sys, "argv", ["gaia", "--debug", "sweep"])

    with pytest.raises(type(error)):
        main()


@pytest.mark.filterwarnings("default:rusty")
def test_log_lines_are_single_lines_without_tracebacks_and_handlers_do_not_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A warning of ours is shown, what others log is not, and a second command does not show it twice."""

    def load(*_: object, **__: object) -> None:
        logging.getLogger("gaia_memory.somewhere").warning("running on %s\n  in x", "fumes", exc_info=ValueError("y"))
        warnings.warn("rusty", DeprecationWarning, stacklevel=1)
        logging.getLogger("somebody.else").warning("noise")
        raise MemoryUnavailable("away")

    monkeypatch.setattr(sweep, "load_config", load)
    run_gaia("sweep")
    done = run_gaia("sweep")

    assert done.err == "warning: running on fumes\ngaia: away\n"


def test_a_demo_in_which_something_does_not_hold_leaves_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed observation is marked, and counted at the end."""

    async def tell(told: story.DemoScript) -> None:
        told._observe("water is wet", True)
        told._observe("pigs fly", False)

    monkeypatch.setattr(story.DemoScript, "run", tell)
    done = run_gaia("demo")

    assert done.code == 1
    assert done.out.splitlines()[1:] == ["OK   water is wet", "FAIL pigs fly"]
    assert "1 of 2 checks failed" in done.err


def test_colours_are_left_out_where_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of errors and of the demo's verdicts, at a terminal too."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    with_colour = coloured("OK", "green")
    monkeypatch.setenv("NO_COLOR", "1")

    assert with_colour != "OK"
    assert coloured("OK", "green") == "OK"


def test_debug_shows_what_this_package_says_below_the_level_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why something failed is logged there, with its traceback."""

    def load(*_: object, **__: object) -> None:
        logging.getLogger("gaia_memory.somewhere").debug("why it failed")
        logging.getLogger("somebody.else").debug("noise")
        raise typer.Exit(3)

    monkeypatch.setattr(sweep, "load_config", load)
    plain, told = run_gaia("sweep"), run_gaia("--debug", "sweep")

    assert ("why it failed" in plain.err, "why it failed" in told.err) == (False, True)
    assert "noise" not in told.err
