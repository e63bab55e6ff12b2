"""The memory database and the session database, read without a change."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, warn
from gaia_memory.cli.doctor.home_checks import has_access
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.database.files.open_file import DAMAGED_REMEDY
from gaia_memory.database.migrate import schema_version
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.read_only import FileState, check_database_file, database_path, open_read_only
from gaia_memory.database.sql_engine import Database
from gaia_memory.engine_probe import DatabaseSummary, EngineProbe, load_database_summary
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.redaction.mask import mask_secrets

READ_TIMEOUT_SECONDS = 15.0
LOCK_POLLS, LOCK_POLL_SECONDS = 15, 0.1
"""A write takes milliseconds; a lock that is held each time is stuck."""

_WRITE_LOCK_BYTES = {"": 0x40000001, "-shm": 120}
"""The byte that a writer locks, in the file itself and, with a write-ahead log, in the `-shm` file:
https://www.sqlite.org/fileformat2.html#lockbyte, https://www.sqlite.org/walformat.html."""

_LOCK_MESSAGES = ("locked", "busy")
_MEMORY_KEY = "memory.database_url"
_EMPTY_REASON = "there are no facts yet"
_STORE_ID = re.compile(r"[0-9a-f]{32}")


def check_memory_database(context: CheckContext) -> list[Finding]:
    """Check that the facts can be read and written, and load the summary of the database."""
    url = context.config.memory_url
    path, unchecked_note = database_path(url), ""
    if path is not None:
        state = check_database_file(path)
        if found := _file_findings(state, _MEMORY_KEY):
            if state.is_present:
                return found
            context.unread_reason = _EMPTY_REASON
            return _lost_database_findings(path, "is missing", context) or found
        unchecked_note = "" if state.is_checked else "; it is too large to check every page"
    version, found = _read_version(url)
    if found:
        return found
    if version is None:
        context.unread_reason = _EMPTY_REASON
        lost = [] if path is None else _lost_database_findings(path, "is empty", context)
        return lost or ok(f"{_display_name(url)} has no tables yet: the first start creates them")
    if version != REVISIONS[-1]:
        context.unread_reason = "the memory database has an older version, and is checked once it is upgraded"
        message = f"{_display_name(url)} has schema version {version}, and this package has {REVISIONS[-1]}"
        remedy = "nothing: the next process that opens memory, such as `gaia chat`, upgrades it"
        return warn(message, f"{remedy}; keep a copy if you may go back")
    context.summary = asyncio.run(asyncio.wait_for(load_database_summary(url), READ_TIMEOUT_SECONDS))
    return [*_check_lock(url, unchecked_note), *_index_findings(context.summary)]


def _index_findings(summary: DatabaseSummary) -> list[Finding]:
    """Return a finding if another version indexed facts, which makes search worse or slower."""
    if not summary.outdated:
        return []
    message = f"another version indexed {pluralize(summary.outdated, 'fact')}: some words find less than they could"
    return [Finding("warn", message, "run `gaia memory reindex`; memory can be used meanwhile", "word index")]


def check_session_database(context: CheckContext) -> list[Finding]:
    """Check that the conversations can be read."""
    url = context.config.sessions_url
    if url == context.config.memory_url:
        return ok("it is the memory database")
    path = database_path(url)
    if path is None:
        return _read_version(url)[1] or ok(f"{_display_name(url)} answers")
    state = check_database_file(path)
    empty_note = "" if "sessions" in state.tables else "; there are no conversations yet"
    return _file_findings(state, "sessions.database_url") or _check_lock(url, empty_note)


def _file_findings(state: FileState, key: str) -> list[Finding]:
    """Return findings about a file that is missing or not usable; none if it is fine."""
    path = state.path
    if not state.is_present and not state.problem:
        return ok(f"{path} is created when it is first needed")
    if any(word in state.problem for word in _LOCK_MESSAGES):
        return fail(f"another process has locked {path} ({state.problem})", _end_process_hint(path))
    if state.problem:
        remedy = DAMAGED_REMEDY if key == _MEMORY_KEY else "restore a backup"
        remedy += f"; or move it away to start with an empty one; {key} names another"
        return fail(f"{path} cannot be read ({state.problem})", remedy)
    if not has_access(path, os.R_OK | os.W_OK) or not has_access(path.parent, os.W_OK | os.X_OK):
        return fail(f"this user may not write {path}", "change the permissions of the file and its folder")
    return []


def _check_lock(url: str, suffix: str) -> list[Finding]:
    path = database_path(url)
    if path is None or not is_write_locked(path):
        return ok(f"{_display_name(url)} is intact{suffix}")
    message = f"another process keeps {path} locked: it can be read, but not written"
    return warn(message, f"wait until it is done, or {_end_process_hint(path)}")


def _end_process_hint(path: Path) -> str:
    return f"find the process that has it open, such as with {shlex.join(['fuser', str(path)])}, and end it"


def is_write_locked(path: Path) -> bool:
    """Return whether another process holds the write lock of a SQLite file longer than a write takes.

    Only for a process that does not have the file open: closing a file releases every lock that a process has on it.
    """
    for _ in range(LOCK_POLLS):
        if not any(_is_locked(Path(f"{path}{suffix}"), byte) for suffix, byte in _WRITE_LOCK_BYTES.items()):
            return False
        time.sleep(LOCK_POLL_SECONDS)
    return True


def _is_locked(path: Path, byte: int) -> bool:
    try:
        import fcntl

        with path.open("rb") as file:
            # A writer's lock refuses a shared one, which is released with the file a moment later.
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, byte)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        # The locks of Windows cannot be queried.
        pass
    return False


def _lost_database_findings(path: Path, condition: str, context: CheckContext) -> list[Finding]:
    """Return findings about a database that is `condition`; none if the whole home is new."""
    if store := _find_store(context):
        message = (
            f"{path} {condition}, but the store made from it is still there ({store}), the last copy of the facts: "
            "the next start of an agent or of `gaia chat` creates an empty memory and does not use that store"
        )
        return fail(message, f"restore {path.name} first: then nothing is lost, and forgotten facts stay forgotten")
    sessions = database_path(context.config.sessions_url)
    if not context.config.memory.enabled or sessions is None:
        return []
    if "sessions" not in check_database_file(sessions, timeout_seconds=0).tables:
        return []
    message = f"{path} {condition}, although {sessions} contains conversations: the next start creates an empty memory"
    return warn(message, f"if there was one, restore {path.name} first; otherwise do nothing")


def _find_store(context: CheckContext) -> Path | None:
    """Return an embedded mem0 store of the home; None if there is none."""
    folder = asyncio.run(EngineProbe.open(context.config, context.scratch)).store_folder("any")
    try:
        stores = [] if folder is None else sorted(folder.parent.iterdir())
    except OSError:
        return None
    return next((each for each in stores if _STORE_ID.fullmatch(each.name) and each.is_dir()), None)


def _read_version(url: str) -> tuple[str | None, list[Finding]]:
    """Return the schema version of a database, or why it cannot be read."""
    try:
        return asyncio.run(_load_version(url)), []
    except ConfigError as error:
        return None, fail("; ".join(error.problems), "install the package it names")
    except MemoryUnavailable as error:
        return None, fail(mask_secrets(error.reason), error.remedy)
    except (TimeoutError, DBAPIError, OSError) as error:
        message = f"{_display_name(url)} does not answer ({type(error).__name__})"
        return None, fail(message, "start it, and check the URL, the network and the password")


async def _load_version(url: str) -> str | None:
    engine = open_read_only(url)
    try:
        async with asyncio.timeout(READ_TIMEOUT_SECONDS):
            async with Database(engine).read_transaction():
                pass
            return await schema_version(engine)
    finally:
        await engine.dispose()


def _display_name(url: str) -> str | Path:
    return database_path(url) or mask_secrets(url)
