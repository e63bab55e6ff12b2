"""Turns templates into pages."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gaia_memory.language.printable_text import remove_hidden
from gaia_memory.server.pages.page_wording import describe_actor, describe_source, format_moment, shorten

STATIC_FOLDER = Path(__file__).parent / "static"
_TITLES = {404: "There is no such page", 413: "That is too long", 422: "That is not accepted"}


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page; `values` are what the template names."""
    root = request.scope.get("root_path", "")
    page = _TEMPLATES.get_template(template).render(root=root, caller=request.state.caller, **values)
    return HTMLResponse(page, status)


def show_http_error(request: Request, error: HTTPException) -> Response:
    """Return an error of HTTP as a page."""
    title = _TITLES.get(error.status_code, HTTPStatus(error.status_code).phrase)
    detail = "" if error.detail == HTTPStatus(error.status_code).phrase else error.detail
    return render(request, "error.html", status=error.status_code, title=title, detail=detail)


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
        "shorten": shorten,
        "told": describe_source,
    }
    for template in environment.list_templates():
        environment.get_template(template)
    return environment


_TEMPLATES = _load_templates()
"""All templates, read while this module is imported: a request must not wait for a disk."""
