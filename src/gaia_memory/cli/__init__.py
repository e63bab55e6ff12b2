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
    """Run the command line and exit with its code.

    An unexpected error, too, is shown in one line; `--debug` shows the traceback.
    """
    _use_named_shell(sys.argv)
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
        if isinstance(error, OSError) and error.filename and error.strerror:
            print_error(f"{error.filename} cannot be used ({error.strerror}) (`gaia --debug …` shows where)")
        else:
            print_error(f"unexpected {type(error).__name__}: {error} (`gaia --debug …` shows where)")
        sys.exit(1)


def _use_named_shell(arguments: Sequence[str]) -> None:
    """Make Typer use the named shell: unless this variable is set, it detects the running one."""
    for option, shell in pairwise(arguments):
        if option in _COMPLETION_OPTIONS and shell in _SHELLS:
            os.environ[_NO_DETECTION_VARIABLE] = "1"
        elif option in _COMPLETION_OPTIONS and arguments[1] == option:
            known_shells = f"{', '.join(_SHELLS[:-1])} or {_SHELLS[-1]}"
            sys.stderr.write(f"gaia: {shell!r} is no known shell: pass {known_shells}\n")
            sys.exit(2)
