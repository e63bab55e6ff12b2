"""Conversations of any length with long tool output, and an engine that learns them without storing their text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types
from sqlalchemy.ext.asyncio import AsyncEngine

from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.models import Chunk, ExtractedFact, SessionKey
from gaia_memory.ports import AnswerCheck
from support.databases import memory_url
from support.hosts.session_history import append_events, sentences

APP = "app"
START = 1_700_000_000.0
_TURNS_PER_BATCH = 250


def session_key(turns: int) -> SessionKey:
    """Return the session of a conversation with this many turns."""
    return SessionKey(APP, "itay", f"of {turns} turns")


def turn_events(n: int, *, output_characters: int) -> Iterator[Event]:
    """Yield the four events of a turn whose tool answers with `output_characters` characters."""
    call = types.FunctionCall(id=f"call-{n}", name="look_up", args={"topic": sentences(n, 60)})
    found = types.FunctionResponse(id=f"call-{n}", name="look_up", response={"found": sentences(n, output_characters)})
    contents = (
        ("user", types.Content(role="user", parts=[types.Part(text=f"Question {n}: {sentences(n, 250)}")])),
        ("root", types.Content(role="model", parts=[types.Part(function_call=call)])),
        ("root", types.Content(role="user", parts=[types.Part(function_response=found)])),
        ("root", types.Content(role="model", parts=[types.Part(text=f"Answer {n}: {sentences(n, 350)}")])),
    )
    for index, (author, content) in enumerate(contents):
        yield Event(invocation_id=f"e-{n}", author=author, content=content, timestamp=START + n * 5 + index)


async def store_conversation(engine: AsyncEngine, turns: int, *, output_characters: int = 3_000) -> None:
    """Create the session with this many turns."""
    key = session_key(turns)
    service = DatabaseSessionService(db_engine=engine)
    await service.create_session(app_name=key.app, user_id=key.user, session_id=key.session)
    for start in range(0, turns, _TURNS_PER_BATCH):
        numbers = range(start, min(turns, start + _TURNS_PER_BATCH))
        events = [event for n in numbers for event in turn_events(n, output_characters=output_characters)]
        await append_events(engine, app=key.app, user=key.user, session_id=key.session, events=events)


@dataclass
class CountingExtractor:
    """Finds one fact in each chunk, and records the turns of the chunk as a count and two sums."""

    turns: int = 0
    seq_sum: int = 0
    seq_square_sum: int = 0
    max_chunk_characters: int = field(default=0)

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        self.turns += len(chunk.turns)
        self.seq_sum += sum(turn.seq for turn in chunk.turns)
        self.seq_square_sum += sum(turn.seq**2 for turn in chunk.turns)
        self.max_chunk_characters = max(self.max_chunk_characters, sum(len(message.text) for message in chunk.messages))
        return [ExtractedFact(text=f"Itay asked question {chunk.turns[0].seq}")]

    def has_seen_each_turn_once(self, turns: int) -> bool:
        """Say whether each of this many turns was in exactly one request."""
        every = range(1, turns + 1)
        return (self.turns, self.seq_sum, self.seq_square_sum) == (turns, sum(every), sum(seq**2 for seq in every))


@asynccontextmanager
async def learning_engine(kind: str, folder: Path) -> AsyncIterator[Engine]:
    """Open an engine on a session database of this kind, with ADK's tables in it."""
    async with memory_url(kind, folder) as url:
        # The driver keeps a hundred statements of each connection, whose lists of ids have many lengths.
        uncached = url.update_query_dict({"prepared_statement_cache_size": "0"})
        sessions = uncached.render_as_string(hide_password=False)
        if kind == "sqlite":
            sessions = f"sqlite+aiosqlite:///{folder / 'sessions.db'}"
        settings = {"app": APP, "sessions": {"database_url": sessions}}
        engine = await Engine.open(await asyncio.to_thread(load, settings, home=folder / "gaia"))
        try:
            await DatabaseSessionService(db_engine=engine.sessions_engine()).prepare_tables()
            yield engine
        finally:
            await engine.close()
