"""How the command line fails: one clear message, an exit code, no traceback unless requested."""

from __future__ import annotations

import logging
import sys
import warnings

import pytest
import typer

from gaia_memory.cli import engines, main
from gaia_memory.cli.ui.terminal import coloured
from gaia_memory.errors import MemoryUnavailable
from support.cli.cli_runner import CommandResult, run_gaia

pytestmark = pytest.mark.heavy


def failing(error: Exception) -> object:
    """Return a replacement for loading the configuration that raises the error."""

    def load(*_: object, **__: object) -> None:
        raise error

    return load


def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> CommandResult:
    """Run the entry point itself, which is the last to handle an exception."""
    monkeypatch.setattr(sys, "argv", ["gaia", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    return CommandResult(int(left.value.code or 0), out, err)


def test_an_error_of_the_package_is_printed_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to do; the exit code is 1."""
    monkeypatch.setattr(engines, "load_config", failing(MemoryUnavailable("the disk is full", remedy="make room")))
    done = run_gaia("sweep")

    assert (done.code, done.out, done.err) == (1, "", "gaia: the disk is full: make room\n")


def test_an_unexpected_error_is_printed_as_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It shows type and message, and how to get a traceback."""
    monkeypatch.setattr(engines, "load_config", failing(ZeroDivisionError("by zero")))
    done = run_main(monkeypatch, capsys, "sweep")

    assert done.code == 1
    assert done.err == "gaia: unexpected ZeroDivisionError: by zero (`gaia --debug …` shows where)\n"


def test_an_unusable_file_is_not_reported_as_unexpected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message contains its name and the system's reason."""
    monkeypatch.setattr(engines, "load_config", failing(PermissionError(13, "Permission denied", "/x/y")))
    done = run_main(monkeypatch, capsys, "sweep")

    assert done.err == "gaia: /x/y cannot be used (Permission denied): name a place that you may use\n"


@pytest.mark.parametrize("error", [MemoryUnavailable("away"), ZeroDivisionError("by zero")])
def test_debug_raises_the_original_exception(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Python then prints the traceback."""
    monkeypatch.setattr(engines, "load_config", failing(error))
    monkeypatch.setattr(sys, "argv", ["gaia", "--debug", "sweep"])

    with pytest.raises(type(error)):
        main()


@pytest.mark.filterwarnings("default:rusty")
def test_log_lines_are_single_lines_and_log_handlers_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only warnings of the package are shown, without tracebacks, and only once by a second command."""

    def load(*_: object, **__: object) -> None:
        logging.getLogger("gaia_memory.somewhere").warning("running on %s\n  in x", "fumes", exc_info=ValueError("y"))
        warnings.warn("rusty", DeprecationWarning, stacklevel=1)
        logging.getLogger("somebody.else").warning("noise")
        raise MemoryUnavailable("away")

    monkeypatch.setattr(engines, "load_config", load)
    run_gaia("sweep")
    done = run_gaia("sweep")

    assert done.err == "warning: running on fumes\ngaia: away\n"


def test_no_color_disables_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """This applies to errors and results, even on a terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    with_colour = coloured("OK", "green")
    monkeypatch.setenv("NO_COLOR", "1")

    assert with_colour != "OK"
    assert coloured("OK", "green") == "OK"


def test_debug_shows_debug_messages_of_this_package_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """They contain the reason of a failure with its traceback."""

    def load(*_: object, **__: object) -> None:
        logging.getLogger("gaia_memory.somewhere").debug("why it failed")
        logging.getLogger("somebody.else").debug("noise")
        raise typer.Exit(3)

    monkeypatch.setattr(engines, "load_config", load)
    plain, told = run_gaia("sweep"), run_gaia("--debug", "sweep")

    assert ("why it failed" in plain.err, "why it failed" in told.err) == (False, True)
    assert "noise" not in told.err
