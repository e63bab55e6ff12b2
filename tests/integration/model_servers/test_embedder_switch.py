"""Switching embedders and back on the same home: no vectors mix, nothing is lost, and `status` reports it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.servers.end_to_end_scenario import open_memory_with_agent
from support.servers.fake_openai import DIMENSIONS, EMBEDDING_MODEL, FakeOpenAI

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

OFFLINE = {"model": "offline"}
MISSPELT = "allergik"
"""Found by hashed parts of words alone: by no word, and by no vector of the server."""

OPENAI = f"openai/{EMBEDDING_MODEL}/{DIMENSIONS}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """Run a server named by the environment."""
    with FakeOpenAI() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


def on_the_server(**embedder: Any) -> dict[str, Any]:
    """Return a configuration that uses the server's embedder."""
    return {"model": "offline", "memory": {"embedder": {"provider": "openai", "model": EMBEDDING_MODEL, **embedder}}}


async def look(gaia: Gaia) -> dict[str, Any]:
    """Return memory's status, its hits, and the content of plain mem0."""
    scope = gaia.scope("ada")
    found = {}
    for query in ("nuts", "tea", MISSPELT):
        hits = await gaia.memory.recall(scope, query, limit=1)
        found[query] = [(hit.fact.text, sorted(set(hit.why) & {"hashed", "keywords", "vectors"})) for hit in hits]
    await gaia.memory.settled()
    plain = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": scope.partition})
    status = await gaia.memory.status(scope)
    return {
        "found": found,
        "facts": sorted(fact.text for fact in await gaia.memory.facts(scope)),
        "plain": sorted(each["memory"] for each in plain["results"]),
        "status": (status.state, status.embedder, status.facts),
    }


async def test_vectors_of_two_embedders_never_mix_and_older_facts_are_found_by_words(
    server: FakeOpenAI, tmp_path: Path
) -> None:
    """Offline, then a server, then offline again."""
    home = tmp_path / "home"
    async with open_memory_with_agent(home, OFFLINE) as (gaia, _):
        await gaia.memory.remember(gaia.scope("ada"), "allergic to nuts")
        before = await look(gaia)
    async with open_memory_with_agent(home, on_the_server()) as (gaia, _):
        await gaia.memory.remember(gaia.scope("ada"), "likes tea")
        switched = await look(gaia)
    async with open_memory_with_agent(home, OFFLINE | {"memory": {"embedder": {"provider": "offline"}}}) as (gaia, _):
        back = await look(gaia)

    both = ["allergic to nuts", "likes tea"]
    assert before["plain"] == ["allergic to nuts"]
    assert switched == {
        "found": {
            "nuts": [("allergic to nuts", ["keywords"])],
            "tea": [("likes tea", ["keywords", "vectors"])],
            MISSPELT: [("likes tea", ["vectors"])],
        },
        "facts": both,
        "plain": ["likes tea"],
        "status": ("degraded", OPENAI, 2),
    }
    assert back == {
        "found": {
            "nuts": [("allergic to nuts", ["keywords"])],
            "tea": [("likes tea", ["keywords"])],
            MISSPELT: [("allergic to nuts", ["hashed"])],
        },
        "facts": both,
        "plain": ["allergic to nuts"],
        "status": ("degraded", "offline/hashed-ngrams-1/384", 2),
    }
    assert {tuple(request.body["input"]) for request in server.requests_of("embedder")} >= {("likes tea",), ("nuts",)}


async def test_dimensions_the_model_does_not_have_are_reported_and_lose_no_fact(
    server: FakeOpenAI, tmp_path: Path
) -> None:
    """With wrong dimensions the vectors wait and `status` names the right number; once corrected, they follow."""
    server.takes_dimensions = False
    home = tmp_path / "home"
    async with open_memory_with_agent(home, on_the_server(embedding_dims=512)) as (gaia, _):
        scope = gaia.scope("ada")
        await gaia.memory.remember(scope, "allergic to nuts")
        found = await gaia.memory.recall(scope, "nuts")
        async with asyncio.timeout(60):
            while (status := await gaia.memory.status(scope)).state == "ok":
                await asyncio.sleep(0.01)
    async with open_memory_with_agent(home, on_the_server(embedding_dims=DIMENSIONS)) as (gaia, _):
        await gaia.memory.settled()
        mended = await look(gaia)

    assert [hit.fact.text for hit in found] == ["allergic to nuts"]
    assert f"gave a vector of {DIMENSIONS}: set memory.embedder.embedding_dims" in status.reason
    assert mended["found"]["nuts"] == [("allergic to nuts", ["keywords", "vectors"])]
    assert mended["plain"] == ["allergic to nuts"]
    assert mended["status"] == ("ok", OPENAI, 1)
