"""`adk api_server`, called over HTTP by users with similar ids, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from support.concurrency.isolation_fuzz import SECRET_PATTERN, owners_in
from support.databases import memory_url
from support.hosts.adk_process import APP, AgentsFolder, Server, adk_server, agent_source, wait_for
from support.oracles.adversarial_ids import SESSIONS, USERS
from support.servers.fake_gemini import FakeGemini
from support.servers.rule_based_gemini import LOOK_UP_PREFIX, RuleBasedGemini

PEOPLE = [user for user in USERS if len(user) < 100 and not {"\x00", "\ud800", "/"} & set(user) and user != ".."]
AT_ONCE = 6
IN_ONE_SESSION = "shared"


@pytest.fixture
def gemini_rules() -> Iterator[RuleBasedGemini]:
    """Provide the models of the server."""
    with FakeGemini() as gemini:
        yield RuleBasedGemini(gemini)


def path(user: str, *parts: str) -> str:
    return "/".join(["/apps", APP, "users", *(quote(part, safe="") for part in (user, *parts))])


def person_of(server: Server, number: int) -> dict[str, object]:
    """Act as one user: remember, chat, search, list; check the replies and return what to look for elsewhere."""
    user = PEOPLE[number]
    word = f"zq{number}krestz"
    session = SESSIONS[number % len(SESSIONS)] if number % 2 and len(SESSIONS[number % len(SESSIONS)]) < 100 else "s"
    session = IN_ONE_SESSION if "/" in session else session
    server.create_session(session, user=user)
    shown = [
        server.send(f"/remember My boat is called {word}", session=session, user=user),
        server.send(f"My tender is called {word}", session=session, user=user),
        server.stream(f"{LOOK_UP_PREFIX}boat", session=session, user=user),
        server.send("/memory", session=session, user=user),
        server.http.get(path(user, "sessions")).text,
        server.http.get(path(user, "sessions", session)).text,
    ]
    assert owners_in(*shown) == {number}, (user, shown)
    return {"number": number, "session": session, "shown": shown}


def reach(server: Server, number: int, victim: int, session: str) -> None:
    """Request another user's conversation in every possible way."""
    user = PEOPLE[number]
    own = {each["id"] for each in server.http.get(path(user, "sessions")).json()}
    if session in own:
        return
    answers = [
        server.http.get(path(user, "sessions", session)),
        server.http.patch(path(user, "memory"), json={"session_id": session}),
        server.http.patch(path(user, "sessions", session), json={"state_delta": {"x": 1}}),
        server.http.delete(path(user, "sessions", session)),
        server.post("hello", session=session, user=user),
    ]
    assert not owners_in(*(answer.text for answer in answers)) - {number}, (user, victim)
    assert [answer.status_code for answer in (answers[0], answers[1], answers[2], answers[4])] == [404] * 4, user


def story(server: Server, gemini_rules: RuleBasedGemini, people: list[int]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as together:
        done = list(together.map(lambda number: person_of(server, number), people))
        for each, other in zip(done, done[1:] + done[:1], strict=True):
            reach(server, int(str(each["number"])), int(str(other["number"])), str(other["session"]))
    for each in done[::5]:
        session, user = str(each["session"]), PEOPLE[int(str(each["number"]))]
        server.send("/forget yes", session=session, user=user)
    for at, each in enumerate(done):
        number, session = int(str(each["number"])), str(each["session"])
        told = server.send("/memory", session=session, user=PEOPLE[number])
        assert owners_in(told) == (set() if at % 5 == 0 else {number}), (PEOPLE[number], told)
    requests = [each.contents + each.system for each in gemini_rules.gemini.requests]
    mixed = [text for text in requests if len(owners_in(text)) > 1]
    assert mixed == []
    assert len([text for text in requests if SECRET_PATTERN.search(text)]) >= 2 * len(people)
    wait_for(lambda: gemini_rules.gemini.requests_of("extractor"), describe=lambda: server.log)
    assert owners_in(server.log) == set()


@pytest.mark.slow
@pytest.mark.acceptance("C02", "C03", "G12")
@pytest.mark.parametrize(
    ("kind", "people"),
    [
        ("sqlite", 4),
        pytest.param("sqlite", len(PEOPLE), marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param("postgresql", len(PEOPLE), marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
    ],
)
async def test_no_user_is_shown_another_users_data_over_rest(
    kind: str, people: int, tmp_path: Path, gemini_rules: RuleBasedGemini
) -> None:
    """Replies, lists, sessions, model requests and the log contain only their own user's words."""
    async with memory_url(kind, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        sessions = address if kind == "postgresql" else f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}"
        settings = f"app: {APP}\nsessions: {{database_url: '{sessions}', idle_consolidate_minutes: 0.02}}\n"
        agents = AgentsFolder(tmp_path / "agents", settings, **{APP: agent_source("load_memory")})

        def serve() -> None:
            with adk_server("api_server", agents, sessions=sessions, environ=gemini_rules.gemini.environment) as server:
                story(server, gemini_rules, list(range(people)))

        await asyncio.to_thread(serve)
