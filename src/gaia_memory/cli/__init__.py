"""The command line: `gaia`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

_COMPLETION_OPTIONS = ("--show-completion", "--install-completion")
_GARBAGE_THRESHOLD_OBJECTS = 50_000
"""ADK, mem0 and Chroma create some million objects and hardly any garbage: the default of 700 costs half a second."""
_INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT
_NO_DETECTION_VARIABLE = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"


def main() -> None:
    """Run the command line and exit with its code.

    An unexpected error, too, is shown in one line; `--debug` shows the traceback.
    """
    _use_named_shell(sys.argv)
    gc.set_threshold(_GARBAGE_THRESHOLD_OBJECTS)
    try:
        _run_app()
    except KeyboardInterrupt:
        # Before and after a command; Typer answers it in between.
        sys.exit(_INTERRUPTED_EXIT_CODE)
    finally:
        # The operating system frees the memory at once; a last collection would take a second.
        gc.freeze()


def _run_app() -> None:
    from gaia_memory.cli.app import app
    from gaia_memory.cli.ui.terminal import print_error

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal cannot encode is shown as `?`.
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="gaia")
    except Exception as error:
        # The last boundary: a user at a terminal needs a sentence, not a traceback.
        if "--debug" in sys.argv:
            raise
        print_error(f"unexpected {type(error).__name__}: {error} (`gaia --debug …` shows where)")
        sys.exit(1)


def _use_named_shell(arguments: Sequence[str]) -> None:
    """Make Typer use the named shell: unless this variable is set, it detects the running one."""
    if len(arguments) > 2 and arguments[1] in _COMPLETION_OPTIONS:
        os.environ[_NO_DETECTION_VARIABLE] = "1"
