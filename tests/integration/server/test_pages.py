"""What the pages of the dashboard say, without a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
import pytest
import yaml

from gaia_memory import NewFact, memory_app
from gaia_memory.server.pages import home_pages
from support.harness import Sut, facts
from support.servers.memory_server import ADA, ADA_TOKEN, TOKENS, admin_token, app_client

Make = Callable[..., Awaitable[Sut]]
PAGE = "/people/gaia/ada"
HTML = {"Accept": "text/html"}


async def browser(sut: Sut) -> httpx.AsyncClient:
    """Return a client that is logged in as the admin."""
    return app_client(memory_app(sut.gaia), await admin_token(sut.gaia))


async def test_what_is_due_and_sensitive_is_listed_veiled(make: Make) -> None:
    """Without its text; a page of what is due without it would tell half."""
    sut = await make()
    due_at = sut.clock.now() + timedelta(hours=2)
    fact = await sut.gaia.memory.remember(sut.scope("ada"), "Take the insulin", due_at=due_at, sensitive=True)

    async with await browser(sut) as client:
        page = (await client.get(f"{PAGE}/due")).text

    assert "insulin" not in page
    assert f"{PAGE}/facts/{fact.id}?show=1" in page


async def test_learn_now_learns_the_conversation_beside_it_alone(make: Make) -> None:
    """Those of other people wait on; the page says how many facts it gave."""
    sut = await make(main=["Noted."] * 2, extractor=[facts("Has a cat named Momo")])
    await sut.chat("ada", "cli", "My cat is named Momo.")
    await sut.chat("bob", "cli", "My dog is named Rex.")
    [waiting] = await sut.gaia.memory.pending(sut.scope("ada"))

    async with await browser(sut) as client:
        page = (await client.get(f"{PAGE}/conversations")).text
        form = {"app": waiting.key.app, "session_id": waiting.key.session}
        learned = (await client.post(f"{PAGE}/conversations", data=form)).text
        again = (await client.post(f"{PAGE}/conversations", data=form)).text

    assert "It is learned once nobody has written for 30 minutes" in " ".join(page.split())
    assert "1 fact was learned" in learned
    assert "does not wait any more" in again
    assert await sut.gaia.memory.pending(sut.scope("ada")) == []
    assert len(await sut.gaia.memory.pending(sut.scope("bob"))) == 1


async def test_a_day_shows_what_was_true_then(make: Make) -> None:
    """So a fact that ended is found again, and can be restored on its page."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    fact = await memory.remember(scope, "Lives in Oslo")
    day = sut.clock.now().date()
    sut.clock.advance(timedelta(days=3))
    await memory.update(scope, fact.id, text="Lives in Bergen")

    async with await browser(sut) as client:
        then = (await client.get(PAGE, params={"as_of": day.isoformat()})).text
        today = (await client.get(PAGE, params={"as_of": sut.clock.now().date().isoformat()})).text
        odd = (await client.get(PAGE, params={"as_of": "soon"})).text

    assert ("Lives in Oslo" in then, "Lives in Bergen" in then) == (True, False)
    assert all("Lives in Bergen" in page for page in (today, odd))


async def test_a_search_without_vectors_says_so(make: Make) -> None:
    """Fewer facts are found then, and the next search may find more."""
    sut = await make()
    await sut.gaia.memory.remember(sut.scope("ada"), "Likes green tea")
    sut.script.embedder_error = OSError("away")

    async with await browser(sut) as client:
        page = (await client.get(PAGE, params={"q": "tea"})).text

    assert "without the search by meaning, which did not answer: try again" in page


async def test_every_refusal_is_a_page_for_a_browser_and_a_problem_for_a_program(make: Make) -> None:
    """With the same status; the page says why and leads back."""
    sut = await make(yaml.safe_dump({"server": {"tokens": TOKENS}}))
    refused: list[tuple[str | None, str, str, int, str, dict[str, str]]] = [
        (ADA_TOKEN, "GET", "/status", 403, "this token may not do that", {}),
        (ADA_TOKEN, "GET", "/people/gaia/bob", 403, "this token may not do that", {}),
        (ADA_TOKEN, "POST", "/people/gaia/bob/forget", 403, "this token may not do that", {}),
        (ADA_TOKEN, "POST", f"{PAGE}/facts", 403, "page of another site", {"Origin": "http://evil.example"}),
        (ADA_TOKEN, "GET", PAGE, 403, "another host", {"Host": "evil.example"}),
        (ADA_TOKEN, "GET", f"{ADA}/facts?limit=500", 422, "query.limit: pass a whole number from 1 to 100", {}),
        (ADA_TOKEN, "GET", f"{ADA}/facts?filters=%7B%22x%22:%7B%22y%22:1%7D%7D", 422, "not accepted", {}),
        (ADA_TOKEN, "GET", f"{ADA}/facts/unknown", 404, "no such fact", {}),
        (None, "POST", f"{PAGE}/facts", 401, "log in", {}),
    ]

    for token, method, path, status, reason, headers in refused:
        async with app_client(memory_app(sut.gaia), token) as client:
            page = await client.request(method, path, headers={**HTML, **headers})
            problem = await client.request(method, path, headers=headers)
        assert (page.status_code, problem.status_code) == (status, status), path
        assert page.headers["content-type"].startswith("text/html"), path
        assert reason.casefold() in page.text.casefold(), path
        assert '<a href="/">' in page.text, path
        assert problem.headers["content-type"] == "application/problem+json", path


async def test_a_browser_that_guessed_too_often_and_one_that_meets_a_failure_get_a_page(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `Retry-After`, and with the reference of the log."""
    sut = await make(yaml.safe_dump({"server": {"tokens": TOKENS}}))
    app = memory_app(sut.gaia)

    async def fail(*_: object) -> None:
        raise RuntimeError("Ada likes tea")

    async with app_client(app) as client:
        for number in range(10):
            await client.get(PAGE, headers={"Authorization": f"Bearer {number}"})
        waits = await client.get(PAGE, headers={**HTML, "Authorization": "Bearer 1"})
        monkeypatch.setattr(app, "_refuse", fail)
        failed = await client.get(PAGE, headers=HTML)

    assert (waits.status_code, waits.headers["retry-after"].isdigit()) == (429, True)
    assert failed.status_code == 500
    assert "reference" in failed.text
    assert "tea" not in failed.text
    assert all(each.headers["content-type"].startswith("text/html") for each in (waits, failed))


async def test_a_page_lists_every_route_of_the_openapi_document(make: Make) -> None:
    """For whoever is logged in: with what it does, the ranges of its parameters, and its answers."""
    sut = await make(yaml.safe_dump({"server": {"tokens": TOKENS}}))

    async with app_client(memory_app(sut.gaia), ADA_TOKEN) as client:
        page = " ".join((await client.get("/api")).text.split())
        paths = (await client.get("/openapi.json")).json()["paths"]
        login = (await client.get("/login")).text
        start = (await client.get(PAGE)).text
    async with app_client(memory_app(sut.gaia)) as stranger:
        assert (await stranger.get("/api", headers=HTML)).headers["location"] == "/login"

    for path, operations in paths.items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path}</a>" in page
            assert operation["description"].partition("`")[0] in page
            assert {"422", "503"} <= operation["responses"].keys(), path
    assert "<code>limit</code>: 1 to 100; default <code>20</code>." in page
    assert "text, at most 1,000 characters" in page
    assert "<dt>201</dt>" in page
    assert ('href="/api"' in start, 'href="/api"' in login) == (True, False)


async def test_the_prompt_of_a_session_names_what_its_last_message_finds(make: Make) -> None:
    """With reasons, and with what was left out, as memory was when the message was sent; and what is due."""
    sut = await make("memory: {score_threshold: 0.9}", main=["A nice cat."], extractor=[facts("Has asked for a name")])
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.add(scope, [NewFact("Has a cat named Momo"), NewFact("Feeds the cat at seven")])
    await memory.remember(scope, "Call the vet", due_at=sut.clock.now() + timedelta(days=1))
    sut.clock.advance(timedelta(minutes=1))
    await sut.chat("ada", "cli", "What is the name of my cat?")
    sut.clock.advance(timedelta(minutes=1))
    await memory.remember(scope, "Has a cat named Zorro")

    async with await browser(sut) as client:
        [session] = (await client.get(f"{ADA}/prompt")).json()["items"]
        page = (await client.get(f"{PAGE}/profile")).text
        assert (await sut.sweep_after_idle()).consolidated == 1
        learned = (await client.get(f"{ADA}/prompt")).json()["items"]

    last = session["last_message"]
    assert [each["fact"]["text"] for each in last["recalled"]] == ["Has a cat named Momo"]
    left_out = {each["fact"]["text"] for each in last["left_out"]}
    assert left_out == {"Feeds the cat at seven", "Call the vet"}
    assert all(each["why"] for each in last["recalled"] + last["left_out"])
    assert [fact["text"] for fact in session["due"]] == ["Call the vet"]
    assert "2 left out" in page
    assert not [each for each in learned if each["last_message"] is not None]


async def test_the_prompt_of_a_session_has_the_notes_before_its_last_message(make: Make) -> None:
    """Made again from what was known then and still holds; without sensitive and forgotten facts."""
    sut = await make("memory: {time_zone: Europe/Berlin, preload_facts: true}", main=["A nice cat."] * 2)
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.add(scope, [NewFact("Has a cat named Momo"), NewFact("Has a cat with diabetes", sensitive=True)])
    await memory.remember(scope, "Call the vet", due_at=sut.clock.now() + timedelta(days=1))
    await sut.chat("ada", "cli", "What is the name of my cat?")
    [told] = [
        (part.text or "").removesuffix("\nWhat is the name of my cat?")
        for content in sut.REQ[-1].contents
        for part in content.parts or []
        if (part.text or "").startswith("<TURN_NOTES>")
    ]
    sut.clock.advance(timedelta(hours=1))
    await memory.remember(scope, "Call the dentist", due_at=sut.clock.now() + timedelta(days=1))

    async with await browser(sut) as client:
        [session] = (await client.get(f"{ADA}/prompt")).json()["items"]
        page = (await client.get(f"{PAGE}/profile")).text
        await memory.forget(scope, fact_id=session["due"][0]["id"])
        after = (await client.get(f"{ADA}/prompt")).text

    assert session["last_message"]["notes"] == told
    assert "[MEMORY] Has a cat named Momo" in told
    assert "Call the vet" in told
    assert "made again" in page
    assert "diabetes" not in told
    assert "Call the vet" not in after


async def test_the_people_of_a_large_home_are_found_by_their_names(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page lists the first of them."""
    monkeypatch.setattr(home_pages, "_MAX_LISTED", 2)
    sut = await make()
    for user in ("ada", "bob", "carol"):
        await sut.gaia.memory.remember(sut.scope(user), "Likes tea")

    async with await browser(sut) as client:
        everybody = (await client.get("/", headers=HTML)).text
        found = (await client.get("/", params={"q": "ARO"}, headers=HTML)).text

    assert "The first 2 of 3 people" in everybody
    assert "carol" not in everybody
    assert "carol" in found
