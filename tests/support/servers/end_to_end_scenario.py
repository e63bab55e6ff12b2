"""One user's path through memory on a model server: chat, learn, recall, forget, with real parts only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from support.harness import facts
from support.servers.fake_openai import call
from support.storage.plain_mem0 import find_facts, mem0_facts

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_openai import FakeOpenAI

USER = "ada"


@asynccontextmanager
async def open_memory_with_agent(home: Path, settings: Mapping[str, Any]) -> AsyncIterator[tuple[Gaia, LlmAgent]]:
    """Open memory as a host does, with an agent on the configured model."""
    source = {"home": str(home), "sessions": {"coalesce_seconds": 0}, **settings}
    async with open_memory(source) as gaia:
        yield gaia, LlmAgent(name="assistant", model=gaia.model, instruction="Help.")


async def run_scenario(server: FakeOpenAI, home: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Chat, learn, chat again with a profile and a recall, inspect everything, forget; return the observations."""
    server.add("agent", "Nice to meet you.", call("load_memory", query="sister"), "Her name is Noa.")
    server.add("extractor", facts("User is allergic to nuts", "User's sister is called Noa"))
    server.set_default("profile", "- Has a sister called Noa")
    async with open_memory_with_agent(home, settings) as (gaia, agent):
        scope = gaia.scope(USER)
        first = await gaia.conversation(agent, user_id=USER, channel="cli").send("My sister is Noa. No nuts for me.")
        report = await gaia.sweep(force=True)
        pieces = [piece async for piece in gaia.conversation(agent, user_id=USER, channel="web").stream("my sister?")]
        hits = await gaia.memory.recall(scope, "sister")
        await gaia.memory.settled()
        plain = None
        if server.takes_dimensions:  # mem0 sends the configured length of vectors to a server that refuses it, too.
            plain = (await asyncio.to_thread(find_facts, gaia.mem0_config(), scope, "sister"))[0]
        status = await gaia.memory.status(scope)
        texts = [fact.text for fact in await gaia.memory.facts(scope)]
        receipt = await gaia.memory.forget(scope)
        await gaia.memory.settled()
        left = await mem0_facts(gaia, scope)
    return {
        "replies": [first.text, "".join(pieces)],
        "report": (report.consolidated, report.failed),
        "best": (hits[0].fact.text, hits[0].missing, "vectors" in hits[0].why),
        "plain": plain,
        "status": (status.state, status.embedder),
        "facts": texts,
        "forgotten": receipt.count,
        "left": list(left),
    }


def expected_results(embedder: str) -> dict[str, Any]:
    """Return the observations of a correct run, with an embedder of this identity."""
    return {
        "replies": ["Nice to meet you.", "Her name is Noa."],
        "report": (1, 0),
        "best": ("User's sister is called Noa", (), True),
        "plain": "User's sister is called Noa",
        "status": ("ok", embedder),
        "facts": ["User is allergic to nuts", "User's sister is called Noa"],
        "forgotten": 2,
        "left": [],
    }
