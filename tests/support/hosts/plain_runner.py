"""Single parts in a third-party Runner, also through its synchronous `run`, and what they leave behind."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from google.adk.agents.llm_agent import LlmAgent, ToolUnion
from google.adk.apps.app import App
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from gaia_memory import engine_registry
from gaia_memory.adk.memory_service import Mem0MemoryService
from gaia_memory.testing import ScriptedLlm

APP, USER, SESSION = "shop", "ada", "s1"


def build_runner(
    *plugins: BasePlugin,
    model: ScriptedLlm | None = None,
    service: Mem0MemoryService | None = None,
    sessions: BaseSessionService | None = None,
    app: str = APP,
    tools: Sequence[ToolUnion] = (),
) -> Runner:
    """Return a Runner like a host without memory writes it."""
    agent = LlmAgent(name="assistant", model=model or ScriptedLlm(default="ok"), instruction="Help.", tools=list(tools))
    return Runner(
        app=App(name=app, root_agent=agent, plugins=list(plugins)),
        session_service=sessions or InMemorySessionService(),
        memory_service=service,
        auto_create_session=True,
    )


async def run_turn(runner: Runner, text: str, *, user: str = USER, session: str = SESSION) -> str:
    """Run a turn and return the answer."""
    turn = runner.run_async(user_id=user, session_id=session, new_message=types.UserContent(text))
    return events_text([event async for event in turn])


def run_turn_sync(runner: Runner, text: str, *, user: str = USER, session: str = SESSION) -> str:
    """Run a turn like a script, through `Runner.run`, which creates an event loop."""
    return events_text(list(runner.run(user_id=user, session_id=session, new_message=types.UserContent(text))))


def events_text(events: list[Event]) -> str:
    """Return the texts of events."""
    return "".join(part.text or "" for event in events if event.content for part in event.content.parts or [])


def fact_texts_in(home: Path) -> list[str]:
    """Return the texts of all facts in the database file of a home."""
    with closing(sqlite3.connect(home / "memory.db")) as database:
        return [text for (text,) in database.execute("SELECT text FROM gaia_facts ORDER BY row")]


def is_store_unowned(home: Path) -> bool:
    """Say whether the mem0 store of a home has no owner."""
    lock = FileLock(home / "store.lock", thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    lock.release()
    return True


def gaia_threads() -> set[str]:
    """Return the running threads of memory and its databases, by name and number."""
    threads = threading.enumerate()
    ours = [thread for thread in threads if thread.name.startswith("gaia-") or "_connection_worker" in thread.name]
    return {f"{thread.name} ({thread.ident})" for thread in ours}


def thread_stacks() -> str:
    """Return the stack of each of our threads."""
    frames = sys._current_frames()
    threads = [thread for thread in threading.enumerate() if f"{thread.name} ({thread.ident})" in gaia_threads()]
    return "\n".join(
        f"{thread.name}: {''.join(traceback.format_stack(frames[thread.ident or 0]))}" for thread in threads
    )


def count_open_engines() -> int:
    """Return the number of open engines in the process."""
    return len(engine_registry._registry.entries)


def wait_until_sync(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """Wait for a condition outside any event loop and return its value."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain, with {thread_stacks()}"
        time.sleep(0.02)
    return found
