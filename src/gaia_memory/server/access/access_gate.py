"""Lets a request pass only if its sender may do what it asks for."""

from __future__ import annotations

import secrets
from math import ceil
from urllib.parse import unquote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gaia_memory.log import logger_for
from gaia_memory.server.access.access_control import AccessControl
from gaia_memory.server.access.access_tokens import Caller
from gaia_memory.server.pages.page_renderer import accepts_pages
from gaia_memory.server.problem_details import refuse

logger = logger_for(__name__)

PUBLIC_PATHS = frozenset({"/health", "/login"})
STATIC_FILES = "/static/"
_MAX_BODY_BYTES = 2**20
_MAX_IMPORT_BYTES = 64 * 2**20
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Under `no-referrer` browsers send forms with the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class AccessGate:
    """ASGI middleware around everything: routes behind it need no checks of their own, except on who is shown what.

    `request.state.caller` is the `Caller`, None on a public path.
    """

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        """Guard `app`."""
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            # Nothing here speaks over web sockets: the application closes them.
            await self._app(scope, receive, send)
            return
        scope, receive = with_escaped_segments(scope), _limit_body(scope["path"], receive)
        request = HTTPConnection(scope)
        request.state.caller = None
        has_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = await self._refuse(request)
            await (refusal or self._app)(scope, receive, send_guarded)
        except Exception as error:
            # What a person said may stand in the message of any error, and a server would print it.
            reference = secrets.token_hex(4)
            logger.error("a request failed with %s (%s)", type(error).__name__, reference)
            if not has_begun:
                failure = refuse(request, 500, f"the server failed; its log has reference {reference}")
                await failure(scope, receive, send_guarded)

    async def _refuse(self, request: HTTPConnection) -> Response | None:
        """Return the refusal of a request; None if it may pass."""
        await self._access.refresh()
        if reason := self._find_foreign(request):
            return refuse(request, 403, reason)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if path in PUBLIC_PATHS or path.startswith(STATIC_FILES):
            return None
        if "authorization" in request.headers and (wait := self._access.retry_after(request)):
            headers = {"Retry-After": str(ceil(wait))}
            return refuse(request, 429, "too many wrong tokens came from this address: wait", headers=headers)
        request.state.caller = caller = self._access.identify(request)
        if caller is None:
            return self._ask_who(request)
        if not _may_pass(caller, path, request.scope["method"]):
            return refuse(request, 403, "this token may not do that")
        return None

    def _find_foreign(self, request: HTTPConnection) -> str:
        """Return what shows that a page of another site sent a request; empty if nothing does."""
        host = ",".join(request.headers.getlist("host"))
        if not self._access.is_known_host(host):
            return "the request names another host: if it is this server's, add it to `server.hostnames`"
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "a page of another site sent the request"
        is_foreign = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if is_foreign and request.scope["method"] not in _SAFE_METHODS:
            return "a page of another site sent the request"
        return ""

    def _ask_who(self, request: HTTPConnection) -> Response:
        if request.scope["method"] == "GET" and accepts_pages(request):
            return RedirectResponse(f"{request.scope.get('root_path', '')}/login", 303)
        headers = {"WWW-Authenticate": 'Bearer realm="gaia-memory"'}
        return refuse(request, 401, "send a token: `Authorization: Bearer TOKEN`", headers=headers)


def _limit_body(path: str, receive: Receive) -> Receive:
    """Return `receive` for a request whose body may not be longer than the route with this path takes."""
    limit = _MAX_IMPORT_BYTES if path.endswith("/import") else _MAX_BODY_BYTES
    size = 0

    async def receive_some() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(413, f"the body is too long: send at most {limit:,} bytes")
        return message

    return receive_some


def _may_pass(caller: Caller, path: str, method: str) -> bool:
    """Return whether a caller may use a path: the memory of the user in it, or, with the rest of /v1, everybody's."""
    match path.split("/"):
        case ["", "v1", "apps", _, "users", user, *_] | ["", "people", _, user, *_]:
            user = unquote(user)
            return caller.may_read(user) if method in _SAFE_METHODS else caller.may_write(user)
        case ["", "v1" | "status", *_]:
            return caller.is_admin
    return True


def with_escaped_segments(scope: Scope) -> Scope:
    """Return the scope of a request with `%` and `/` in the segments of its path escaped: `unquote` each of them.

    Servers decode a path as a whole, after which nothing tells the slash of an id from one between two segments.
    """
    path: str = scope["path"]
    raw: str = (scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1")
    # A middleware that changed the path alone is right about it.
    segments = map(unquote, raw.split("/")) if unquote(raw) == path else path.split("/")
    return {**scope, "path": "/".join(each.replace("%", "%25").replace("/", "%2F") for each in segments)}
