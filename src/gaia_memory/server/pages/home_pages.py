"""The pages that belong to no single person: everybody who is known, the health of memory, and the routes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gaia_memory.server.api_description import read_operations
from gaia_memory.server.pages.page_renderer import path_to, render
from gaia_memory.server.pages.person_page import with_error_page
from gaia_memory.server.routes.person import gaia_of, require_database

_MAX_LISTED = 500
_ORDER = {"fail": 0, "warn": 1}

_TIMEOUT_SECONDS = 60.0
_NO_ANSWER = {
    "state": "warn",
    "part": "doctor",
    "says": "the checks gave no answer",
    "remedy": "run `gaia doctor --no-model` in a terminal",
}


async def _home(request: Request) -> Response:
    gaia, caller = gaia_of(request), request.state.caller
    await require_database(request)
    if caller.user is not None:
        return RedirectResponse(path_to(request, "people", gaia.config.app, caller.user), 303)
    wanted = request.query_params.get("q", "").strip()
    people = [each for each in await gaia.memory.people() if wanted.casefold() in each.scope.user.casefold()]
    shown = people[:_MAX_LISTED]
    rows = [(each, path_to(request, "people", each.scope.app or gaia.config.app, each.scope.user)) for each in shown]
    summary = f"{len(people)} {'person' if len(people) == 1 else 'people'}"
    if len(shown) < len(people):
        summary = f"The first {len(shown)} of {summary}: search for the others"
    return render(request, "people.html", q=wanted, people=rows, summary=summary)


async def _status(request: Request) -> Response:
    gaia = gaia_of(request)
    findings = await load_findings(gaia.config.home, gaia.engine.loaded.path)
    return render(request, "health.html", description=gaia.describe(), findings=sorted(findings, key=_severity))


def _severity(finding: dict[str, str]) -> int:
    return _ORDER.get(finding["state"], len(_ORDER))


async def _api(request: Request) -> Response:
    return render(request, "api.html", operations=list(read_operations(request.app.openapi())))


ROUTES = [
    Route("/", with_error_page(_home)),
    Route("/status", with_error_page(_status)),
    Route("/api", with_error_page(_api)),
]


async def load_findings(home: Path, config_file: Path | None) -> list[dict[str, str]]:
    """Return what is right and wrong with a home, without asking a model.

    A process of its own checks it from outside, as a person in a terminal would.
    """
    command = [sys.executable, "-m", "gaia_memory.cli", "doctor", "--no-model", "--json"]
    if config_file is not None:
        command += ["--config", str(config_file)]
    environ = {**os.environ, "GAIA_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environ
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_SECONDS)
        findings: list[dict[str, str]] = json.loads(output)["findings"]
    except (TimeoutError, ValueError, KeyError):
        return [_NO_ANSWER]
    else:
        return findings
    finally:
        if process.returncode is None:
            process.kill()
