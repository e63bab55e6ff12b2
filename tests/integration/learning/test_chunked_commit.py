"""A long conversation is committed chunk by chunk: after a failure, learning resumes as if nothing had happened."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.engine import Engine
from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS
from gaia_memory.models import Chunk, EventPosition, ExtractedFact, Scope, SessionKey
from gaia_memory.ports import AnswerCheck
from support.databases import on_each_database
from support.hosts.session_history import append_events, sentences
from support.oracles.long_conversations import APP, START, learning_engine, session_key
from support.plugin_host import set_extractor

SCOPE = Scope(APP, "itay")


class Extractor:
    """Finds a unique fact in each chunk, and fails on the request with a given number."""

    def __init__(self, *, breaks_at: int = 0) -> None:
        self.asked: list[Chunk] = []
        self._breaks_at = breaks_at

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        self.asked.append(chunk)
        if len(self.asked) == self._breaks_at:
            raise OSError("broke off")
        return [ExtractedFact(text=f"Itay said {chunk.messages[0].text[:40]}")]

    def told(self) -> list[tuple[list[str], list[str]]]:
        """Return the texts of each chunk and its context."""
        return [([said.text for said in one.messages], [said.text for said in one.before]) for one in self.asked]


@asynccontextmanager
async def started(engine: Engine, extractor: Extractor) -> AsyncIterator[Engine]:
    """Start again over the same databases, with this extractor."""
    again = await Engine.open(engine.loaded)
    try:
        service = DatabaseSessionService(db_engine=again.sessions_engine())
        again.attach_transcript(APP, SessionTranscript(service, APP, clear_method="keep"))
        set_extractor(again, extractor)
        yield again
    finally:
        await again.close()


async def learned(engine: Engine, key: SessionKey, extractor: Extractor) -> str:
    async with started(engine, extractor) as again:
        return await again.consolidate(key)


async def state(engine: Engine, key: SessionKey) -> tuple[EventPosition | None, list[str]]:
    """Return the position up to which a conversation is learned, and all facts."""
    row = await engine.conversations.row(key)
    return row and row.progress.watermark, sorted(fact.text for fact in await engine.memory.facts(SCOPE))


@on_each_database
async def test_a_turn_split_into_chunks_is_committed_with_its_last_chunk(tmp_path: Path, kind: str) -> None:
    """A failure between two of them leaves nothing behind; afterwards each is learned once."""
    key = session_key(1)
    said = types.UserContent(sentences(1, 2 * MAX_CHUNK_CHARACTERS + 500))
    async with learning_engine(kind, tmp_path) as engine:
        service = DatabaseSessionService(db_engine=engine.sessions_engine())
        await service.create_session(app_name=key.app, user_id=key.user, session_id=key.session)
        event = Event(author="user", invocation_id="i1", content=said, timestamp=START)
        place = {"app": key.app, "user": key.user, "session_id": key.session}
        await append_events(engine.sessions_engine(), **place, events=[event])
        first, second = Extractor(breaks_at=2), Extractor()
        assert await learned(engine, key, first) == "failed"
        assert await state(engine, key) == (None, [])
        assert await learned(engine, key, second) == "learned"
        mark, facts = await state(engine, key)

    assert mark == EventPosition(event.timestamp, event.id)
    assert len(facts) == len(second.asked) == 3
    assert "".join(text for texts, _ in second.told() for text in texts) == said.parts[0].text
