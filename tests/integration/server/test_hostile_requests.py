"""Requests that try to pass for another's, to lock others out, or to be too much for the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from urllib.parse import quote

import pytest
import yaml
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from gaia_memory import memory_app
from gaia_memory.server.access.access_tokens import hash_token
from support.harness import Sut
from support.servers.memory_server import ADA, ADA_TOKEN, BOB, TOKENS, app_client, http_client

Make = Callable[..., Awaitable[Sut]]
SERVER = {"server": {"tokens": TOKENS}}
SLASHED_IDS = ["ada/facts", "ada/../bob", "a%2Fb", "a/b c", "100%", "ada/facts/x", "%00", "é/è", "?q=1#x"]


def path_of(user: str) -> str:
    """Return the path of a person."""
    return f"/v1/apps/gaia/users/{quote(user, safe='')}"


@pytest.mark.acceptance("H01")
async def test_an_id_with_a_slash_is_one_person_and_nobody_else(make: Make) -> None:
    """Its token, its paths and its page are its own, and those of nobody whose id is a part of it."""
    tokens = {hash_token(f"token of {quote(user)}"): f"user:{user}" for user in SLASHED_IDS}
    sut = await make(yaml.safe_dump({"server": {"tokens": {**tokens, **TOKENS}}}))
    memory = memory_app(sut.gaia)
    await sut.gaia.memory.remember(sut.scope("ada"), "Is Ada")

    for user, (mount, app) in product(
        SLASHED_IDS, {"": memory, "/memory": Starlette(routes=[Mount("/memory", memory)])}.items()
    ):
        async with app_client(app, f"token of {quote(user)}") as client:
            added = await client.post(f"{mount}{path_of(user)}/facts", json={"text": f"Is called {user}"})
            listed = (await client.get(f"{mount}{path_of(user)}/facts")).json()["items"]
            page = await client.get(f"{mount}/people/gaia/{quote(user, safe='')}")
            assert (added.status_code, [each["text"] for each in listed]) == (201, [f"Is called {user}"]), user
            assert (page.status_code, "1 fact" in page.text) == (200, True), user
            assert (await client.get(f"{mount}{ADA}/facts")).status_code == 403
        async with app_client(app, ADA_TOKEN) as ada:
            assert (await ada.get(f"{mount}{path_of(user)}/facts")).status_code == 403, user

    assert [each.text for each in await sut.gaia.memory.facts(sut.scope("ada"))] == ["Is Ada"]


async def test_a_path_that_a_middleware_shortened_counts_as_it_is(make: Make) -> None:
    """The undecoded path is the one of before: neither the token nor the person is taken from it."""
    sut = await make(yaml.safe_dump(SERVER))
    memory = memory_app(sut.gaia)

    async def shorten(scope: Scope, receive: Receive, send: Send) -> None:
        await memory({**scope, "path": scope["path"].removeprefix("/x")}, receive, send)

    async with app_client(shorten, ADA_TOKEN) as client:
        assert (await client.get(f"/x{ADA}/facts")).status_code == 200
        assert (await client.get(f"/x{BOB}/facts")).status_code == 403


@pytest.mark.parametrize(("route", "limit"), [("facts", 2**20), ("import", 64 * 2**20)])
async def test_a_body_that_is_too_long_is_refused_by_its_size(make: Make, route: str, limit: int) -> None:
    """It is not read to its end."""
    sut = await make()
    part, sent = b"x" * 2**20, 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 2 * limit:
            sent += len(part)
            yield part

    async with http_client(sut.gaia) as client:
        answer = await client.post(f"{ADA}/{route}", content=body(), headers={"Content-Type": "application/json"})
        form = await client.post("/people/gaia/ada/facts", data={"text": "y" * 2**21})

    assert (answer.status_code, form.status_code) == (413, 413)
    assert f"{limit:,} bytes" in answer.json()["detail"]
    assert sent <= limit + 2 * len(part)


async def test_wrong_tokens_behind_a_proxy_lock_out_their_own_address_alone(make: Make) -> None:
    """The proxy appends the address; what its client claims before that does not count."""
    server = {"tokens": TOKENS, "trusted_hosts": ["127.0.0.1"]}
    sut = await make(yaml.safe_dump({"server": server}))
    app = memory_app(sut.gaia)

    async def ask(token: str, forwarded: str) -> int:
        async with app_client(app, token) as client:
            return (await client.get(f"{ADA}/stats", headers={"X-Forwarded-For": forwarded})).status_code

    for number in range(10):
        assert await ask(f"guess {number}", f"192.0.2.{number}, 203.0.113.5") == 401
    assert await ask(ADA_TOKEN, "203.0.113.5") == 429
    assert await ask(ADA_TOKEN, "203.0.113.5, 198.51.100.7") == 200


async def test_behind_two_proxies_the_client_is_locked_out_and_not_the_inner_proxy(make: Make) -> None:
    """Each trusted proxy appends the address that asked it, and the walk begins at the last one."""
    server = {"tokens": TOKENS, "trusted_hosts": ["127.0.0.1", "10.0.0.0/8"]}
    sut = await make(yaml.safe_dump({"server": server}))
    app = memory_app(sut.gaia)

    async def ask(token: str, client: str) -> int:
        async with app_client(app, token) as browser:
            forwarded = {"X-Forwarded-For": f"192.0.2.1, {client}, 10.0.0.7"}
            return (await browser.get(f"{ADA}/stats", headers=forwarded)).status_code

    for number in range(10):
        assert await ask(f"guess {number}", "203.0.113.5") == 401
    assert await ask(ADA_TOKEN, "203.0.113.5") == 429
    assert await ask(ADA_TOKEN, "203.0.113.6") == 200


async def test_whoever_is_logged_in_stays_so_while_others_guess(make: Make) -> None:
    """A session in a cookie is no guess, and neither is a request without a token."""
    sut = await make(yaml.safe_dump(SERVER))
    app = memory_app(sut.gaia)

    async with app_client(app) as browser:
        await browser.post("/login", data={"token": ADA_TOKEN})
        for number in range(10):
            await browser.get(f"{ADA}/stats", headers={"Authorization": f"Bearer guess {number}"})
        assert (await browser.post("/login", data={"token": ADA_TOKEN})).status_code == 429
        assert (await browser.get(f"{ADA}/stats")).status_code == 200


async def test_a_header_that_stands_twice_names_nobody(make: Make) -> None:
    """A proxy that appends its header to the client's own would let clients choose who they are."""
    server = {"auth": "header:X-User", "trusted_hosts": ["127.0.0.1"]}
    sut = await make(yaml.safe_dump({"server": server}))
    cases: list[tuple[list[tuple[str, str | bytes]], int]] = [
        ([("X-User", "ada"), ("X-User", "bob")], 401),
        ([("X-User", b"\xff\xfe")], 401),
        ([("X-User", "zoë".encode())], 403),
        ([("Host", "localhost"), ("Host", "evil.example"), ("X-User", "ada")], 403),
        ([("X-User", "ada")], 200),
    ]

    async with app_client(memory_app(sut.gaia)) as proxy:
        for headers, status in cases:
            assert (await proxy.get(f"{ADA}/stats", headers=headers)).status_code == status, headers
        zoe = await proxy.get(f"{path_of('zoë')}/stats", headers=[("X-User", "zoë".encode())])
        assert zoe.status_code == 200
