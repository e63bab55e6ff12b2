"""Turns templates into pages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gaia_memory.language.printable_text import remove_hidden

STATIC_FOLDER = Path(__file__).parent / "static"

_MAX_LISTED_CHARACTERS = 300


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page; `values` are what the template names."""
    root = request.scope.get("root_path", "")
    page = _TEMPLATES.get_template(template).render(root=root, caller=request.state.caller, **values)
    return HTMLResponse(page, status)


def path_to(request: Request, *parts: str) -> str:
    """Return the path of a page or route; the application may be mounted below another one."""
    return "/".join([request.scope.get("root_path", ""), *(quote(part, safe="") for part in parts)])


def _load_templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("gaia_memory.server.pages"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        # What people wrote must not change the direction of the page or hide in it.
        finalize=lambda value: remove_hidden(value) if type(value) is str else value,
    )
    environment.filters |= {"moment": format_moment, "shorten": shorten}
    for template in environment.list_templates():
        environment.get_template(template)
    return environment


def format_moment(moment: datetime | float | None) -> str:
    """Return a time as text, in UTC; a hyphen for None."""
    if moment is None:
        return "-"
    at = datetime.fromtimestamp(moment, UTC) if isinstance(moment, int | float) else moment.astimezone(UTC)
    return at.strftime("%Y-%m-%d %H:%M")


def shorten(text: str) -> str:
    """Return the beginning of a text for a list."""
    return text if len(text) <= _MAX_LISTED_CHARACTERS else f"{text[:_MAX_LISTED_CHARACTERS].rstrip()}…"


_TEMPLATES = _load_templates()
"""All templates, read while this module is imported: a request must not wait for a disk."""
