"""Talks of any length with long tool output, and an engine that learns them and remembers nothing of them itself."""

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
from gaia_memory.models import Chunk, Extracted, SessionKey
from support.session_history import append_all, sentences
from support.truth import memory_url

APP = "app"
START = 1_700_000_000.0
_TURNS_AT_ONCE = 250


def key_of(turns: int) -> SessionKey:
    """Return the session that holds a talk of so many turns."""
    return SessionKey(APP, "itay", f"of {turns} turns")


def turn(n: int, *, output: int) -> Iterator[Event]:
    """Yield the four events of a turn whose tool answers with `output` characters."""
    call = types.FunctionCall(id=f"call-{n}", name="look_up", args={"topic": sentences(n, 60)})
    found = types.FunctionResponse(id=f"call-{n}", name="look_up", response={"found": sentences(n, output)})
    spoken = (
        ("user", types.Content(role="user", parts=[types.Part(text=f"Question {n}: {sentences(n, 250)}")])),
        ("root", types.Content(role="model", parts=[types.Part(function_call=call)])),
        ("root", types.Content(role="user", parts=[types.Part(function_response=found)])),
        ("root", types.Content(role="model", parts=[types.Part(text=f"Answer {n}: {sentences(n, 350)}")])),
    )
    for place, (author, content) in enumerate(spoken):
        yield Event(invocation_id=f"e-{n}", author=author, content=content, timestamp=START + n * 5 + place)


async def store(engine: AsyncEngine, turns: int, *, output: int = 3_000) -> None:
    """Make the session of so many turns."""
    key = key_of(turns)
    service = DatabaseSessionService(db_engine=engine)
    await service.create_session(app_name=key.app, user_id=key.user, session_id=key.session)
    for start in range(0, turns, _TURNS_AT_ONCE):
        numbers = range(start, min(turns, start + _TURNS_AT_ONCE))
        events = [event for n in numbers for event in turn(n, output=output)]
        await append_all(engine, app=key.app, user=key.user, session_id=key.session, events=events)


@dataclass
class CountingExtractor:
    """Finds one fact in each chunk, and keeps of it only which turns it held, as a count and two sums."""

    turns: int = 0
    seqs: int = 0
    squares: int = 0
    longest: int = field(default=0)

    async def extract(self, chunk: Chunk, *, instructions: str) -> list[Extracted]:
        self.turns += len(chunk.turns)
        self.seqs += sum(turn.seq for turn in chunk.turns)
        self.squares += sum(turn.seq**2 for turn in chunk.turns)
        self.longest = max(self.longest, sum(len(message.text) for message in chunk.messages))
        return [Extracted(text=f"Itay asked question {chunk.turns[0].seq}")]

    def has_had_each_of(self, turns: int) -> bool:
        """Say whether it was asked for each of so many turns once."""
        every = range(1, turns + 1)
        return (self.turns, self.seqs, self.squares) == (turns, sum(every), sum(seq**2 for seq in every))


@asynccontextmanager
async def learning_engine(kind: str, folder: Path) -> AsyncIterator[Engine]:
    """Open an engine whose sessions are in a database of this kind, with ADK's tables in it."""
    async with memory_url(kind, folder) as url:
        sessions = url.render_as_string(hide_password=False)
        if kind == "sqlite":
            sessions = f"sqlite+aiosqlite:///{folder / 'sessions.db'}"
        settings = {"app": APP, "sessions": {"database_url": sessions}}
        engine = await Engine.open(await asyncio.to_thread(load, settings, home=folder / "gaia"))
        try:
            await DatabaseSessionService(db_engine=engine.sessions_engine()).prepare_tables()
            yield engine
        finally:
            await engine.close()
