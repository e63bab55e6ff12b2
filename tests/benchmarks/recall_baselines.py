"""The baselines: each contains the same texts and answers with memories of the conversation."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.genai import types

from benchmarks.recall_data import Conversation

MAX_RESULTS = 20
"""How many memories a system is asked for at most."""

MEM0, ADK_MEMORY, ADK_SQLITE, BM25 = "mem0", "adk-memory", "adk-sqlite", "bm25"
SAMPLE_SIZE = 50
"""Memories for which mem0's own `add(infer=False)` is timed; it takes tens of milliseconds for each."""

_APP = "recall"
_MEMORIES_PER_BATCH = 500

Search = Callable[[str], Awaitable[list[set[str]]]]
"""From a question to what each of the first `MAX_RESULTS` memories holds of the conversation, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledSystem:
    """A system filled with every conversation: a search for each, by name, and memories written per second."""

    searches: Mapping[str, Search]
    rate: float


Fill = Callable[[Sequence[Conversation], Mapping[str, Any], Path], AbstractAsyncContextManager[FilledSystem]]
"""Fills a system in a folder; the mapping is the section `memory.embedder` of ours."""


@asynccontextmanager
async def mem0_with_chroma(
    talks: Sequence[Conversation], embedder: Mapping[str, Any], folder: Path
) -> AsyncIterator[FilledSystem]:
    """Fill mem0 over a Chroma collection that it creates itself, with our embedder.

    The memories go in bulk through its vector store, in the form in which `add(infer=False)` writes them; the rate is
    that of `add(infer=False)` for a sample of them.
    """
    from gaia_memory.backend.builder import Backend
    from gaia_memory.config.sources.load import load
    from support.storage.plain_mem0 import open_mem0

    settings = {"memory": {"llm": {"provider": "offline"}, "embedder": embedder}}
    backend = Backend(load(settings, home=folder).config)
    await backend.pools.store.run(backend.load)

    def opened(name: str) -> Any:
        return open_mem0(backend.mem0_config(folder / name))

    def sampled() -> float:
        texts = [fact.text for fact, _ in talks[0].memories[:SAMPLE_SIZE]]
        with closing(opened("sample")) as memory:
            memory.embedding_model.embed("warm up", "add")
            begun = time.perf_counter()
            for text in texts:
                memory.add(text, user_id="sample", infer=False)
            return len(texts) / (time.perf_counter() - begun)

    def filled() -> Any:
        memory = opened("store")
        for talk in talks:
            for start in range(0, len(talk.memories), _MEMORIES_PER_BATCH):
                texts = [fact.text for fact, _ in talk.memories[start : start + _MEMORIES_PER_BATCH]]
                memory.vector_store.insert(
                    vectors=memory.embedding_model.embed_batch(texts, "add"),
                    ids=[f"{talk.name}-{start + place}" for place in range(len(texts))],
                    payloads=[{"data": text, "user_id": talk.name, "hash": f"{hash(text):x}"} for text in texts],
                )
        return memory

    rate = await backend.pools.store.run(sampled)
    with closing(await backend.pools.store.run(filled)) as memory:
        yield FilledSystem(searches={talk.name: _mem0_search(memory, talk) for talk in talks}, rate=rate)
    await backend.close()


def _mem0_search(memory: Any, talk: Conversation) -> Search:
    held = {f"{talk.name}-{place}": turns for place, (_, turns) in enumerate(talk.memories)}

    async def search(question: str) -> list[set[str]]:
        # Its own threads would add to what it takes: nothing else runs meanwhile.
        found = memory.search(question, filters={"user_id": talk.name}, top_k=MAX_RESULTS)["results"]
        return [held[each["id"]] for each in found]

    return search


@asynccontextmanager
async def adk_in_memory(
    talks: Sequence[Conversation], _: Mapping[str, Any], folder: Path
) -> AsyncIterator[FilledSystem]:
    """Fill ADK's in-memory service. It returns at most ten memories."""
    from google.adk.memory import InMemoryMemoryService

    del folder
    yield await _fill_service(InMemoryMemoryService(), talks)


@asynccontextmanager
async def adk_sqlite(talks: Sequence[Conversation], _: Mapping[str, Any], folder: Path) -> AsyncIterator[FilledSystem]:
    """Fill ADK's service over SQLite."""
    from google.adk.memory import SqliteMemoryService

    service = SqliteMemoryService(folder / "adk.db")
    try:
        yield await _fill_service(service, talks)
    finally:
        await service.close()


async def _fill_service(service: BaseMemoryService, talks: Sequence[Conversation]) -> FilledSystem:
    written, begun = 0, time.perf_counter()
    for talk in talks:
        for session, events in _events_by_session(talk).items():
            await service.add_events_to_memory(app_name=_APP, user_id=talk.name, session_id=session, events=events)
            written += len(events)
    seconds = time.perf_counter() - begun
    return FilledSystem(searches={talk.name: _service_search(service, talk) for talk in talks}, rate=written / seconds)


def _events_by_session(talk: Conversation) -> dict[str, list[Event]]:
    sessions: dict[str, list[Event]] = {}
    for place, (fact, _) in enumerate(talk.memories):
        event = Event(
            id=str(place),
            author="user",
            content=types.Content(role="user", parts=[types.Part(text=fact.text)]),
            timestamp=fact.said_at.timestamp() if fact.said_at else 0.0,
        )
        sessions.setdefault(fact.session_id or "", []).append(event)
    return sessions


def _service_search(service: BaseMemoryService, talk: Conversation) -> Search:
    async def search(question: str) -> list[set[str]]:
        found = await service.search_memory(app_name=_APP, user_id=talk.name, query=question)
        places = [each.custom_metadata.get("event_id", each.id) for each in found.memories[:MAX_RESULTS]]
        return [talk.memories[int(str(place))][1] for place in places]

    return search


@asynccontextmanager
async def bm25(talks: Sequence[Conversation], _: Mapping[str, Any], folder: Path) -> AsyncIterator[FilledSystem]:
    """Fill SQLite's full-text index with Porter stemming; any word of the question matches."""
    with closing(sqlite3.connect(folder / "bm25.db")) as database:
        begun, written = time.perf_counter(), 0
        for number, talk in enumerate(talks):
            database.execute(f"CREATE VIRTUAL TABLE said_{number} USING fts5(text, tokenize='porter unicode61')")
            database.executemany(
                f"INSERT INTO said_{number} VALUES (?)",
                [(fact.text,) for fact, _ in talk.memories],
            )
            database.commit()
            written += len(talk.memories)
        rate = written / (time.perf_counter() - begun)
        searches = {talk.name: _index_search(database, number, talk) for number, talk in enumerate(talks)}
        yield FilledSystem(searches=searches, rate=rate)


def _index_search(database: sqlite3.Connection, number: int, talk: Conversation) -> Search:
    statement = f"SELECT rowid FROM said_{number} WHERE said_{number} MATCH ? ORDER BY rank LIMIT ?"

    async def search(question: str) -> list[set[str]]:
        words = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
        return [talk.memories[row - 1][1] for (row,) in database.execute(statement, (words, MAX_RESULTS))]

    return search


BASELINES: Mapping[str, tuple[str, Fill]] = {
    MEM0: ("mem0 + Chroma", mem0_with_chroma),
    ADK_MEMORY: ("ADK in-memory service", adk_in_memory),
    ADK_SQLITE: ("ADK SQLite service", adk_sqlite),
    BM25: ("BM25 (FTS5 porter)", bm25),
}
"""By the name given on the command line: the name in the table, and how to fill it."""
