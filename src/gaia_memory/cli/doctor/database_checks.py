"""The memory database and the session database, read without a change."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, warn
from gaia_memory.cli.doctor.home_checks import has_access
from gaia_memory.cli.doctor.lock_checks import is_write_locked
from gaia_memory.cli.doctor.missing_database import check_lost_database
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.database.migrate import schema_version
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.read_only import FileState, check_database_file, database_path, open_read_only
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.engine_probe import DatabaseSummary, load_database_summary
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.redaction.mask import mask_secrets

READ_TIMEOUT_SECONDS = 15.0
_LOCK_MESSAGES = ("locked", "busy")
_EMPTY_REASON = "there are no facts yet"


async def check_memory_database(context: CheckContext) -> list[Finding]:
    """Check that the facts can be read and written, and load the summary of the database."""
    part, url = "memory database", context.config.memory_url
    path = database_path(url)
    unchecked_note = ""
    if path is not None:
        state = await asyncio.to_thread(check_database_file, path)
        if found := _file_findings(part, state, "memory.database_url"):
            context.unread_reason = context.unread_reason if state.is_present else _EMPTY_REASON
            lost = [] if state.is_present else await check_lost_database(part, path, "is missing", context)
            return lost or found
        unchecked_note = "" if state.is_checked else "; it is too large to check every page"
    version, found = await _read_version(part, url)
    if found:
        return found
    if version is None:
        context.unread_reason = _EMPTY_REASON
        lost = [] if path is None else await check_lost_database(part, path, "is empty", context)
        return lost or ok(part, f"{_display_name(url)} has no tables yet: the first start creates them")
    if version != REVISIONS[-1]:
        context.unread_reason = "the memory database has an older version, and is checked once it is upgraded"
        message = f"{_display_name(url)} has schema version {version}, and this package has {REVISIONS[-1]}"
        remedy = "nothing: the next process that opens memory, such as `gaia chat`, upgrades it"
        return warn(part, message, f"{remedy}; keep a copy if you may go back")
    async with asyncio.timeout(READ_TIMEOUT_SECONDS):
        context.summary = await load_database_summary(url)
    return [*await _check_lock(part, url, unchecked_note), *_index_findings(context.summary)]


def _index_findings(summary: DatabaseSummary) -> list[Finding]:
    """Return findings if an older version indexed facts, which makes search worse or slower."""
    outdated, slow = summary.outdated, summary.without_traits
    if not outdated:
        message = f"an older version indexed {pluralize(slow, 'fact')}: `gaia memory reindex` makes search faster"
        return ok("keyword index", message) if slow else []
    message = f"another version indexed {pluralize(outdated, 'fact')}: some words find less than they could"
    return warn("keyword index", message, "run `gaia memory reindex`; memory can be used meanwhile")


async def check_session_database(context: CheckContext) -> list[Finding]:
    """Check that the conversations can be read."""
    part, url = "session database", context.config.sessions_url
    if url == context.config.memory_url:
        return ok(part, "it is the memory database")
    path = database_path(url)
    if path is None:
        return (await _read_version(part, url))[1] or ok(part, f"{_display_name(url)} answers")
    state = await asyncio.to_thread(check_database_file, path)
    if found := _file_findings(part, state, "sessions.database_url"):
        return found
    empty_note = "" if "sessions" in state.tables else "; there are no conversations yet"
    return await _check_lock(part, url, empty_note)


async def _check_lock(part: str, url: str, suffix: str) -> list[Finding]:
    path = database_path(url)
    if path is None or not await asyncio.to_thread(is_write_locked, path):
        return ok(part, f"{_display_name(url)} is intact{suffix}")
    message = f"another process keeps {path} locked: it can be read, but not written"
    return warn(part, message, f"wait until it is done, or {_end_process_hint(path)}")


def _end_process_hint(path: Path) -> str:
    return f"find the process that has it open, such as with {shlex.join(['fuser', str(path)])}, and end it"


def _file_findings(part: str, state: FileState, key: str) -> list[Finding]:
    """Return findings about a file that is missing or not usable; none if it is fine."""
    path = state.path
    if not state.is_present and not state.problem:
        return ok(part, f"{path} is created when it is first needed")
    if any(word in state.problem for word in _LOCK_MESSAGES):
        return fail(part, f"another process has locked {path} ({state.problem})", _end_process_hint(path))
    if state.problem:
        remedy = f"restore a backup, or move it away to start with an empty one; {key} names another"
        return fail(part, f"{path} cannot be read ({state.problem})", remedy)
    if not has_access(path, os.R_OK | os.W_OK) or not has_access(path.parent, os.W_OK | os.X_OK):
        return fail(part, f"this user may not write {path}", "change the permissions of the file and its folder")
    return []


async def _read_version(part: str, url: str) -> tuple[str | None, list[Finding]]:
    """Return the schema version of a database, or why it cannot be read."""
    try:
        engine = open_read_only(url)
    except ConfigError as error:
        return None, fail(part, "; ".join(error.problems), "install the package it names")
    try:
        async with asyncio.timeout(READ_TIMEOUT_SECONDS):
            async with SqlDatabase(engine).read_transaction():
                pass
            return await schema_version(engine), []
    except MemoryUnavailable as error:
        return None, fail(part, mask_secrets(error.reason), error.remedy)
    except (TimeoutError, DBAPIError, OSError) as error:
        message = f"{_display_name(url)} does not answer ({type(error).__name__})"
        return None, fail(part, message, "start it, and check the URL, the network and the password")
    finally:
        await engine.dispose()


def _display_name(url: str) -> str | Path:
    return database_path(url) or mask_secrets(url)
