"""From nothing to a corrected fact in the browser: `python -m support.cli.first_minute`, run in tests/.

It clones the last commit of the checkout, makes a virtual environment, installs with `pip install .`, remembers a fact
with `gaia memory add`, starts `gaia serve`, logs in with Chromium and corrects the fact there. It prints the seconds of
each step. How long the installation takes depends on the network and on pip's cache, which a second run finds filled;
everything after it has to take less than a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.checkout import ROOT
from support.cli import chromium
from support.cli.dashboard import DashboardPage, served_home

MAX_SECONDS = 60.0


def correct_a_fact(folder: Path, gaia: tuple[str, ...], seconds: dict[str, float]) -> None:
    """Remember a fact in a new home and correct it in the browser; note the seconds of each step."""
    config = folder / "gaia.yaml"
    config.write_text(f"home: {folder / 'home'}\nmodel: offline\n", encoding="utf-8")
    with _timed(seconds, "remember a fact"):
        command = (*gaia, "memory", "add", "--config", str(config), "--user", "ada", "Lives in Oslo")
        subprocess.run(command, check=True, capture_output=True)
    with (
        _timed(seconds, "serve, log in, correct"),
        served_home(config, folder, gaia) as address,
        chromium.open_browser(folder / "browser") as session,
    ):
        page = DashboardPage(session)
        page.log_in(address, (folder / "home" / "server.token").read_text(encoding="utf-8").strip())
        page.follow("ada")
        page.follow("Lives in Oslo")
        page.type_into("//textarea", "Lives in Bergen")
        page.click("//button[normalize-space()='Save']")
        page.wait_for_text("replaced")
    listed = subprocess.run(
        (*gaia, "memory", "list", "--config", str(config), "--user", "ada", "--json"),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "Lives in Bergen" in listed, listed


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    seconds[step] = time.monotonic() - begun


def main() -> None:
    """Install the checkout into a new environment, correct a fact, and print how long it took."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with _timed(seconds, "clone"):
            subprocess.run(("git", "clone", "--quiet", str(ROOT), str(folder / "clone")), check=True)
        with _timed(seconds, "environment"):
            subprocess.run((sys.executable, "-m", "venv", str(folder / "venv")), check=True)
        with _timed(seconds, "pip install ."):
            pip = (str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", ".")
            subprocess.run(pip, check=True, cwd=folder / "clone")
        installed = sum(seconds.values())
        os.environ["GAIA_HOME"] = str(folder / "home")
        correct_a_fact(folder, (str(folder / "venv/bin/gaia"),), seconds)
    for step, taken in seconds.items():
        print(f"{step:24} {taken:6.1f} s")  # noqa: T201
    print(f"{'in all':24} {sum(seconds.values()):6.1f} s")  # noqa: T201
    if sum(seconds.values()) - installed > MAX_SECONDS:
        sys.exit("the steps after the installation took more than a minute")


if __name__ == "__main__":
    main()
