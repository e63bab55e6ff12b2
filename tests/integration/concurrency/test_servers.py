"""Two of ADK's servers at once in one session."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.databases import memory_url
from support.hosts.adk_process import APP, AgentsFolder, adk_server, wait_for
from support.servers.rule_based_gemini import RuleBasedGemini


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_forty_messages_to_two_servers_in_one_session_are_answered_and_learned_once(
    kind: str, tmp_path: Path, gemini_rules: RuleBasedGemini
) -> None:
    """ADK alone refuses one of two concurrent turns; here each server also gets two messages at a time."""
    async with memory_url(kind, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        sessions = address if kind == "postgresql" else f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}"
        await asyncio.to_thread(_ask_two_servers, tmp_path, sessions, gemini_rules)


def _ask_two_servers(folder: Path, sessions: str, gemini_rules: RuleBasedGemini) -> None:
    settings = f"app: {APP}\nsessions: {{database_url: '{sessions}', idle_consolidate_minutes: 0.02}}\n"
    agents = AgentsFolder(folder / "agents", settings)
    environ = gemini_rules.gemini.environment
    with (
        adk_server("api_server", agents, sessions=sessions, environ=environ) as one,
        adk_server("api_server", agents, sessions=sessions, environ=environ) as other,
        ThreadPoolExecutor(4) as together,
    ):
        one.create_session()

        def talk(number: int) -> Iterator[str]:
            server = (one, other)[number % 2]
            for at in range(10):
                said = f"said {number} {at}"
                assert server.send(said) == f"re {said}"
                yield said

        said = [text for texts in together.map(lambda number: list(talk(number)), range(4)) for text in texts]
        wait_for(
            lambda: _learned(gemini_rules) == Counter(said),
            seconds=120.0,
            describe=lambda: str(_learned(gemini_rules)),
        )
    assert len(said) == 40


def _learned(gemini_rules: RuleBasedGemini) -> Counter[str]:
    """Return how often each message was in an extractor request."""
    shown = "\n".join(
        request.contents.partition("## New Messages\n")[2] for request in gemini_rules.gemini.requests_of("extractor")
    )
    texts = {f"said {number} {at}" for number in range(4) for at in range(10)}
    return Counter({text: shown.count(f'"content": "{text}"') for text in texts if f'"{text}"' in shown})
