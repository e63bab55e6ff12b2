"""The command line: `gaia`."""

from __future__ import annotations

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line and leave the process with its exit code.

    What nobody foresaw is told in one line too; `--debug` shows the traceback.
    """
    from gaia_memory.cli.app import app
    from gaia_memory.cli.terminal import complain

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What a terminal's encoding has no sign for is shown as `?`, and costs no answer.
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="gaia")
    except Exception as error:
        # The last boundary: a person at a terminal is helped by a sentence, not by a traceback.
        if "--debug" in sys.argv:
            raise
        complain(f"unexpected {type(error).__name__}: {error} (`gaia --debug …` shows where)")
        sys.exit(1)
