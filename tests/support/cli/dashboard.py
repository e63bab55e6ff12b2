"""A served home and its dashboard in a browser."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path
from typing import Any

from support.cli.chromium import BrowserPage
from support.cli.cli_runner import GAIA_COMMAND
from support.hosts.adk_process import kill_process_group, wait_for

_AXE = next(Path(str(file.locate())) for file in files("axe-core-python") or () if file.name == "axe.min.js")
_ADDRESS = "memory is served at "


@contextmanager
def served_home(config: Path, folder: Path, gaia: tuple[str, ...] = GAIA_COMMAND) -> Iterator[str]:
    """Run `gaia serve` and yield its address."""
    log = folder / "serve.log"
    with log.open("wb") as output:
        command = [*gaia, "serve", "--port", "0", "--config", str(config)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_for(lambda: _ADDRESS in log.read_text(encoding="utf-8"), describe=lambda: log.read_text(encoding="utf-8"))
        yield log.read_text(encoding="utf-8").partition(_ADDRESS)[2].split()[0]
    finally:
        kill_process_group(process)


class DashboardPage(BrowserPage):
    """An open page of the dashboard."""

    def log_in(self, address: str, token: str) -> None:
        """Open the dashboard and enter a token."""
        self.open(address)
        self.type_into("//input[@id='token']", token)
        self.click("//button[normalize-space()='Log in']")
        self.wait_for_text("Log out")

    def follow(self, label: str) -> None:
        """Click a link."""
        self.click(f"//a[normalize-space()='{label}']")

    def accessibility_problems(self) -> list[str]:
        """Return what axe-core finds, with the place."""
        self.execute_script(_AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self._do(
            "execute/async", script="axe.run().then(found => arguments[0](found.violations))", args=[]
        )
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]

    def foreign_requests(self) -> list[str]:
        """Return the addresses of other hosts that the page has asked for anything."""
        script = "return performance.getEntriesByType('resource').map(each => each.name)"
        own = str(self.execute_script("return location.origin"))
        return [address for address in self.execute_script(script) if not address.startswith((own, "data:"))]
