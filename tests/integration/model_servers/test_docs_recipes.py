"""Each recipe of the docs, followed literally in a fresh environment, with the project's own servers for the models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gaia_memory.config.sources.load import load
from support.checkout import ROOT
from support.cli.docs_pages import ExpectedOutput, fenced_blocks, run_page
from support.databases import memory_url
from support.harness import facts
from support.servers.chroma_server import free_port
from support.servers.fake_gemini import FakeGemini
from support.servers.fake_ollama import FakeOllama
from support.servers.fake_openai import FakeOpenAI

LEARNED = facts("User is allergic to nuts")


@pytest.fixture
def gemini_server() -> Iterator[FakeGemini]:
    """Run a fake Gemini that learns the page's fact."""
    with FakeGemini() as server:
        server.set_default("extractor", LEARNED)
        yield server


def _taught(server: FakeOpenAI) -> FakeOpenAI:
    server.set_default("extractor", LEARNED)
    return server


def _proven(shown: list[ExpectedOutput], *, outputs: int) -> None:
    """Check that a page showed so many outputs, and that each was printed."""
    assert [(each.missing_lines, each.printed) for each in shown if each.missing_lines] == []
    assert len(shown) == outputs


def test_offline_needs_nothing(tmp_path: Path) -> None:
    """No key, no server."""
    shown, _ = run_page("how-to/offline.md", tmp_path, replacements={}, environment={})

    _proven(shown, outputs=1)


def test_gemini_needs_nothing_but_a_key(gemini_server: FakeGemini, tmp_path: Path) -> None:
    """The base URL stands in for the real Gemini; all parts ask it with the key of the page."""
    environment = {"GOOGLE_GEMINI_BASE_URL": gemini_server.url}
    shown, _ = run_page("how-to/gemini.md", tmp_path, replacements={}, environment=environment)

    _proven(shown, outputs=1)
    assert {request.kind for request in gemini_server.requests} >= {"agent", "extractor", "embedder"}
    assert {request.headers.get("x-goog-api-key") for request in gemini_server.requests} == {"your-key"}


def test_a_server_that_speaks_openais_interface(tmp_path: Path) -> None:
    """With the models, the address and the key of the page."""
    with _taught(FakeOpenAI(key="your-key")) as server:
        instead = {"http://127.0.0.1:8000/v1": server.url}
        shown, _ = run_page("how-to/openai-compatible.md", tmp_path, replacements=instead, environment={})

    _proven(shown, outputs=1)
    assert {request.kind for request in server.requests} == {"agent", "extractor", "embedder"}


def test_ollama(tmp_path: Path) -> None:
    """With the models that the page pulls and the extra that it installs; nothing else is pulled."""
    with _taught(FakeOllama()) as server:
        instead = {"http://127.0.0.1:11434": server.address}
        environment = {"OLLAMA_HOST": server.address}
        shown, calls = run_page("how-to/ollama.md", tmp_path, replacements=instead, environment=environment)

    _proven(shown, outputs=1)
    assert calls.splitlines() == [
        "pip install gaia-memory[ollama]",
        "ollama pull llama3.1:8b",
        "ollama pull nomic-embed-text",
    ]
    assert {request.path for request in server.requests} == {"/v1/chat/completions", "/api/chat", "/api/embed"}
    assert server.pulled == []


async def test_several_processes_on_postgresql_and_a_chroma_server(tmp_path: Path) -> None:
    """With the server that the page starts, ends and starts again on an empty folder, and a database of its own."""
    async with memory_url("postgresql", tmp_path) as url:
        instead = {
            "postgresql://gaia@127.0.0.1:5432/gaia": url.render_as_string(hide_password=False),
            "8000": str(free_port()),
        }
        page = "how-to/postgresql-and-chroma-server.md"
        shown, calls = await asyncio.to_thread(
            run_page, page, tmp_path, replacements=instead, environment={"ANONYMIZED_TELEMETRY": "False"}
        )

    _proven(shown, outputs=4)
    assert calls.splitlines() == ["pip install gaia-memory[postgres]"]


PAGES = [path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
FILES = [(page, block.text) for page in PAGES for block in fenced_blocks(page) if block.kind == "yaml"]


@pytest.mark.parametrize(("page", "text"), FILES, ids=[page for page, _ in FILES])
def test_a_gaia_yaml_on_a_page_is_taken_as_it_stands(page: str, text: str) -> None:
    """No key in it is unknown; other files than gaia.yaml are none of ours."""
    settings = yaml.safe_load(text)
    if "services" in settings:
        return

    assert load(settings, environ={}).warnings == ()
