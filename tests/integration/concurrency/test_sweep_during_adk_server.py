"""ADK's servers while another process repeatedly sweeps their session database: the chat continues."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from support.cli.cli_runner import run_gaia_process
from support.concurrency.sweeper_process import sweeping_process
from support.databases import memory_url
from support.hosts.adk_process import APP, AgentsFolder, Server, adk_server, wait_for
from support.servers.rule_based_gemini import RuleBasedGemini

slow = (pytest.mark.slow, pytest.mark.timeout(600))
LONG = 25
"""Messages of each user in the slow tier."""

TALKS = 3
"""Two of them in one session, as somebody with two tabs has them."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "clear", "kind", "count"),
    [
        ("web", "auto", "sqlite", 4),
        *(
            pytest.param(command, clear, kind, LONG, marks=slow)
            for command in ("web", "api_server")
            for clear in ("auto", "rewind")
            for kind in ("sqlite", "postgresql")
        ),
    ],
)
async def test_a_chat_continues_while_another_process_learns_and_clears_it(
    command: str, clear: str, kind: str, count: int, tmp_path: Path, gemini_rules: RuleBasedGemini
) -> None:
    """Every message is answered with 200, however often the session was cleared, and learned once."""
    async with memory_url(kind, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        sessions = address if kind == "postgresql" else f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}"
        settings = f"app: {APP}\nsessions: {{database_url: '{sessions}', clear: {clear}}}\n"
        agents = AgentsFolder(tmp_path / "agents", settings)
        await asyncio.to_thread(_chat, command, agents, sessions, gemini_rules, count, clear)


def _chat(
    command: str, agents: AgentsFolder, sessions: str, gemini_rules: RuleBasedGemini, count: int, clear: str
) -> None:
    environ = gemini_rules.gemini.environment | {"GAIA_HOME": str(agents.data)}
    with (
        adk_server(command, agents, sessions=sessions, environ=environ) as server,
        ThreadPoolExecutor(TALKS) as together,
    ):
        server.create_session("s0")
        server.create_session("s1")
        server.send("said first", session="s0")
        with sweeping_process(agents.config, environ):
            talks = list(together.map(lambda at: _talk(server, gemini_rules, at, count), range(TALKS)))
        done = run_gaia_process("sweep", "--force", "--config", str(agents.config), environment=environ)
        assert done.code == 0, done
        events = [event for session in ("s0", "s1") for event in server.session(session)["events"]]
        told = server.log
        server.send("said at last", session="s0")
    rewinds = [event for event in events if event["actions"].get("rewindBeforeInvocationId")]
    everything = Counter(["said first", *(text for said in talks for text in said)])

    assert _shown(gemini_rules) == everything, "each message is in one question to the extractor"
    assert Counter(_user_texts(events)) == everything, "and once in its session"
    assert (clear == "rewind") == bool(rewinds), "with auto, the session of a host stays as it is"
    assert clear == "auto" or len(rewinds) > 2, "it was cleared in the middle of the chat"
    assert "StaleSession" not in told
    assert "SessionNotFound" not in told


def _talk(server: Server, gemini_rules: RuleBasedGemini, number: int, count: int) -> list[str]:
    """Send that many messages; after every second one, wait until it is learned."""
    said = [f"said {number} {at}" for at in range(count)]
    for at, text in enumerate(said):
        answer = (server.send, server.stream)[at % 2](text, session=f"s{number % 2}")
        assert answer == f"re {text}"
        if at % 2:
            wait_for(partial(_is_shown, gemini_rules, text), seconds=60.0)
    return said


def _is_shown(gemini_rules: RuleBasedGemini, text: str) -> bool:
    return _shown(gemini_rules)[text] > 0


def _shown(gemini_rules: RuleBasedGemini) -> Counter[str]:
    """Return how often each message of the user was in an extractor request."""
    shown: Counter[str] = Counter()
    for request in gemini_rules.gemini.requests_of("extractor"):
        messages, _ = json.JSONDecoder().raw_decode(request.contents.partition("## New Messages\n")[2])
        shown.update(message["content"] for message in messages if message["role"] == "user")
    return shown


def _user_texts(events: list[dict[str, object]]) -> list[str]:
    contents = [event.get("content") or {} for event in events if event["author"] == "user"]
    return [part["text"] for content in contents for part in content.get("parts", [])]  # type: ignore[attr-defined]
