"""Private names of ADK in use: a test fails if one changes; sessions are then still read and deleted without it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

from google.adk.errors import session_not_found_error
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.sessions import database_session_service, sqlite_session_service
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.schemas.v1 import StorageEvent, StorageSession
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import gaia_memory
from gaia_memory.adk.sessions.stale_session import update_marker
from gaia_memory.adk.sessions.transcript import SessionTranscript, engine_of_known_tables
from gaia_memory.models import SessionKey
from support.hosts.session_services import APP, session_service

USED = {
    "_get_schema_classes",
    "_storage_update_marker",
    "_time_provider_context_var",
}
KEY = SessionKey(APP, "itay", "s1")


def test_no_other_private_name_of_adk_is_used() -> None:
    """Pin any further name here."""
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
    """Create a session with one message of the user and one of the agent."""
    session = await service.create_session(app_name=APP, user_id="itay", session_id="s1")
    for author, role in [("user", "user"), ("root", "model")]:
        content = types.Content(role=role, parts=[types.Part(text=f"{author} speaks")])
        await service.append_event(session, Event(author=author, invocation_id="i1", content=content))
    return session


async def test_the_database_service_reveals_its_tables(tmp_path: Path) -> None:
    """`_get_schema_classes` returns those of version 1, which are read in pages."""
    async with session_service("database", tmp_path) as service:
        await service.prepare_tables()
        classes = service._get_schema_classes()
        assert classes.StorageEvent is StorageEvent, "ADK's events are in another table: see adk/sessions/transcript.py"
        assert classes.StorageSession is StorageSession, (
            "ADK's sessions are in another table: see adk/sessions/transcript.py"
        )


async def test_the_service_of_adk_web_is_known_by_its_name(tmp_path: Path) -> None:
    """Its turns wait for each other, because the SQLite services behind it reject a session that changed."""
    async with session_service("per agent", tmp_path) as service:
        assert type(service).__name__ == "PerAgentDatabaseSessionService", "see adk/sessions/stale_session.py"
        assert isinstance(await service._get_service(APP), SqliteSessionService)


def test_the_clock_of_adk_is_the_one_that_was_set() -> None:
    """`_time_provider_context_var`: there is no public way to read it."""
    platform_time.set_time_provider(lambda: 7.0)
    try:
        assert platform_time._time_provider_context_var.get()() == 7.0, "see adk/plugins/run_events.py"
    finally:
        platform_time.reset_time_provider()


async def test_a_session_carries_the_marker_of_its_stored_state(tmp_path: Path) -> None:
    """`_storage_update_marker` changes with each event and equals that of the stored row."""
    async with session_service("database", tmp_path) as service:
        made = await service.create_session(app_name=APP, user_id="itay", session_id="s1")
        first = made._storage_update_marker
        await service.append_event(made, Event(author="user", invocation_id="i1"))
        loaded = await service.get_session(app_name=APP, user_id="itay", session_id="s1")
        assert isinstance(first, str), "ADK marks its sessions otherwise: see adk/sessions/stale_session.py"
        assert first != made._storage_update_marker == loaded._storage_update_marker


def test_the_stale_session_error_is_recognized_by_its_name() -> None:
    """It is a ValueError in a private module; the error for a missing session is public."""
    for module in (database_session_service, sqlite_session_service):
        assert issubclass(module.StaleSessionError, ValueError), "see is_refusal in adk/sessions/stale_session.py"
        assert module.StaleSessionError.__name__ == "StaleSessionError"
    assert issubclass(session_not_found_error.SessionNotFoundError, Exception)


async def test_without_a_private_name_a_session_is_read_whole_and_deleted_by_adk(tmp_path: Path) -> None:
    """As for any unknown service, so that memory keeps working with a later version of ADK."""
    async with session_service("database", tmp_path) as service:
        await said(service)
        renamed = without("_get_schema_classes", service)
        assert await engine_of_known_tables(renamed, "get_session") is None
        transcript = SessionTranscript(renamed, APP, clear_method="delete")
        talk = await transcript.read(KEY, after=None, turns_before=0)
        assert talk is not None
        texts = [message.text async for turn in talk.turns for message in turn.messages]
        is_cleared = await transcript.clear(talk, how="delete")
        left = await service.get_session(app_name=APP, user_id="itay", session_id="s1")

    assert (texts, is_cleared, left) == (["user speaks", "root speaks"], True, None)


def without(name: str, service: BaseSessionService) -> Any:
    """Return the same service without one private name for our code; ADK itself continues to use it."""

    class Later(type(service)):
        """A later version of ADK."""

        def __getattribute__(self, wanted: str) -> Any:
            if wanted == name and sys._getframe(1).f_globals["__name__"].startswith("gaia_memory"):
                raise AttributeError(wanted)
            return super().__getattribute__(wanted)

    Later.__name__ = type(service).__name__
    later = Later.__new__(Later)
    later.__dict__.update(service.__dict__)
    return later


async def test_without_a_marker_a_session_is_deleted_by_adk(tmp_path: Path) -> None:
    """Its last update time still shows whether a session has changed."""
    async with session_service("database", tmp_path) as service:
        await said(service)
        transcript = SessionTranscript(service, APP, clear_method="delete")
        talk = await transcript.read(KEY, after=None, turns_before=0)
        assert talk is not None
        object.__setattr__(talk.host_session, "__pydantic_private__", {})
        assert update_marker(talk.host_session) is None
        assert await transcript.clear(talk, how="delete")
        assert await service.get_session(app_name=APP, user_id="itay", session_id="s1") is None
