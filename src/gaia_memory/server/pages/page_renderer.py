"""Turns templates into pages."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response

from gaia_memory.language.printable_text import remove_hidden
from gaia_memory.models.endings import describe_actor
from gaia_memory.models.recurrence import describe_recurrence
from gaia_memory.server.pages.page_wording import describe_source, format_moment, shorten

STATIC_FOLDER = Path(__file__).parent / "static"
_TITLES = {
    401: "Please log in",
    403: "You may not do that",
    404: "There is no such page",
    413: "That is too long",
    422: "That is not accepted",
    500: "The server failed",
    503: "Memory cannot answer now",
}


def render(request: HTTPConnection, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page; `values` are what the template names."""
    root = request.scope.get("root_path", "")
    page = _TEMPLATES.get_template(template).render(root=root, caller=request.state.caller, **values)
    return HTMLResponse(page, status)


def accepts_pages(request: HTTPConnection) -> bool:
    """Return whether a browser sent a request, to show what it gets."""
    return "text/html" in request.headers.get("accept", "")


def show_error(
    request: HTTPConnection, status: int, detail: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as a page that leads back to the start."""
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    page = render(request, "error.html", status=status, title=title, detail=detail)
    page.headers.update(headers or {})
    return page


def show_http_error(request: Request, error: HTTPException) -> Response:
    """Return an error of HTTP as a page."""
    detail = "" if error.detail == HTTPStatus(error.status_code).phrase else error.detail
    return show_error(request, error.status_code, detail, headers=error.headers)


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
    environment.filters |= {
        "actor": describe_actor,
        "moment": format_moment,
        "recurrence": describe_recurrence,
        "shorten": shorten,
        "told": describe_source,
    }
    for template in environment.list_templates():
        environment.get_template(template)
    return environment


_TEMPLATES = _load_templates()
"""All templates, read while this module is imported: a request must not wait for a disk."""
