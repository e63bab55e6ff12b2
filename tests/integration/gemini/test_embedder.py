"""The embedder in every scenario: no fact is delayed, no bad vector is stored, and the vectors follow later."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from support.servers.fake_gemini import Answer, Drop, Failure, Raw, Vectors, facts, invalid_key, proxy_page

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.models import Scope
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

DIMENSIONS = 64
IDENTITY = f"gemini/models/gemini-embedding-2/{DIMENSIONS}"
FACTS = ["likes green tea", "allergic to nuts", "owns a boat", "owns a bike", "has a dog"]


def each(vector: Callable[[list[float]], Any]) -> Vectors:
    """Return the answer in which every vector is changed by a function."""
    return Vectors(lambda vectors: [vector(made) for made in vectors])


BAD: dict[str, Answer] = {
    "429": Failure(429, 60),
    "503": Failure(503),
    "a wrong key": invalid_key(),
    "dropped": Drop("headers"),
    "dropped in the body": Drop("body"),
    "broken JSON": Raw('{"embeddings": [{"values": ['),
    "a proxy's page": proxy_page(),
    "an empty body": Raw(""),
    "one too few": Vectors(lambda vectors: vectors[1:]),
    "one too many": Vectors(lambda vectors: [*vectors, vectors[0]]),
    "too short": each(lambda vector: vector[:10]),
    "no number": each(lambda vector: [math.nan, *vector[1:]]),
    "infinite": each(lambda vector: [math.inf, *vector[1:]]),
    "a word": each(lambda vector: ["NaN", *vector[1:]]),
    "nothing in it": each(lambda vector: [None, *vector[1:]]),
    "empty": each(lambda vector: []),
    "zero": each(lambda vector: [0.0] * len(vector)),
}


@dataclass
class House:
    """One open memory with Gemini, except for the agent, which is offline."""

    gaia: Gaia
    agent: LlmAgent

    def scope(self, user: str) -> Scope:
        return self.gaia.scope(user_id=user)

    async def facts(self, user: str) -> list[str]:
        return [fact.text for fact in await self.gaia.memory.facts(self.scope(user))]

    async def lengths(self, user: str) -> list[float]:
        """Return the dimensions of the stored vectors."""
        memory = self.gaia.memory
        async with memory.stores.database.read_transaction() as tx:
            _, rows = await memory.stores.facts.vectors(tx, self.scope(user), IDENTITY)
        return [round(math.hypot(*map(float, row)), 4) for row in rows]


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[House]:
    settings: dict[str, Any] = {
        "home": str(home),
        "sessions": {"coalesce_seconds": 0},
        "memory": {"embedder": {"provider": "gemini", "embedding_dims": DIMENSIONS}},
    }
    async with open_memory(settings, home=home, model="offline") as gaia:
        yield House(gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help."))


@pytest.mark.slow
@pytest.mark.acceptance("R04")
async def test_in_every_scenario_facts_are_stored_and_found_and_their_vectors_follow(
    gemini: FakeGemini, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Remembered, added and learned facts; no bad vector is ever stored."""
    gemini.set_default("extractor", facts("has a dog"))
    users = {name: name.replace(" ", "-") for name in BAD}
    kept: dict[str, Any] = {}
    async with opened(tmp_path / "home") as house:
        memory = house.gaia.memory
        for user in users.values():
            await memory.remember(house.scope(user), "likes green tea")
        for name, user in users.items():
            gemini.recover("embedder", BAD[name])
            await memory.remember(house.scope(user), "allergic to nuts")
            await memory.add(house.scope(user), [NewFact("owns a boat"), NewFact("owns a bike")])
            talk = house.gaia.conversation(house.agent, user_id=user, channel="cli")
            await talk.send("I have a dog")
            cleared = (await talk.send("/reset")).text
            hits = await memory.recall(house.scope(user), "nuts")
            found = [(hit.fact.text, hit.missing) for hit in hits]
            kept[name] = (await house.facts(user), await house.lengths(user), found, "fresh start" in cleared)
        gemini.recover("embedder")
        await memory.settled()
        after = {name: await house.lengths(user) for name, user in users.items()}
        again = {name: (await memory.recall(house.scope(user), "nuts"))[0].missing for name, user in users.items()}
        state = await memory.status(house.scope("429"))

    assert kept == {name: (FACTS, [1.0], [("allergic to nuts", ("vectors",))], True) for name in BAD}
    assert after == {name: [1.0] * len(FACTS) for name in BAD}
    assert again == dict.fromkeys(BAD, ())
    assert (state.state, state.lag) == ("ok", 0)
    assert not [fact for fact in FACTS if fact in caplog.text]


@pytest.mark.acceptance("G09")
async def test_status_gives_the_reason_for_an_embedder_failure(gemini: FakeGemini, tmp_path: Path) -> None:
    """With a remedy, in a chat too, until it is resolved."""
    async with opened(tmp_path / "home") as house:
        memory, scope = house.gaia.memory, house.scope("ann")
        gemini.set_default("embedder", invalid_key())
        await memory.remember(scope, "allergic to nuts")
        talk = house.gaia.conversation(house.agent, user_id="ann", channel="cli")
        while not (status := await memory.status(scope)).reason:
            await house.gaia.memory.recall(scope, "nuts")
        listed = (await talk.send("/memory")).text
        gemini.recover("embedder")
        await memory.settled()
        again = (await talk.send("/memory")).text

    assert status.state == "degraded"
    assert f"the embedder {IDENTITY} refused the key (400): check it in the environment" in status.reason
    assert listed.splitlines()[1] == "1. allergic to nuts"
    assert f"There is a problem: {status.reason}; {status.remedy}" in listed
    assert again.splitlines()[1:] == ["1. allergic to nuts"]
