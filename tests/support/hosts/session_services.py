"""ADK's session services, each with its own storage, and sessions written to them at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
import pytest
from google.adk.cli.utils.local_storage import PerAgentDatabaseSessionService
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy.ext.asyncio import create_async_engine

from support.databases import memory_url
from support.hosts.session_history import append_events

APP = "app"
SERVICE_KINDS = ("memory", "sqlite", "per agent", "database", "postgresql")

_INSERT = (
    "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


@asynccontextmanager
async def session_service(kind: str, folder: Path) -> AsyncIterator[BaseSessionService]:
    """Yield a session service of a kind; "database" is ADK's over a SQLite file, "per agent" that of `adk web`."""
    if kind == "memory":
        yield InMemorySessionService()
    elif kind == "sqlite":
        yield SqliteSessionService(str(folder / "sqlite.db"))
    elif kind == "per agent":
        await asyncio.to_thread((folder / APP).mkdir, exist_ok=True)
        yield PerAgentDatabaseSessionService(agents_root=folder)
    else:
        async with memory_url("sqlite" if kind == "database" else kind, folder) as url:
            engine = create_async_engine(url)
            yield DatabaseSessionService(db_engine=engine)
            await engine.dispose()


@pytest.fixture(params=["database", "sqlite", "memory"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseSessionService]:
    """Yield each of ADK's three session services."""
    async with session_service(request.param, tmp_path) as opened:
        yield opened


async def append_to_session(service: BaseSessionService, session: Session, events: Sequence[Event]) -> None:
    """Append messages of any number of writers to a session, in this order and as the service would store them."""
    if isinstance(service, DatabaseSessionService):
        session_arguments = {"app": session.app_name, "user": session.user_id, "session_id": session.id}
        await append_events(service.db_engine, **session_arguments, events=events)
    elif isinstance(service, InMemorySessionService):
        for event in events:
            await service.append_event(session, event)
    else:
        await _append_to_file(service, session, events)


async def _append_to_file(service: BaseSessionService, session: Session, events: Sequence[Event]) -> None:
    if isinstance(service, PerAgentDatabaseSessionService):
        service = await service._get_service(session.app_name)
    assert isinstance(service, SqliteSessionService)
    identifiers = (session.app_name, session.user_id, session.id)
    rows = [
        (event.id, *identifiers, event.invocation_id, event.timestamp, event.model_dump_json(exclude_none=True))
        for event in events
    ]
    async with aiosqlite.connect(service._db_path) as file:
        await file.executemany(_INSERT, rows)
        await file.commit()
