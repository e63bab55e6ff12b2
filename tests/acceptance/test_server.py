"""Memory over HTTP: who may do what, the same results as the façade, and an event stream without gaps."""

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.applications import Starlette

from gaia_memory import NewFact, memory_app
from gaia_memory.server.access.access_tokens import find_role, hash_token
from gaia_memory.server.application import build_api
from gaia_memory.server.pages import fact_pages, person_tabs
from support.harness import Sut, facts
from support.servers.memory_server import (
    ADA,
    ADA_TOKEN,
    BOB,
    BOB_TOKEN,
    PERSON_PAGES,
    PERSON_ROUTES,
    READER_TOKEN,
    TOKENS,
    admin_token,
    app_client,
    body_of,
    every_route,
    http_client,
    read_events,
    served,
)

Make = Callable[..., Awaitable[Sut]]
SERVER = yaml.safe_dump({"server": {"tokens": TOKENS}})
PROBLEM = "application/problem+json"


@pytest.mark.acceptance("H01")
async def test_no_route_of_a_person_answers_another_caller(make: Make) -> None:
    """Nobody, a wrong token, and the token of somebody else: 401 or 403 without an id or a text."""
    sut = await make(SERVER)
    fact = await sut.gaia.memory.remember(sut.scope("ada"), "Hides zanzibar plans")
    rest = [(method, f"{ADA}/{path}", body_of(method, path)) for method, path in PERSON_ROUTES]
    pages = [(method, f"/people/gaia/ada{path}", None) for method, path in PERSON_PAGES]

    for token in (None, "wrong", "", "x" * 5000, BOB_TOKEN):
        async with app_client(memory_app(sut.gaia), token) as client:
            for method, path, body in rest + pages:
                answer = await client.request(method, path, json=body)
                assert answer.status_code == (403 if token == BOB_TOKEN else 401), (method, path)
                assert answer.headers["content-type"] == PROBLEM
                assert not re.search(rf"zanzibar|\bada\b|{fact.id}", answer.text), answer.text
            for method, path in (("GET", "/v1/people"), ("POST", "/v1/sweep"), ("GET", "/"), ("GET", "/nowhere")):
                answer = await client.request(method, path)
                assert answer.status_code in ({303, 403, 404} if token == BOB_TOKEN else {401}), (method, path)

    assert [each.text for each in await sut.gaia.memory.facts(sut.scope("ada"))] == ["Hides zanzibar plans"]


@pytest.mark.acceptance("H01")
def test_the_lists_of_routes_have_every_route_of_a_person() -> None:
    """A route that is added later is among those that are tried with the tokens of others."""
    names = {"app": "gaia", "user": "ada", "fact_id": "x", "id": "x"}
    routes = {(method, path.format_map(names)) for path, method in _routes_of(build_api())}
    listed = {(method, f"{ADA}/{path.partition('?')[0]}") for method, path in PERSON_ROUTES}
    pages = {(method, f"/people/gaia/ada{path}") for method, path in PERSON_PAGES}

    assert {each for each in routes if "/ada" in each[1]} == listed | pages


@pytest.mark.acceptance("H01")
def test_a_token_is_compared_with_every_known_one_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is the first of them, the last, or none."""
    compared: list[str] = []
    compare = hmac.compare_digest

    def note(known: str, given: str) -> bool:
        compared.append(known)
        return compare(known, given)

    monkeypatch.setattr(hmac, "compare_digest", note)
    for token in ("wrong", ADA_TOKEN, READER_TOKEN, ""):
        find_role(hash_token(token), TOKENS)

    assert compared == 4 * list(TOKENS)


def _routes_of(app: Any) -> Iterator[tuple[str, str]]:
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            yield path, method.upper()
    for route in (*fact_pages.ROUTES, *person_tabs.ROUTES):
        for method in (route.methods or set()) - {"HEAD"}:
            yield route.path, method


@pytest.mark.acceptance("H01")
async def test_each_role_may_do_its_part(make: Make) -> None:
    """A user has their own memory, a reader changes nothing, and only an admin sees the list of people."""
    sut = await make(SERVER)
    await sut.gaia.memory.remember(sut.scope("ada"), "Likes tea")
    app, fact = memory_app(sut.gaia), {"text": "Plays chess"}

    async with app_client(app, ADA_TOKEN) as ada, app_client(app, READER_TOKEN) as reader:
        assert (await ada.get(f"{ADA}/facts")).json()["total"] == 1
        assert (await ada.post(f"{ADA}/facts", json=fact)).status_code == 201
        assert (await ada.get("/v1/people")).status_code == 403
        assert (await reader.get(f"{ADA}/facts")).json()["total"] == 2
        for method, path in PERSON_ROUTES:
            if method != "GET":
                answer = await reader.request(method, f"{ADA}/{path}", json=body_of(method, path))
                assert answer.status_code == 403, (method, path)
    async with app_client(app, await admin_token(sut.gaia)) as admin:
        [person] = (await admin.get("/v1/people")).json()["items"]
    assert (person["user"], person["facts"]) == ("ada", 2)


@pytest.mark.acceptance("H01")
async def test_whoever_guesses_tokens_has_to_wait(make: Make) -> None:
    """Ten different wrong tokens a minute; the right one is not looked at meanwhile. An old script may go on."""
    sut = await make(SERVER)
    app = memory_app(sut.gaia)

    async def ask(token: str) -> int:
        async with app_client(app, token) as client:
            return (await client.get(f"{ADA}/stats")).status_code

    assert {await ask("old") for _ in range(20)} == {401}
    assert ([await ask(f"guess {number}") for number in range(9)], await ask(ADA_TOKEN)) == ([401] * 9, 429)


@pytest.mark.acceptance("H02")
async def test_facts_come_page_by_page(make: Make) -> None:
    """45 facts and a page of 20 of those that match; a limit out of range is refused by name and range."""
    sut = await make()
    texts = [f"Tea number {number} is fine" for number in range(45)]
    await sut.gaia.memory.add(sut.scope("ada"), [*map(NewFact, texts), NewFact("Plays chess", category="games")])

    async with http_client(sut.gaia) as client:
        page = (await client.get(f"{ADA}/facts", params={"offset": 20, "limit": 20, "q": "fin TEA"})).json()
        last = (await client.get(f"{ADA}/facts", params={"offset": 40, "limit": 20, "q": "tea"})).json()
        games = await client.get(f"{ADA}/facts", params={"filters": '{"category": "games"}', "q": "chess"})
        refused = await client.get(f"{ADA}/facts", params={"limit": 500})

    assert [each["text"] for each in page["items"]] == texts[20:40]
    assert {name: page[name] for name in ("total", "offset", "limit", "has_more")} == {
        "total": 45,
        "offset": 20,
        "limit": 20,
        "has_more": True,
    }
    assert (len(last["items"]), last["has_more"], games.json()["total"]) == (5, False, 1)
    assert refused.status_code == 422
    assert refused.json()["errors"] == [{"where": "query.limit", "message": "pass a whole number from 1 to 100"}]


@pytest.mark.acceptance("H03")
async def test_writes_over_http_are_those_of_the_facade(make: Make) -> None:
    """Add, correct, undo, retire and forget: vector, outbox, history and tombstone, in the export too."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")

    async with http_client(sut.gaia) as client:
        added = (await client.post(f"{ADA}/facts", json={"text": "Lives in Rome", "metadata": {"n": 1}})).json()
        one = f"{ADA}/facts/{added['id']}"
        corrected = (await client.patch(one, json={"text": "Lives in Oslo"})).json()
        past = (await client.get(f"{one}/history")).json()["items"]
        export = (await client.get(f"{ADA}/export")).json()
        await memory.settled()
        rows = await sut.fact_rows("ada")
        restored = (await client.post(f"{one}/restore")).json()
        unexplained = await client.post(f"{one}/retire", json={"why": ""})
        retired = (await client.post(f"{one}/retire", json={"why": "A joke"})).json()["items"]
        await memory.settled()
        rows_then = await sut.fact_rows("ada")
        await client.post(f"{one}/restore")
        receipt = (await client.delete(one, params={"settled": "true"})).json()
        gone = await client.get(one)

    assert (corrected["id"], corrected["text"], corrected["metadata"]) == (added["id"], "Lives in Oslo", {"n": 1})
    assert [(each["text"], each["why"]) for each in past] == [("Lives in Rome", "replaced"), ("Lives in Oslo", None)]
    assert [each["text"] for each in export["facts"]] == ["Lives in Oslo"]
    assert [(row["id"], row["text"]) for row in rows] == [(added["id"], "Lives in Oslo")]
    assert restored["text"] == "Lives in Rome"
    assert (unexplained.status_code, unexplained.json()["errors"][0]["where"]) == (422, "body.why")
    assert [(each["why"], each["note"]) for each in retired if each["text"] == "Lives in Rome"] == [
        ("untrue", "A joke")
    ]
    assert rows_then == []
    assert (receipt["count"], receipt["pending"], gone.status_code) == (1, False, 404)
    assert await memory.has_forgotten(scope, ["Lives in Rome"])
    assert await memory.count(scope) == 0


async def test_a_key_is_written_filtered_by_and_removed_over_http(make: Make) -> None:
    """A later fact with it replaces the one before; a wrong one is refused with the fix."""
    sut = await make(SERVER)
    async with app_client(memory_app(sut.gaia), ADA_TOKEN) as client:
        for text in ("Lives in Oslo", "Lives in Rome"):
            sut.clock.advance(timedelta(days=1))
            added = (await client.post(f"{ADA}/facts", json={"text": text, "key": "User/Home"})).json()
        listed = (await client.get(f"{ADA}/facts", params={"filters": json.dumps({"key": "user/home"})})).json()
        wrong = await client.post(f"{ADA}/facts", json={"text": "Lives in Lima", "key": "home"})
        bare = (await client.patch(f"{ADA}/facts/{added['id']}", json={"key": None})).json()

    assert [(each["text"], each["key"]) for each in listed["items"]] == [("Lives in Rome", "user/home")]
    assert (wrong.status_code, "whose/what" in wrong.text, bare["key"]) == (422, True, None)


@pytest.mark.acceptance("H04")
async def test_everything_is_forgotten_only_when_the_user_is_named_again(make: Make) -> None:
    """Without the right confirmation nothing happens; with it, the receipt says what was removed."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("ada"), [NewFact("Likes tea"), NewFact("Plays chess")])
    await sut.gaia.memory.remember(sut.scope("bob"), "Likes rum")

    async with http_client(sut.gaia) as client:
        for body in (None, {}, {"confirm": "bob"}, {"confirm": "ada", "also": 1}):
            refused = await client.request("DELETE", f"{ADA}/facts", json=body)
            assert refused.status_code == 422, body
        assert await sut.gaia.memory.count(sut.scope("ada")) == 2
        receipt = await client.request("DELETE", f"{ADA}/facts", json={"confirm": "ada"})

    assert (receipt.status_code, receipt.json()["count"], receipt.json()["removed"]["vectors"]) == (200, 2, 2)
    assert await sut.gaia.memory.count(sut.scope("ada")) == 0
    assert await sut.gaia.memory.count(sut.scope("bob")) == 1


@pytest.mark.acceptance("H05")
async def test_stats_count_what_there_is(make: Make) -> None:
    """By category, context, source, agent and day; zeros for somebody unknown."""
    sut = await make()
    now = sut.clock.now()
    new = [
        NewFact("Allergic to nuts", said_at=now - timedelta(days=2), category="health"),
        NewFact("Allergic to bees", said_at=now, category="health", context="work"),
        NewFact("Likes tea", said_at=now),
    ]
    await sut.gaia.memory.add(sut.scope("ada"), new)

    async with http_client(sut.gaia) as client:
        stats, empty = [(await client.get(f"{person}/stats")).json() for person in (ADA, BOB)]
        days = (await client.get(f"{ADA}/timeline")).json()["items"]

    assert stats["total"] == 3
    assert stats["by_category"] == {"": 1, "health": 2}
    assert stats["by_context"] == {"global": 2, "work": 1}
    assert (stats["by_source"], stats["by_agent"]) == ({"add": 3}, {"": 3})
    assert stats["by_day"] == {(now - timedelta(days=2)).date().isoformat(): 1, now.date().isoformat(): 2}
    assert (empty["total"], empty["by_category"], empty["by_day"]) == (0, {}, {})
    assert len(days) == 30
    assert days[-1] == {"day": now.date().isoformat(), "added": 3, "ended": 0}


@pytest.mark.acceptance("H06")
async def test_what_a_route_does_not_know_is_refused(make: Make) -> None:
    """A query parameter or a key of a body that nobody reads is a mistake of the caller."""
    sut = await make()

    async with http_client(sut.gaia) as client:
        for method, path in PERSON_ROUTES:
            separator = "&" if "?" in path else "?"
            url = f"{ADA}/{path}{separator}colour=blue"
            answer = await client.request(method, url, json=body_of(method, path))
            assert answer.status_code == 422, (method, path)
            assert "query.colour" in {each["where"] for each in answer.json()["errors"]}
        for method, path in (("POST", "facts"), ("PATCH", "facts/x"), ("POST", "conversations")):
            body = {**body_of(method, path), "colour": "blue"}
            answer = await client.request(method, f"{ADA}/{path}", json=body)
            assert [each["where"] for each in answer.json()["errors"]] == ["body.colour"], (method, path)

    assert await sut.gaia.memory.count(sut.scope("ada")) == 0


@pytest.mark.acceptance("H06")
async def test_a_parameter_that_stands_twice_is_refused(make: Make) -> None:
    """Whichever of the two would count, the caller may have meant the other."""
    sut = await make()

    async with http_client(sut.gaia) as client:
        for query in ("limit=500&limit=5", "limit=5&limit=5", "q=tea&q=rum"):
            answer = await client.get(f"{ADA}/facts?{query}")
            name = query.partition("=")[0]
            assert answer.status_code == 422, query
            assert answer.json()["errors"] == [{"where": f"query.{name}", "message": "pass it once"}]
        deletion = await client.delete(f"{ADA}/facts/x?settled=false&settled=true")

    assert deletion.status_code == 422


@pytest.mark.acceptance("H06")
async def test_a_sweep_needs_no_body(make: Make) -> None:
    """Its only key has a default; an unknown key is refused still."""
    sut = await make()

    async with http_client(sut.gaia) as client:
        answers = [await client.post("/v1/sweep", json=body) for body in (None, {}, {"force": True}, {"colour": 1})]

    assert [each.status_code for each in answers] == [200, 200, 200, 422]


@pytest.mark.acceptance("H08")
async def test_a_page_of_another_site_gets_nothing_done(make: Make) -> None:
    """A rebound name, a form of another site, a page of another port: refused, in spite of the right token."""
    sut = await make()
    names = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "")
    origins = ("http://evil.example", "null", "http://localhost:9999")
    headers = [{"Host": name} for name in names] + [{"Origin": origin} for origin in origins]
    headers += [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")]

    async with http_client(sut.gaia) as client:
        for each in headers:
            for path, form in (
                (f"{ADA}/facts", {"json": {"text": "Likes rum"}}),
                ("/people/gaia/ada/facts", {"data": {"text": "Likes rum"}}),
            ):
                answer = await client.post(path, headers=each, **form)
                assert answer.status_code == 403, (path, each)
                assert "access-control-allow-origin" not in answer.headers
        for name in names:
            assert (await client.get(f"{ADA}/facts", headers={"Host": name})).status_code == 403, name
        allowed = await client.post(f"{ADA}/facts", json={"text": "Likes tea"}, headers={"Origin": "http://localhost"})

    assert allowed.status_code == 201
    assert "access-control-allow-origin" not in allowed.headers
    assert [each.text for each in await sut.gaia.memory.facts(sut.scope("ada"))] == ["Likes tea"]


@pytest.mark.acceptance("H08")
async def test_a_browser_logs_in_with_a_cookie_of_this_site_alone(make: Make) -> None:
    """The cookie is no token, scripts cannot read it, and other sites do not send it; logging out ends it."""
    sut = await make(SERVER)
    app = memory_app(sut.gaia)

    async with app_client(app) as browser:
        page = await browser.get("/", headers={"Accept": "text/html"})
        wrong = await browser.post("/login", data={"token": "wrong"})
        right = await browser.post("/login", data={"token": ADA_TOKEN})
        cookie = right.headers["set-cookie"]
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        assert (wrong.status_code, right.status_code) == (401, 303)
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert ADA_TOKEN not in cookie
        assert ((await browser.get(f"{ADA}/stats")).status_code, (await browser.get(f"{BOB}/stats")).status_code) == (
            200,
            403,
        )
        session = browser.cookies["gaia_session"]
        await browser.post("/logout")
        ended = await browser.get(f"{ADA}/stats", headers={"Cookie": f"gaia_session={session}"})
        assert ended.status_code == 401


@pytest.mark.acceptance("H15")
async def test_without_the_database_each_route_says_why_and_what_to_do(make: Make, tmp_path: Path) -> None:
    """503 with reason and remedy, and no path or address of the machine."""
    from support.databases import POSTGRES_URL, memory_url
    from support.servers.tcp_proxy import TcpProxy

    async with memory_url("postgresql", tmp_path) as url:
        with TcpProxy(POSTGRES_URL.host or "127.0.0.1", POSTGRES_URL.port or 5432) as proxy:
            address = url.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
            sut = await make(yaml.safe_dump({"memory": {"database_url": address}}))
            async with http_client(sut.gaia) as client:
                await asyncio.to_thread(proxy.disconnect)
                for method, path, body in every_route():
                    answer = await client.request(method, path, json=body)
                    _check_unavailable(answer, (method, path), proxy.port)
                await asyncio.to_thread(proxy.reconnect)
                assert (await client.get("/health")).status_code == 200
            await sut.close()


def _check_unavailable(answer: Any, route: Any, port: int) -> None:
    problem = answer.json()
    assert answer.status_code == 503, route
    assert problem["reason"], route
    assert problem["remedy"], route
    assert not any(word in json.dumps(problem) for word in ("127.0.0.1", str(port), "/tmp", "localhost")), problem


@pytest.mark.acceptance("H17")
async def test_the_event_stream_goes_on_where_it_broke_off(make: Make) -> None:
    """Over a restart of the server, and over writes of another process: nothing is missing, nothing comes twice."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    tea = await memory.remember(scope, "Likes tea")
    await memory.remember(sut.scope("bob"), "Likes rum")
    token, events = await admin_token(sut.gaia), f"{ADA}/events"

    async with served(memory_app(sut.gaia)) as address, app_client_at(address, token) as client:
        connected = asyncio.Event()
        following = asyncio.create_task(read_events(client, events, count=2, is_following=connected))
        await connected.wait()
        await memory.update(scope, tea.id, text="Likes green tea")
        chess = await memory.remember(scope, "Plays chess")
        seen = await following
    await _write_in_another_process(sut, "Owns a boat")
    await sut.reopen()
    memory = sut.gaia.memory
    await memory.forget(scope, fact_id=chess.id)
    async with served(memory_app(sut.gaia)) as address, app_client_at(address, token) as client:
        seen += await read_events(client, events, count=2, last_event_id=seen[-1].id)
        await memory.forget(scope)
        seen += await read_events(client, events, count=1, last_event_id=seen[-1].id)

    [boat] = {each.data["fact_id"] for each in seen} - {tea.id, chess.id, None}
    assert [(each.kind, each.data["fact_id"]) for each in seen] == [
        ("replaced", tea.id),
        ("added", chess.id),
        ("added", boat),
        ("forgotten", chess.id),
        ("forgotten", None),
    ]
    assert seen[0].data["fact"]["text"] == "Likes green tea"
    assert seen[2].data["fact"]["text"] == "Owns a boat"


def app_client_at(address: str, token: str) -> Any:
    """Return a client of a server at a port."""
    import httpx

    return httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60)


async def _write_in_another_process(sut: Sut, text: str) -> None:
    import os
    import sys

    command = (sys.executable, "-m", "gaia_memory.cli", "memory", "add", "--user", "ada", text)
    environment = {**os.environ, "GAIA_HOME": str(sut.home)}
    settings = {"memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}
    config = sut.home / "other.yaml"
    await asyncio.to_thread(config.write_text, yaml.safe_dump({"home": str(sut.home), **settings}))
    process = await asyncio.create_subprocess_exec(*command, "--config", str(config), env=environment)
    assert await process.wait() == 0


@pytest.mark.acceptance("H16")
async def test_the_server_and_others_on_the_home_see_each_others_writes(make: Make) -> None:
    """A conversation, another process and a client of the server."""
    sut = await make(main=["Noted."], extractor=[facts("Has a cat named Momo")])

    async with http_client(sut.gaia) as client:
        await client.post(f"{ADA}/facts", json={"text": "Plays chess"})
        await _write_in_another_process(sut, "Owns a boat")
        await sut.chat("ada", "cli", "My cat is named Momo.")
        [waiting] = (await client.get(f"{ADA}/conversations")).json()["items"]
        learned = await client.post(f"{ADA}/conversations", json={"session_id": waiting["session_id"]})
        listed = (await client.get(f"{ADA}/facts")).json()["items"]
        status = (await client.get(f"{ADA}/status")).json()

    assert (waiting["state"], waiting["channel"], waiting["messages"]) == ("waiting", "cli", 1)
    assert learned.json()["count"] == 1
    assert {each["text"] for each in listed} == {"Plays chess", "Owns a boat", "Has a cat named Momo"}
    assert {each.text for each in await sut.gaia.memory.facts(sut.scope("ada"))} == {each["text"] for each in listed}
    assert (status["facts"], status["pending"]) == (3, 0)


@pytest.mark.acceptance("H18")
@pytest.mark.parametrize("clients", [pytest.param(200, marks=pytest.mark.slow), 40])
async def test_many_at_once_are_never_mixed_up(make: Make, clients: int) -> None:
    """Readers and writers over 50 people: no error, and each sees what was written for them alone."""
    sut = await make()

    async with http_client(sut.gaia) as client:

        async def write_and_read(number: int) -> None:
            user = f"user{number % 50}"
            path = f"/v1/apps/gaia/users/{user}"
            added = await client.post(f"{path}/facts", json={"text": f"The badge of {user} has number {number}"})
            assert added.status_code == 201
            for route in ("facts?limit=100", "search?q=badge", "export", "stats"):
                answer = await client.get(f"{path}/{route}")
                assert answer.status_code == 200
                texts = [part.split(" ")[0] for part in answer.text.split("The badge of ")[1:]]
                assert set(texts) <= {user}
            listed = (await client.get(f"{path}/facts?limit=100")).json()["items"]
            assert added.json()["id"] in {each["id"] for each in listed}

        await asyncio.gather(*map(write_and_read, range(clients)))

    assert sum([await sut.gaia.memory.count(sut.scope(f"user{number}")) for number in range(50)]) == clients


@pytest.mark.acceptance("H09")
async def test_mounted_on_another_application_its_routes_stay(make: Make) -> None:
    """The other's routes answer as before, without a token; memory answers below its own path."""
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route

    async def hello(request: Any) -> PlainTextResponse:
        return PlainTextResponse("hello")

    sut = await make()
    app = Starlette(routes=[Route("/", hello), Mount("/memory", memory_app(sut.gaia))])
    async with app_client(app, await admin_token(sut.gaia)) as client, app_client(app) as stranger:
        assert (await stranger.get("/")).text == "hello"
        assert (await stranger.get(f"/memory{ADA}/facts")).status_code == 401
        assert (await stranger.get("/memory/health")).json() == {"status": "ok"}
        login = await stranger.get("/memory/", headers={"Accept": "text/html"})
        assert login.headers["location"] == "/memory/login"
        assert (await client.get(f"/memory{ADA}/facts")).json()["total"] == 0
        assert "/v1/people" in (await client.get("/memory/openapi.json")).json()["paths"]


@pytest.mark.acceptance("H17")
async def test_what_falls_due_is_told_once_also_over_a_break(make: Make) -> None:
    """Each time that passes, in order; what was told before the break is not told again."""
    sut = await make()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    for text, minutes in (("Call Noa", 1), ("Pay rent", 2), ("Water plants", 3)):
        await memory.remember(scope, text, due_at=now + timedelta(minutes=minutes))
    token, events = await admin_token(sut.gaia), f"{ADA}/events"

    async with served(memory_app(sut.gaia)) as address, app_client_at(address, token) as client:
        connected = asyncio.Event()
        following = asyncio.create_task(read_events(client, events, count=1, is_following=connected))
        await connected.wait()
        sut.clock.advance(timedelta(minutes=2, seconds=30))
        [first] = await following
        sut.clock.advance(timedelta(minutes=1))
        rest = await read_events(client, events, count=2, last_event_id=first.id)
        listed = (await client.get(f"{ADA}/due")).json()["items"]

    assert [each.data["fact"]["text"] for each in (first, *rest)] == ["Call Noa", "Pay rent", "Water plants"]
    assert {each.kind for each in (first, *rest)} == {"due"}
    assert [each["text"] for each in listed] == ["Call Noa", "Pay rent", "Water plants"]


@pytest.mark.acceptance("H03")
async def test_sensitive_facts_answer_a_search_only_if_they_are_asked_for(make: Make) -> None:
    """The list shows them, as it is what the person sees."""
    sut = await make()

    async with http_client(sut.gaia) as client:
        await client.post(f"{ADA}/facts", json={"text": "Has asthma", "sensitive": True})
        usual = (await client.get(f"{ADA}/search", params={"q": "asthma"})).json()
        asked = (await client.get(f"{ADA}/search", params={"q": "asthma", "include_sensitive": "true"})).json()

    assert usual["items"] == []
    assert [each["fact"]["text"] for each in asked["items"]] == ["Has asthma"]
