"""The command line: `gaia`."""

from __future__ import annotations

import gc
import signal
import sys
from io import TextIOWrapper

_GARBAGE_THRESHOLD_OBJECTS = 50_000
"""ADK, mem0 and Chroma create some million objects and hardly any garbage: the default of 700 costs half a second."""
_INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT


def main() -> None:
    """Run the command line and exit with its code.

    An unexpected error, too, is shown in one line; `--debug` shows the traceback.
    """
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
