"""Processes as in a container: an account without a name and a home folder, in an empty environment."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# The right to read everything: the tests' own Python may stand in a folder of another account.
UNKNOWN_USER = (
    *("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"),
    *("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search", "--securebits", "+no_setuid_fixup"),
)
"""The beginning of a command that runs as that account."""

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root may run a process as another user, with setpriv",
)


def empty_environment(**variables: str) -> dict[str, str]:
    """Return an environment with these variables, and where programs are."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}", **variables}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder in which that account may write; pytest's own folders keep it out."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)
