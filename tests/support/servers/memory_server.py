"""Memory over HTTP: clients for the application of an open memory, in this process or behind a port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn

from gaia_memory import memory_app
from gaia_memory.server.access.access_tokens import ensure_admin_token, hash_token
from gaia_memory.server.application import build_api

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from gaia_memory.adk.gaia import Gaia

ADA_TOKEN, BOB_TOKEN, READER_TOKEN = "token-of-ada", "token-of-bob", "token-of-a-reader"
TOKENS = {
    hash_token(ADA_TOKEN): "user:ada",
    hash_token(BOB_TOKEN): "user:bob",
    hash_token(READER_TOKEN): "reader",
}
ADA, BOB = "/v1/apps/gaia/users/ada", "/v1/apps/gaia/users/bob"
PERSON_ROUTES = (
    *[("GET", path) for path in ("facts", "search?q=tea", "profile", "prompt", "due", "conversations", "status")],
    ("GET", "usage"),
    *[("GET", path) for path in ("stats", "timeline", "export", "events", "facts/x", "facts/x/history")],
    *[("POST", path) for path in ("facts", "facts/x/restore", "facts/x/retire", "conversations", "import")],
    *[("PATCH", "facts/x"), ("DELETE", "facts/x"), ("DELETE", "facts")],
)
"""Every route below a person, with the method."""

PERSON_PAGES = (
    *[
        ("GET", path)
        for path in ("", "/facts/x", "/timeline", "/due", "/profile", "/usage", "/conversations", "/forget")
    ],
    *[("POST", path) for path in ("/facts", "/facts/x/edit", "/facts/x/undo", "/facts/x/forget")],
    *[("POST", path) for path in ("/conversations", "/forget")],
)
"""Every page of a person, by the end of its path, with the method."""

BODIES = {
    ("POST", "facts"): {"text": "Likes tea."},
    ("PATCH", "facts/x"): {"text": "Likes tea."},
    ("POST", "conversations"): {"session_id": "s"},
    ("POST", "import"): {"format": "gaia-memory", "version": 2, "facts": [{"text": "Likes rum."}]},
    ("POST", "facts/x/retire"): {"why": "A joke"},
}


def body_of(method: str, path: str, user: str = "ada") -> Any:
    """Return a body that a route accepts; None if it takes none."""
    return {"confirm": user} if (method, path) == ("DELETE", "facts") else BODIES.get((method, path))


def every_route(fact_id: str = "x", session_id: str = "s") -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and a body of each route of the OpenAPI document, those of Ada for the ones of a person."""
    for path, operations in build_api().openapi()["paths"].items():
        for method, operation in operations.items():
            url = path.format_map({"app": "gaia", "user": "ada", "fact_id": fact_id})
            end = url.removeprefix(f"{ADA}/").replace(f"facts/{fact_id}", "facts/x")
            required = [
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "query" and each["required"]
            ]
            query = "&".join(f"{name}=tea" for name in required)
            body = body_of(method.upper(), end)
            if body is not None and "session_id" in body:
                body = {"session_id": session_id}
            yield method.upper(), f"{url}?{query}" if query else url, body


async def admin_token(gaia: Gaia) -> str:
    """Return the token of the admin, made if it is missing."""
    token, _ = await asyncio.to_thread(ensure_admin_token, gaia.config.home)
    return token


def app_client(app: ASGIApp, token: str | None = None, *, base_url: str = "http://localhost") -> httpx.AsyncClient:
    """Return a client that calls an application in this process."""
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 50_000))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url=base_url, headers=headers)


@asynccontextmanager
async def http_client(gaia: Gaia, token: str | None = "") -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of an application over `gaia`, by default with the admin's token; None for none."""
    async with app_client(memory_app(gaia), await admin_token(gaia) if token == "" else token) as client:
        yield client


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application at a port of this machine; yield the address."""
    settings = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1, proxy_headers=False
    )
    server = uvicorn.Server(settings)
    listener = settings.bind_socket()
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listener.close()
        # On a busy machine an event stream outlasts the time-out of the shutdown, which leaves its socket open.
        for connection in server.server_state.connections:
            connection.transport.abort()
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream."""

    id: str
    kind: str
    data: Any


async def read_events(
    client: httpx.AsyncClient,
    url: str,
    *,
    count: int,
    last_event_id: str | None = None,
    is_following: asyncio.Event | None = None,
) -> list[ServerEvent]:
    """Return the first `count` events of a stream; what only tells an id, which sets `is_following`, is none."""
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    found: list[ServerEvent] = []
    async with asyncio.timeout(60), client.stream("GET", url, headers=headers) as response:
        assert response.status_code == 200, response.status_code
        fields: dict[str, str] = {}
        async for line in response.aiter_lines():
            if is_following is not None:
                is_following.set()
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif "data" in fields:
                found.append(ServerEvent(fields["id"], fields["event"], json.loads(fields["data"])))
                if len(found) == count:
                    break
                fields = {}
    return found
