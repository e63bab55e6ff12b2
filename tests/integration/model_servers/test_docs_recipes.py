"""Each recipe of the docs, followed literally in a fresh environment, with fake servers for the models."""

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
    """Run a fake Gemini that extracts the page's fact."""
    with FakeGemini() as server:
        server.set_default("extractor", LEARNED)
        yield server


def _taught(server: FakeOpenAI) -> FakeOpenAI:
    server.set_default("extractor", LEARNED)
    return server


def _proven(shown: list[ExpectedOutput], *, outputs: int) -> None:
    """Check that a page has this many expected outputs, and that each was printed."""
    assert [(each.missing_lines, each.printed) for each in shown if each.missing_lines] == []
    assert len(shown) == outputs


@pytest.mark.slow
def test_the_offline_recipe_works_without_key_and_server(tmp_path: Path) -> None:
    """The commands of the page run as printed."""
    shown, _ = run_page("how-to/offline.md", tmp_path, replacements={}, environment={})

    _proven(shown, outputs=1)


@pytest.mark.slow
def test_the_gemini_recipe_needs_only_a_key(gemini_server: FakeGemini, tmp_path: Path) -> None:
    """The base URL replaces the real Gemini; all parts send their requests there with the page's key."""
    environment = {"GOOGLE_GEMINI_BASE_URL": gemini_server.url}
    shown, _ = run_page("how-to/gemini.md", tmp_path, replacements={}, environment=environment)

    _proven(shown, outputs=1)
    assert {request.kind for request in gemini_server.requests} >= {"agent", "extractor", "embedder"}
    assert {request.headers.get("x-goog-api-key") for request in gemini_server.requests} == {"your-key"}


@pytest.mark.slow
def test_the_openai_compatible_recipe_works(tmp_path: Path) -> None:
    """With the models, the address and the key of the page."""
    with _taught(FakeOpenAI(key="your-key")) as server:
        instead = {"http://127.0.0.1:8000/v1": server.url}
        shown, _ = run_page("how-to/openai-compatible.md", tmp_path, replacements=instead, environment={})

    _proven(shown, outputs=1)
    assert {request.kind for request in server.requests} == {"agent", "extractor", "embedder"}


@pytest.mark.slow
def test_the_ollama_recipe_works(tmp_path: Path) -> None:
    """With the models that the page pulls and the extra that it installs; nothing else is pulled."""
    with _taught(FakeOllama()) as server:
        instead = {"http://127.0.0.1:11434": server.address}
        environment = {"OLLAMA_HOST": server.address}
        shown, calls = run_page("how-to/ollama.md", tmp_path, replacements=instead, environment=environment)

    _proven(shown, outputs=1)
    assert calls.splitlines() == [
        "pip install .[ollama]",
        "ollama pull llama3.1:8b",
        "ollama pull nomic-embed-text",
    ]
    assert {request.path for request in server.requests} == {"/v1/chat/completions", "/api/chat", "/api/embed"}
    assert server.pulled == []


@pytest.mark.slow
async def test_the_recipe_for_several_processes_on_postgresql_and_a_chroma_server_works(tmp_path: Path) -> None:
    """With the server that the page starts, stops and restarts on an empty folder, and an empty database."""
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
    assert calls.splitlines() == ["pip install .[postgres]"]


PAGES = [path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
FILES = [(page, block.text) for page in PAGES for block in fenced_blocks(page) if block.kind == "yaml"]


@pytest.mark.parametrize(("page", "text"), FILES, ids=[page for page, _ in FILES])
def test_every_gaia_yaml_in_the_docs_is_valid(page: str, text: str) -> None:
    """It has no unknown key; files other than gaia.yaml are skipped."""
    settings = yaml.safe_load(text)
    if {"services", "talks"} & settings.keys():
        return

    assert load(settings, environ={}).warnings == ()
