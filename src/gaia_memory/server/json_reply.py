"""Replies as JSON, with an ETag that a client may send back to ask whether anything changed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response


def reply(request: Request, data: Any, *, status: int = 200) -> Response:
    """Return data as JSON; 304 without a body if the client has the same already."""
    body = _encode(data)
    headers = {"ETag": _etag(body)}
    if request.method == "GET" and _matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers=headers, media_type="application/json")


def require_unchanged(request: Request, data: Any) -> None:
    """Check that what a client wants to change is what it has seen; `data` is None if there is nothing any more.

    Raises:
        HTTPException: the ETag in `If-Match` is another one (412).
    """
    wanted = request.headers.get("if-match")
    if wanted is not None and (data is None or not _matches(wanted, _etag(_encode(data)))):
        raise HTTPException(412, "it was changed meanwhile: get it again")


def _encode(data: Any) -> bytes:
    # A lone surrogate becomes its escape in JSON.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _matches(header: str | None, etag: str) -> bool:
    if header is None:
        return False
    return header.strip() == "*" or etag in [each.strip().removeprefix("W/") for each in header.split(",")]
