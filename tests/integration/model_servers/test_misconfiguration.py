"""Messages for the likely mistakes in the configuration of a model server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gaia_memory import open_memory
from support.cli.cli_runner import run_gaia
from support.servers.fake_openai import (
    CHAT_MODEL,
    Answer,
    FakeOpenAI,
    HtmlPage,
    HttpError,
)

NOWHERE = "http://127.0.0.1:9/v1"


@dataclass
class Mistake:
    """A mistake, and the words that the message must contain."""

    told: tuple[str, ...]
    url: Callable[[FakeOpenAI], str] = lambda server: server.url
    key: str = ""
    model: str = CHAT_MODEL
    answer: Answer = ""
    habits: dict[str, object] = field(default_factory=dict)


MISTAKES = {
    "no key and no server": Mistake(("OPENAI_API_KEY is not set", "OPENAI_BASE_URL"), url=lambda _: ""),
    "a key that is wrong": Mistake(("refused the key", "check it in the environment"), habits={"key": "right"}),
    "an address without /v1": Mistake(
        ("check the model's name", "address of the provider", "/chat/completions)"), url=lambda s: s.address
    ),
    "such an address of lm studio": Mistake(
        ("Unexpected endpoint or method", "check the base URL, which usually ends in /v1"),
        url=lambda server: server.address,
        habits={"strict_path": False},
    ),
    "the address of a web page": Mistake(("check the base URL, which usually ends in /v1",), answer=HtmlPage()),
    "a model nobody has": Mistake(("The model `gpt-9` does not exist",), model="gpt-9"),
    "a server that is down": Mistake(("could not be reached at 127.0.0.1:9",), url=lambda _: NOWHERE),
}


@pytest.mark.parametrize("name", MISTAKES, ids=list(MISTAKES))
def test_a_sweep_reports_the_mistake_and_keeps_the_conversation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, with a remedy, without the user's messages; the next sweep learns it."""
    mistake = MISTAKES[name]
    with FakeOpenAI(**mistake.habits) as server:  # type: ignore[arg-type]
        monkeypatch.setenv("OPENAI_BASE_URL", mistake.url(server))
        monkeypatch.setenv("OPENAI_API_KEY", mistake.key)
        server.set_default("extractor", mistake.answer)
        config = tmp_path / "gaia.yaml"
        llm = f"memory: {{llm: {{provider: openai, model: {mistake.model}}}, embedder: {{provider: offline}}}}"
        config.write_text(f"model: offline\n{llm}\n", encoding="utf-8")
        run_gaia("chat", "--user", "ada", "--config", str(config), stdin="I love oolong.\n")
        failed = run_gaia("sweep", "--force", "--config", str(config))
        [line] = [line for line in failed.err.splitlines() if line.startswith("gaia: ada:cli of ada is not ")]

        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", str(mistake.habits.get("key", "")))
        server.models.add(mistake.model)
        server.set_default("extractor", '{"memory": [{"text": "User loves oolong"}]}')
        mended = run_gaia("sweep", "--force", "--config", str(config))

    assert [words for words in mistake.told if words not in line] == [], line
    assert "oolong" not in failed.err
    assert (failed.code, mended.code) == (1, 0)
    assert mended.out.startswith("1 conversation learned, 0 failed, 0 skipped\n")


CHATS = {
    "a server that is down": Mistake(("the model could not be reached at 127.0.0.1:9",), url=lambda _: NOWHERE),
    "a key that is wrong": Mistake(("refused the key",), habits={"key": "right"}),
    "an address without /v1": Mistake(("address of the provider",), url=lambda server: server.address),
    "a server without tools": Mistake(
        ("refused the request (400)",), answer=HttpError(400, '"auto" tool choice requires --enable-auto-tool-choice')
    ),
}


@pytest.mark.parametrize("name", CHATS, ids=CHATS)
def test_a_chat_apologizes_once_and_the_log_gives_the_reason(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user sees one sentence; the log tells the operator what to fix."""
    mistake = CHATS[name]
    with FakeOpenAI(**mistake.habits) as server:  # type: ignore[arg-type]
        monkeypatch.setenv("OPENAI_BASE_URL", mistake.url(server))
        server.set_default("agent", mistake.answer)
        config = tmp_path / "gaia.yaml"
        config.write_text(f"model: openai:{CHAT_MODEL}\n", encoding="utf-8")
        done = run_gaia("chat", "--user", "ada", "--config", str(config), stdin="I love oolong.\n")

    said = [line for line in done.out.splitlines() if line.startswith("Sorry")]
    assert len(said) == 1
    assert [words for words in mistake.told if words not in done.err] == []
    assert "oolong" not in done.err
    assert done.code == 1


@pytest.mark.parametrize("part", ["llm", "embedder"])
async def test_forgetting_works_without_a_key(part: str, tmp_path: Path) -> None:
    """The mem0 store is opened, followed and erased from without asking a model."""
    offline = {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}
    memory = {**offline, part: {"provider": "openai", "model": "m"}}
    async with open_memory({"home": str(tmp_path / "home"), "model": "offline", "memory": memory}) as opened:
        scope = opened.scope("ada")
        await opened.memory.remember(scope, "allergic to nuts")
        receipt = await opened.memory.forget(scope)
        async with asyncio.timeout(60):
            await opened.memory.settled()
        status = await opened.memory.status(scope)

    assert receipt.count == 1
    assert (status.erasures, status.lag, status.facts) == (0, 0, 0)
