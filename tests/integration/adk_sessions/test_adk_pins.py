"""What is private in ADK and used here: a test fails when it changed; sessions are read and deleted without it, too."""

from __future__ import annotations

import ast
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from google.adk.errors import session_not_found_error
from google.adk.events.event import Event
from google.adk.sessions import database_session_service, sqlite_session_service
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import gaia_memory
from gaia_memory.adk.sessions.event_pages import event_reader_for
from gaia_memory.adk.sessions.stale_session import update_marker
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.models import SessionKey
from support.hosts.session_services import APP, session_service

USED = {"_get_schema_classes", "_get_db_connection", "_get_service", "_storage_update_marker"}
KEY = SessionKey(APP, "itay", "s1")


def test_nothing_else_that_is_private_in_adk_is_used() -> None:
    """Whoever uses another name pins it here."""
    named: set[str] = set()
    for file in (Path(gaia_memory.__file__).parent / "adk").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                named.add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("attr"):
                named |= {part.value for part in node.args if isinstance(part, ast.Constant)}
    private = {name for name in named if isinstance(name, str) and name.startswith("_") and not name.endswith("__")}

    assert private - {"_service", "_app"} == USED


async def said(service: BaseSessionService) -> Session:
    """Make a session in which the person and the agent spoke once."""
    session = await service.create_session(app_name=APP, user_id="itay", session_id="s1")
    for author, role in [("user", "user"), ("root", "model")]:
        content = types.Content(role=role, parts=[types.Part(text=f"{author} speaks")])
        await service.append_event(session, Event(author=author, invocation_id="i1", content=content))
    return session


async def test_the_database_service_tells_its_tables(tmp_path: Path) -> None:
    """`_get_schema_classes`: those of version 1, which are read in pages."""
    async with session_service("database", tmp_path) as service:
        await service.prepare_tables()
        classes = service._get_schema_classes()
        assert classes.StorageEvent is StorageEvent, (
            "ADK's events are in another table: see adk/sessions/event_pages.py"
        )
        assert classes.StorageSession is StorageSession, (
            "ADK's sessions are in another table: see adk/sessions/compare_and_delete.py"
        )


async def test_the_sqlite_service_lends_its_connection(tmp_path: Path) -> None:
    """`_get_db_connection`: to a file with the columns that are asked for."""
    async with session_service("sqlite", tmp_path) as service:
        opened = service._get_db_connection()
        assert isinstance(opened, AbstractAsyncContextManager), "see SqliteEvents in adk/sessions/event_pages.py"
        async with opened as connection:
            rows = await connection.execute_fetchall("SELECT name FROM pragma_table_info('events')")
        expected = {"id", "app_name", "user_id", "session_id", "invocation_id", "timestamp", "event_data"}
        assert expected <= {row[0] for row in rows}, "ADK's events have other columns: see adk/sessions/event_pages.py"


async def test_the_service_of_adk_web_tells_which_keeps_an_apps_sessions(tmp_path: Path) -> None:
    """`_get_service`, in a class of a name that is known here."""
    async with session_service("per agent", tmp_path) as service:
        assert type(service).__name__ == "PerAgentDatabaseSessionService", (
            "see stands_for_many in adk/sessions/event_pages.py"
        )
        assert isinstance(await service._get_service(APP), SqliteSessionService), "see service_behind"


async def test_a_session_carries_the_marker_of_its_state(tmp_path: Path) -> None:
    """`_storage_update_marker`: it changes with each event, and is what the stored row says."""
    async with session_service("database", tmp_path) as service:
        made = await service.create_session(app_name=APP, user_id="itay", session_id="s1")
        first = made._storage_update_marker
        await service.append_event(made, Event(author="user", invocation_id="i1"))
        loaded = await service.get_session(app_name=APP, user_id="itay", session_id="s1")
        assert isinstance(first, str), "ADK marks its sessions otherwise: see adk/sessions/stale_session.py"
        assert first != made._storage_update_marker == loaded._storage_update_marker


def test_the_error_for_a_session_that_changed_is_known_by_its_name() -> None:
    """It is a ValueError in a private module; the one for a session that is gone is public."""
    for module in (database_session_service, sqlite_session_service):
        assert issubclass(module.StaleSessionError, ValueError), "see is_refusal in adk/sessions/stale_session.py"
        assert module.StaleSessionError.__name__ == "StaleSessionError"
    assert issubclass(session_not_found_error.SessionNotFoundError, Exception)


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("database", "_get_schema_classes"), ("sqlite", "_get_db_connection"), ("per agent", "_get_service")],
)
async def test_without_it_a_session_is_read_as_a_whole_and_deleted_by_adk(
    kind: str, missing: str, tmp_path: Path
) -> None:
    """As of any service that is not known: in a later version of ADK memory goes on."""
    async with session_service(kind, tmp_path) as service:
        await said(service)
        renamed = without(missing, service)
        assert await event_reader_for(renamed, APP) is None
        transcript = SessionTranscript(renamed, APP, clear_method="delete")
        talk = await transcript.read(KEY, after=None, turns_before=0)
        assert talk is not None
        texts = [message.text async for turn in talk.turns for message in turn.messages]
        is_cleared = await transcript.clear(talk, how="delete")
        left = await service.get_session(app_name=APP, user_id="itay", session_id="s1")

    assert (texts, is_cleared, left) == (["user speaks", "root speaks"], True, None)


def without(name: str, service: BaseSessionService) -> Any:
    """Return a service of the same kind in which a private name is another one; ADK itself goes on using it."""

    class Later(type(service)):
        """ADK's next version."""

        def __getattribute__(self, wanted: str) -> Any:
            if wanted == name and sys._getframe(1).f_globals["__name__"].startswith("gaia_memory"):
                raise AttributeError(wanted)
            return super().__getattribute__(wanted)

    Later.__name__ = type(service).__name__
    later = Later.__new__(Later)
    later.__dict__.update(service.__dict__)
    return later


async def test_without_a_marker_a_session_is_deleted_by_adk(tmp_path: Path) -> None:
    """The time it was last changed stays what tells whether a session is as it was."""
    async with session_service("database", tmp_path) as service:
        await said(service)
        transcript = SessionTranscript(service, APP, clear_method="delete")
        talk = await transcript.read(KEY, after=None, turns_before=0)
        assert talk is not None
        object.__setattr__(talk.host_session, "__pydantic_private__", {})
        assert update_marker(talk.host_session) is None
        assert await transcript.clear(talk, how="delete")
        assert await service.get_session(app_name=APP, user_id="itay", session_id="s1") is None
