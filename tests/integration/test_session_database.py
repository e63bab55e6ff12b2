"""ADK's session tables are created once, whichever process comes first."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService
from sqlalchemy import text

from gaia_memory import open_memory
from gaia_memory.adk.sessions.session_service import RaceSafeSessionService
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.errors import MemoryUnavailable
from support.databases import memory_url, on_each_database


async def test_tables_half_created_by_another_process_are_waited_for(tmp_path: Path) -> None:
    """ADK creates the tables first and records their version a moment later."""
    engine = open_engine(f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")
    try:
        await DatabaseSessionService(db_engine=engine).prepare_tables()
        async with engine.begin() as connection:
            [version] = await connection.execute(text("SELECT key, value FROM adk_internal_metadata"))
            await connection.execute(text("DELETE FROM adk_internal_metadata"))
        late = RaceSafeSessionService(db_engine=engine)
        preparing = asyncio.create_task(late.create_session(app_name="app", user_id="u"))
        await asyncio.sleep(0.05)
        async with engine.begin() as connection:
            entered = {"key": version.key, "value": version.value}
            await connection.execute(text("INSERT INTO adk_internal_metadata VALUES (:key, :value)"), entered)
        session = await preparing
    finally:
        await engine.dispose()

    assert session.user_id == "u"


@on_each_database
async def test_tables_half_created_by_a_killed_process_are_completed(tmp_path: Path, kind: str) -> None:
    """ADK itself rejects such a database from then on; if that changes, our fix is not needed."""
    async with memory_url(kind, tmp_path) as url:
        engine = open_engine(url)
        try:
            before = DatabaseSessionService(db_engine=engine)
            await before.create_session(app_name="app", user_id="u", session_id="s")
            async with engine.begin() as connection:
                await connection.execute(text("DELETE FROM adk_internal_metadata"))
            with pytest.raises(ValueError, match="Schema version not found"):
                await DatabaseSessionService(db_engine=engine).prepare_tables()
            after = RaceSafeSessionService(db_engine=engine)
            session = await after.get_session(app_name="app", user_id="u", session_id="s")
            await DatabaseSessionService(db_engine=engine).prepare_tables()
        finally:
            await engine.dispose()

    assert session is not None


async def opened(home: Path, sessions: str | None = None) -> None:
    """Open memory over a session database, and close it."""
    settings: dict[str, Any] = {"memory": {"database_url": f"sqlite:///{home / 'memory.db'}"}}
    if sessions is not None:
        settings["sessions"] = {"database_url": sessions}
    async with open_memory(settings, home=home):
        pass


async def test_an_invalid_database_is_reported_on_opening(tmp_path: Path) -> None:
    """The message names the keys to check."""
    (tmp_path / "sessions.db").write_bytes(b"this is no database at all" * 100)

    with pytest.raises(MemoryUnavailable, match=r"DatabaseError.*sessions\.database_url"):
        await opened(tmp_path)


async def test_metadata_of_adk_without_a_version_is_reported_on_opening(tmp_path: Path) -> None:
    """ADK would refuse the first message."""
    engine = open_engine(f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")
    await DatabaseSessionService(db_engine=engine).prepare_tables()
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE adk_internal_metadata SET key = 'else'"))
    await engine.dispose()

    with pytest.raises(MemoryUnavailable, match=r"ValueError.*sessions\.database_url"):
        await opened(tmp_path)


async def test_a_place_where_no_database_can_be_created_is_reported_on_opening(tmp_path: Path) -> None:
    """Opening does not create the file yet, but still checks."""
    (tmp_path / "file").write_text("no folder")
    elsewhere = tmp_path / "new" / "folder" / "sessions.db"

    with pytest.raises(MemoryUnavailable, match=r"sessions\.database_url"):
        await opened(tmp_path / "home", f"sqlite:///{tmp_path / 'file' / 'sessions.db'}")
    with pytest.raises(MemoryUnavailable, match=r"sessions\.database_url"):
        await opened(tmp_path / "home", f"sqlite:///{tmp_path}")
    await opened(tmp_path / "home", f"sqlite:///{elsewhere}")

    assert elsewhere.parent.is_dir()
    assert not elsewhere.exists()


async def test_a_server_that_permits_no_table_creation_is_reported_on_opening(tmp_path: Path) -> None:
    """Opening only checks the permission: no tables are created before there are sessions."""
    async with memory_url("postgresql", tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        await opened(tmp_path / "home", address)
        server = open_engine(url)
        try:
            async with server.begin() as connection:
                made = await connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
                found = made.scalar_one()
                await connection.execute(text(f"ALTER DATABASE {url.database} SET default_transaction_read_only TO on"))
        finally:
            await server.dispose()
        with pytest.raises(MemoryUnavailable, match=r"PermissionError.*sessions\.database_url"):
            await opened(tmp_path / "home", address)

    assert found == 0
