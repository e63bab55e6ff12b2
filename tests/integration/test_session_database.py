"""ADK's session tables are made once, whoever comes first."""

import asyncio
from pathlib import Path

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import text

from gaia_memory.adk.session_database import prepare
from gaia_memory.database.engine import open_engine
from gaia_memory.errors import MemoryUnavailable


async def test_what_another_process_has_half_done_is_waited_for(tmp_path: Path) -> None:
    """ADK makes the tables first and enters their version a moment later."""
    engine = open_engine(f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")
    try:
        await DatabaseSessionService(db_engine=engine).prepare_tables()
        async with engine.begin() as connection:
            [version] = await connection.execute(text("SELECT key, value FROM adk_internal_metadata"))
            await connection.execute(text("DELETE FROM adk_internal_metadata"))
        late = DatabaseSessionService(db_engine=engine)
        preparing = asyncio.create_task(prepare(late))
        await asyncio.sleep(0.05)
        async with engine.begin() as connection:
            entered = {"key": version.key, "value": version.value}
            await connection.execute(text("INSERT INTO adk_internal_metadata VALUES (:key, :value)"), entered)
        await preparing
        session = await late.create_session(app_name="app", user_id="u")
    finally:
        await engine.dispose()

    assert session.user_id == "u"


async def test_a_database_that_is_none_is_told_at_once(tmp_path: Path) -> None:
    """The message names the keys to look at."""
    path = tmp_path / "sessions.db"
    path.write_bytes(b"this is no database at all" * 100)
    engine = open_engine(f"sqlite+aiosqlite:///{path}")
    try:
        with pytest.raises(MemoryUnavailable, match=r"sessions\.database_url"):
            await prepare(DatabaseSessionService(db_engine=engine))
    finally:
        await engine.dispose()
