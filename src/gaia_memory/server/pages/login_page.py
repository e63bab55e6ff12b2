"""The page on which a browser logs in with a token, and the cookie that it gets."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gaia_memory.server.access.access_control import SESSION_COOKIE, AccessControl
from gaia_memory.server.access.access_tokens import LIFETIME_SECONDS, hash_token
from gaia_memory.server.pages.page_renderer import render

router = APIRouter(include_in_schema=False)
_MAX_FORM_BYTES = 4096
_QUESTION = "Enter a token. The admin's is in the file server.token of the home."


@router.get("/login")
async def show_login(request: Request) -> Response:
    """Ask for a token."""
    return render(request, "login.html", message=_QUESTION, is_refused=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session for the token of the form."""
    access: AccessControl = request.app.state.access
    if access.retry_after(request):
        return _refuse(request, 429, "Too many wrong tokens: wait a minute.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM_BYTES:
            return _refuse(request, 413, "That is no token.")
    [token, *_] = parse_qs(body.decode(errors="replace")).get("token", [""])
    if access.check_token(request, token.strip()) is None:
        return _refuse(request, 401, "That token is not known. Try again.")
    root = request.scope.get("root_path", "")
    response = RedirectResponse(f"{root}/", 303)
    response.set_cookie(
        SESSION_COOKIE,
        access.sessions.open(hash_token(token.strip())),
        max_age=LIFETIME_SECONDS,
        path=root or "/",
        secure=access.is_encrypted(request),
        httponly=True,
        samesite="strict",
    )
    return response


def _refuse(request: Request, status: int, message: str) -> Response:
    return render(request, "login.html", status=status, message=message, is_refused=True)


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session of the browser."""
    access: AccessControl = request.app.state.access
    access.sessions.close(request.cookies.get(SESSION_COOKIE, ""))
    root = request.scope.get("root_path", "")
    response = RedirectResponse(f"{root}/login", 303)
    response.delete_cookie(SESSION_COOKIE, path=root or "/", httponly=True, samesite="strict")
    return response
