"""Errors: what is wrong and what to do, without anybody's words or the machine's addresses.

A browser gets them as a page, every other client in the form of RFC 9457.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from gaia_memory.errors import InvalidInputError, MemoryUnavailable, ModelError
from gaia_memory.redaction.redact_locations import redact_locations
from gaia_memory.server.pages.page_renderer import accepts_pages, show_error

MEDIA_TYPE = "application/problem+json"
_PROBLEM: dict[str, Any] = {MEDIA_TYPE: {"schema": {"type": "object"}}}
ERROR_ANSWERS: dict[int | str, dict[str, Any]] = {
    422: {"description": "A parameter or the body is not accepted: `errors` says where and why.", "content": _PROBLEM},
    503: {
        "description": "Memory cannot answer now: `reason` and `remedy` say why and what to do.",
        "content": _PROBLEM,
    },
}
"""The errors of every route, for the OpenAPI document."""
_RETRY_SECONDS = 5
_INVALID = "a value is not accepted"
_MESSAGES = {
    "extra_forbidden": "there is no such name here: leave it out",
    "missing": "is missing: pass it",
    "json_invalid": "is not JSON",
    "string_type": "pass text",
    "bool_type": "pass true or false",
    "bool_parsing": "pass true or false",
    "dict_type": "pass an object of names and values",
    "model_attributes_type": "pass an object of names and values",
    "timezone_aware": "pass a time with its zone, such as 2026-03-01T18:00:00Z",
    "datetime_parsing": "pass a time with its zone, such as 2026-03-01T18:00:00Z",
    "datetime_from_date_parsing": "pass a time with its zone, such as 2026-03-01T18:00:00Z",
}
"""What to do about a kind of error of pydantic's, whose own words say what a program expected."""

_MODEL_REMEDY = "try again later; `gaia doctor` checks the model"


def refuse(
    request: HTTPConnection, status: int, detail: str = "", *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return an error as a response; `more` are further members of a problem, of which a page shows those to act on."""
    if accepts_pages(request):
        errors = [f"{each['where']}: {each['message']}" for each in more.get("errors", ())]
        says = ". ".join(filter(None, [detail, more.get("remedy", ""), *errors]))
        return show_error(request, status, says, headers=headers)
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {name: value for name, value in {"detail": detail, **more}.items() if value}
    return Response(json.dumps(body), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error of a route by its status, with reason and remedy."""

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: HTTPException) -> Response:
        detail = "" if error.detail == HTTPStatus(error.status_code).phrase else error.detail
        return refuse(request, error.status_code, detail, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def on_invalid_request(request: Request, error: RequestValidationError) -> Response:
        return refuse(request, 422, "the request is not accepted", errors=_places(error.errors()))

    @app.exception_handler(InvalidInputError)
    async def on_invalid_input(request: Request, error: InvalidInputError) -> Response:
        return refuse(request, 422, (error.hint or _INVALID).removeprefix("NewFact."))

    @app.exception_handler(MemoryUnavailable)
    async def on_unavailable(request: Request, error: MemoryUnavailable) -> Response:
        headers = {"Retry-After": str(_RETRY_SECONDS)}
        reason, remedy = redact_locations(error.reason), redact_locations(error.remedy)
        return refuse(request, 503, reason, headers=headers, reason=reason, remedy=remedy)

    @app.exception_handler(ModelError)
    async def on_model_error(request: Request, error: ModelError) -> Response:
        reason = "a model gave no usable answer"
        return refuse(request, 503, reason, headers={"Retry-After": "60"}, reason=reason, remedy=_MODEL_REMEDY)


def _places(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return where a request is wrong and how to correct it, without the values it has there."""
    return [
        {
            "where": ".".join(map(str, each["loc"])),
            "message": _MESSAGES.get(each.get("type", ""), each["msg"].removeprefix("Value error, ")),
        }
        for each in errors
    ]
