"""Each clear mode in each session service of ADK: what remains, and that the conversation continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.cli.utils.local_storage import PerAgentDatabaseSessionService
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from gaia_memory.engine import Engine
from gaia_memory.ledger.tables import conversations
from support.hosts.session_service_host import open_session_service_host
from support.hosts.session_services import APP, SERVICE_KINDS

DAY = 24 * 3600.0


@pytest.fixture(autouse=True)
def manual_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep only when a test asks for it."""
    monkeypatch.setattr(Engine, "start", lambda *_, **__: None)


@pytest.mark.parametrize("kind", SERVICE_KINDS)
@pytest.mark.parametrize(
    ("clear", "left", "holds"),
    [
        ("keep", ["one", "re one"], ["one", "re one"]),
        ("rewind", ["one", "re one"], []),
        ("auto", ["one", "re one"], ["one", "re one"]),
        ("delete", None, None),
    ],
)
async def test_each_clear_mode_leaves_the_documented_events_and_the_conversation_continues(
    kind: str, clear: str, left: list[str] | None, holds: list[str] | None, tmp_path: Path, monkeypatch: Any
) -> None:
    """This works with a session loaded before the clear and with a new one; nothing is learned twice."""
    async with open_session_service_host(kind, tmp_path, clear=clear) as host:
        await host.send("one")
        before = await host.load_session()
        assert before is not None
        first = await host.engine.sweep(force=True)

        assert (first.consolidated, first.failed) == (1, 0)
        assert await host.texts(live=False) == left
        assert await host.texts(live=True) == holds
        assert left is not None or await _rows(host.service) == (0, 0)

        is_kept = clear in ("auto", "keep")
        kept = left if is_kept else []
        assert await host.send_in_loaded_session(before, "two", monkeypatch) == "re two"
        assert host.last_prompt_lines == [*kept, "two"]

        await host.engine.sweep(force=True)
        kept = [*kept, "two", "re two"] if is_kept else []
        assert await host.send("three") == "re three"
        assert host.last_prompt_lines == [*kept, "three"]
        assert await host.texts(live=True) == [*kept, "three", "re three"]

        await host.engine.sweep(force=True)
        again = await host.engine.sweep(force=True)
        assert again.consolidated == 0
        assert host.learned_texts == ["one", "two", "three"]


@pytest.mark.parametrize("kind", SERVICE_KINDS)
async def test_a_session_rewound_long_ago_is_deleted_from_adks_tables(kind: str, tmp_path: Path) -> None:
    """It is not deleted early, no row of it is left, and other sessions stay."""
    async with open_session_service_host(kind, tmp_path, clear="rewind", retain_days=30) as host:
        await host.send("one")
        await host.engine.sweep(force=True)
        await _cleared_earlier(host.engine, by=29 * DAY)
        await host.engine.sweep()
        early = await _rows(host.service)
        await _cleared_earlier(host.engine, by=2 * DAY)
        await host.send("meanwhile", session="s2")
        await host.engine.sweep()
        late = await _rows(host.service)

        assert early == (1, 3)
        assert late == (1, 2)
        assert await host.load_session() is None
        assert await host.send("two") == "re two"
        assert host.last_prompt_lines == ["two"]
        await host.engine.sweep(force=True)
        assert sorted(host.learned_texts) == ["meanwhile", "one", "two"]


async def _cleared_earlier(engine: Engine, *, by: float) -> None:
    """Make the last turns and clears of all sessions older by some seconds."""
    earlier = {name: conversations.c[name] - by for name in ("cleared_at", "touched")}
    async with engine.database.transaction() as tx:
        await tx.execute(update(conversations).values(earlier))


async def _rows(service: BaseSessionService) -> tuple[int, int]:
    """Return how many sessions and events are stored, in any service."""
    if isinstance(service, PerAgentDatabaseSessionService):
        service = await service._get_service(APP)
    if isinstance(service, InMemorySessionService):
        sessions = [each for users in service.sessions.values() for its in users.values() for each in its.values()]
        return len(sessions), sum(len(session.events) for session in sessions)
    if isinstance(service, DatabaseSessionService):
        return await _rows_in(service.db_engine)
    assert isinstance(service, SqliteSessionService)
    engine = create_async_engine(f"sqlite+aiosqlite:///{service._db_path}")
    try:
        return await _rows_in(engine)
    finally:
        await engine.dispose()


async def _rows_in(engine: AsyncEngine) -> tuple[int, int]:
    async with engine.connect() as connection:
        counts = [await connection.scalar(text(f"SELECT count(*) FROM {table}")) for table in ("sessions", "events")]
    return counts[0] or 0, counts[1] or 0
