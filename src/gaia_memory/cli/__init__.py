"""The command line: `gaia`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise

_COMPLETION_OPTIONS = ("--show-completion", "--install-completion")
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_NO_DETECTION_VARIABLE = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"


def main() -> None:
    """Run the command line and leave the process with its exit code.

    What nobody foresaw is told in one line too; `--debug` shows the traceback.
    """
    _use_named_shell(sys.argv)
    from gaia_memory.cli.app import app
    from gaia_memory.cli.ui.terminal import print_error

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
        if isinstance(error, OSError) and error.filename and error.strerror:
            print_error(f"{error.filename} cannot be used ({error.strerror}) (`gaia --debug …` shows where)")
        else:
            print_error(f"unexpected {type(error).__name__}: {error} (`gaia --debug …` shows where)")
        sys.exit(1)


def _use_named_shell(arguments: Sequence[str]) -> None:
    """Let a shell that is named count: Typer goes by the one that runs, unless this variable is set."""
    for option, shell in pairwise(arguments):
        if option in _COMPLETION_OPTIONS and shell in _SHELLS:
            os.environ[_NO_DETECTION_VARIABLE] = "1"
        elif option in _COMPLETION_OPTIONS and arguments[1] == option:
            known_shells = f"{', '.join(_SHELLS[:-1])} or {_SHELLS[-1]}"
            sys.stderr.write(f"gaia: {shell!r} is no shell that is known: name {known_shells}\n")
            sys.exit(2)
