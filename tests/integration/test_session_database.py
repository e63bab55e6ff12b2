"""ADK's session tables are made once, whoever comes first."""

import asyncio
from pathlib import Path

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import text

from gaia_memory.adk.session_database import prepare
from gaia_memory.database.engine import open_engine
from gaia_memory.errors import MemoryUnavailable
from support.truth import both_kinds, memory_url


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


@both_kinds
async def test_what_a_process_that_was_killed_has_half_done_is_finished(tmp_path: Path, kind: str) -> None:
    """ADK by itself refuses the database from then on; without that refusal nothing would be left to mend."""
    async with memory_url(kind, tmp_path) as url:
        engine = open_engine(url)
        try:
            before = DatabaseSessionService(db_engine=engine)
            await before.create_session(app_name="app", user_id="u", session_id="s")
            async with engine.begin() as connection:
                await connection.execute(text("DELETE FROM adk_internal_metadata"))
            with pytest.raises(ValueError, match="Schema version not found"):
                await DatabaseSessionService(db_engine=engine).prepare_tables()
            after = DatabaseSessionService(db_engine=engine)
            await prepare(after)
            session = await after.get_session(app_name="app", user_id="u", session_id="s")
            await DatabaseSessionService(db_engine=engine).prepare_tables()
        finally:
            await engine.dispose()

    assert session is not None


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
