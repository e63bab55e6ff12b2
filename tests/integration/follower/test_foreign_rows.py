"""Another program writes to a store on a server, through plain mem0."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest

from gaia_memory import ConfigError, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.backend.mem0_store import foreign_rows
from gaia_memory.backend.mem0_store.chroma import chroma_store
from support.servers.chroma_server import chroma_server
from support.storage.plain_mem0 import list_facts, mem0_facts, plain_mem0

OFFLINE = {"provider": "offline"}
SECRET = "sk-proj-abcdefghijklmnopqrstuvwx0123456789ABCDEFGH"

pytestmark = pytest.mark.acceptance("B02")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Run a Chroma server and return the configuration of its store."""
    with chroma_server(tmp_path / "server") as settings:
        yield settings


def config_of(server: dict[str, Any], *, accept: bool) -> dict[str, Any]:
    """Return a configuration with a store on the server."""
    store = {**server, "accept": accept}
    return {"model": "offline", "memory": {"llm": OFFLINE, "embedder": OFFLINE, "vector_store": store}}


async def by_another_program(gaia: Gaia, act: Callable[[Any], Any]) -> Any:
    """Let a plain mem0 program act on the store."""

    def run() -> Any:
        with plain_mem0(gaia.mem0_config()) as memory:
            return act(memory)

    return await asyncio.to_thread(run)


async def test_rows_become_unconfirmed_facts_and_changed_texts_corrections(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """Ids, times and metadata stay; a deleted row comes back; rows of nobody we know stay as they are."""
    async with open_memory(config_of(server, accept=True), home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        kept = await gaia.memory.remember(ada, "Lives in Oslo")
        lost = await gaia.memory.remember(ada, "Likes tea")
        hidden = await gaia.memory.remember(ada, "Owns a boat")
        gone = await gaia.memory.remember(ada, "Grows zebrawood")
        await gaia.memory.forget(ada, fact_id=gone.id)
        await gaia.memory.settled()

        def act(memory: Any) -> dict[str, Any]:
            added = memory.add("Plays chess", user_id="gaia:ada", infer=False, metadata={"mood": "calm"})
            memory.add("Grows zebrawood", user_id="gaia:ada", infer=False)
            memory.add(f"The key is {SECRET}", user_id="gaia:ada", infer=False)
            memory.add("Somebody else's", user_id="stranger", infer=False)
            memory.update(kept.id, text="Lives in Rome")
            memory.add("Also plays go", user_id="gaia:ada", infer=False, metadata=memory.get(kept.id)["metadata"])
            memory.update(hidden.id, text="Grows zebrawood")
            memory.add("x" * 120_000, user_id="gaia:ada", infer=False)
            memory.delete(lost.id)
            fact_id = added["results"][0]["id"]
            return {"id": fact_id, "created_at": memory.get(fact_id)["created_at"]}

        added = await by_another_program(gaia, act)
        await gaia.memory.settled()
        await gaia.memory.settled()
        facts = {fact.text: fact for fact in await gaia.memory.facts(ada)}
        history = [period.text for period in await gaia.memory.history(ada, kept.id)]
        status = await gaia.memory.status(ada)
        copies = await mem0_facts(gaia, "ada")

        def strangers(memory: Any) -> list[str]:
            return [row["memory"] for row in memory.get_all(filters={"user_id": "stranger"})["results"]]

        left = await by_another_program(gaia, strangers)

    chess = facts["Plays chess"]
    masked = next(text for text in facts if text.startswith("The key is"))
    assert facts.keys() == {"Lives in Rome", "Likes tea", "Owns a boat", "Plays chess", "Also plays go", masked}
    assert SECRET not in masked
    assert (chess.id, chess.source, chess.is_unconfirmed) == (added["id"], "mem0", True)
    assert chess.created_at.isoformat()[:19] == added["created_at"][:19]
    assert chess.metadata["mood"] == "calm"
    assert (facts["Lives in Rome"].id, facts["Lives in Rome"].is_unconfirmed) == (kept.id, True)
    assert history == ["Lives in Oslo", "Lives in Rome"]
    assert sorted(copies.values()) == sorted([*facts, "x" * 120_000])
    assert (left, status.foreign_rows) == (["Somebody else's"], 2)


async def test_without_accept_a_foreign_row_is_counted_and_left_alone_also_by_an_erasure(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """The collection is made anew after a forget; rows of other programs move with it."""
    async with open_memory(config_of(server, accept=False), home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        fact = await gaia.memory.remember(ada, "Grows zebrawood")
        await gaia.memory.settled()
        await by_another_program(gaia, lambda memory: memory.add("Theirs", user_id="gaia:ada", infer=False))
        await gaia.memory.forget(ada, fact_id=fact.id)
        await gaia.memory.remember(ada, "Likes tea")
        await gaia.memory.settled()
        await gaia.memory.settled()
        copies, status = await mem0_facts(gaia, "ada"), await gaia.memory.status(ada)
        facts = [each.text for each in await gaia.memory.facts(ada)]

    assert (facts, sorted(copies.values())) == (["Likes tea"], ["Likes tea", "Theirs"])
    assert status.foreign_rows == 1


async def test_within_a_minute_without_being_asked(
    tmp_path: Path, server: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner looks by itself."""
    monkeypatch.setattr(foreign_rows, "LOOK_SECONDS", 0.2)
    async with open_memory(config_of(server, accept=True), home=tmp_path / "home") as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "Likes tea")
        await gaia.memory.settled()
        await by_another_program(gaia, lambda memory: memory.add("Plays chess", user_id="gaia:ada", infer=False))
        async with asyncio.timeout(30):
            while await gaia.memory.count(gaia.scope("ada")) < 2:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("provider", "reason"), [("chroma", "it is in a folder that only gaia may write"), ("none", "there is no store")]
)
def test_a_store_in_a_folder_accepts_nothing(tmp_path: Path, provider: str, reason: str) -> None:
    """The error names the key, the provider and why, and what to do; so does that of no store at all."""

    async def open_it() -> None:
        store = {"provider": provider, "accept": True}
        async with open_memory({"memory": {"vector_store": store}}, home=tmp_path):
            pass

    with pytest.raises(ConfigError, match=f"memory.vector_store.*'{provider}': {reason}; leave `accept` out"):
        asyncio.run(open_it())


async def test_a_collection_of_an_earlier_form_is_made_anew_and_another_of_a_like_name_stays(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """Its rows have no mark, so what was forgotten must not move; `gaia-old` may be somebody's."""
    client = chromadb.HttpClient(host=server["host"], port=server["port"])
    async with open_memory(config_of(server, accept=True), home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        await gaia.memory.remember(ada, "Likes tea")
        await gaia.memory.settled()
    ours = client.get_collection("gaia", embedding_function=None)
    earlier = {name: value for name, value in ours.metadata.items() if name != "gaia_format"}
    ours.modify(metadata=earlier)
    ours.add(ids=["x"], embeddings=[[0.1] * 512], metadatas=[{"data": "Forgotten", "user_id": "gaia:ada"}])
    client.create_collection("gaia-old", embedding_function=None).add(ids=["y"], embeddings=[[0.1]])
    async with open_memory(config_of(server, accept=True), home=tmp_path / "home") as gaia:
        await gaia.memory.settled()
        await gaia.memory.settled()
        facts = [fact.text for fact in await gaia.memory.facts(ada)]
        copies = await mem0_facts(gaia, "ada")
    left = client.get_collection("gaia-old", embedding_function=None).count()
    chroma_store._close(client)

    assert (facts, list(copies.values()), left) == (["Likes tea"], ["Likes tea"], 1)


@pytest.mark.slow
async def test_both_agree_after_any_order_of_writes(tmp_path: Path, server: dict[str, Any]) -> None:
    """Two sides add, change and delete at random; nothing is lost or doubled, and nothing forgotten is back."""
    chance, forgotten = random.Random(7), set[str]()
    async with open_memory(config_of(server, accept=True), home=tmp_path / "home") as gaia:
        ada = gaia.scope("ada")
        await gaia.memory.remember(ada, "Fact 0")
        await gaia.memory.settled()
        for number in range(1, 60):
            facts = await gaia.memory.facts(ada)
            one = chance.choice(facts)
            step = chance.randrange(5)
            if step == 0:
                await gaia.memory.remember(ada, f"Fact {number}")
            elif step == 1 and len(facts) > 3:
                forgotten.add(one.text)
                await gaia.memory.forget(ada, fact_id=one.id)
            elif step == 2:
                await gaia.memory.update(ada, one.id, text=f"Corrected {number}")
            else:
                await gaia.memory.settled()

                def act(memory: Any, step: int = step, number: int = number, fact_id: str = one.id) -> None:
                    if step == 3:
                        memory.add(f"Theirs {number}", user_id="gaia:ada", infer=False)
                    else:
                        memory.update(fact_id, text=f"Changed {number}")

                await by_another_program(gaia, act)
        await gaia.memory.settled()
        await gaia.memory.settled()
        ours = {fact.id: fact.text for fact in await gaia.memory.facts(ada)}
        theirs = await asyncio.to_thread(list_facts, gaia.mem0_config(), ada)

    assert ours == theirs
    assert len(set(ours.values())) == len(ours)
    assert not forgotten & set(ours.values())
