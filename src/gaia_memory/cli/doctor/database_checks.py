"""The memory database and the session database, read without a change."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from gaia_memory.cli.doctor.checks import Finding, Held, Patient, fail, ok, warn
from gaia_memory.cli.doctor.home_checks import may
from gaia_memory.cli.doctor.lock_checks import is_kept_from_writing
from gaia_memory.cli.doctor.missing_database import lost_database
from gaia_memory.cli.ui.terminal import counted
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.config.secrets import masked
from gaia_memory.database.migrate import version_of
from gaia_memory.database.migrations import REVISIONS
from gaia_memory.database.read_only import FileState, examine, file_of, open_unchanged
from gaia_memory.database.sql_engine import SqlDatabase
from gaia_memory.errors import ConfigError, MemoryUnavailable

READ_SECONDS = 15.0
_LOCKED = ("locked", "busy")
_NOTHING = "nothing is remembered yet"


async def memory_database(patient: Patient) -> list[Finding]:
    """Look whether the facts can be read and written, and note what the database says of store and conversations."""
    part, url = "memory database", patient.config.memory_url
    path = file_of(url)
    unchecked = ""
    if path is not None:
        state = await asyncio.to_thread(examine, path)
        if found := _file_findings(part, state, "memory.database_url"):
            patient.unread = patient.unread if state.is_there else _NOTHING
            lost = [] if state.is_there else await lost_database(part, path, "is missing", patient)
            return lost or found
        unchecked = "" if state.checked else "; it is too large to look at every page now"
    version, found = await _version(part, url)
    if found:
        return found
    if version is None:
        patient.unread = _NOTHING
        lost = [] if path is None else await lost_database(part, path, "holds nothing", patient)
        return lost or ok(part, f"{_named(url)} has no tables yet: they are made at the first start")
    if version != REVISIONS[-1]:
        patient.unread = "the memory database is of an older version, and is looked into once it is brought up to date"
        says = f"{_named(url)} has the tables of version {version}, and this is {REVISIONS[-1]}"
        remedy = "nothing: whatever opens memory next, such as `gaia chat`, brings them up to date"
        return warn(part, says, f"{remedy}; keep a copy if you may go back")
    patient.held = await _held(patient, url)
    return [*await _sound(part, url, unchecked), *_words(patient.held)]


def _words(held: Held) -> list[Finding]:
    """Return that facts are found less well, or less quickly, than this version finds them."""
    outdated, slow = held.outdated, held.without_traits
    if not outdated:
        says = f"{counted(slow, 'fact')} of an older version: `gaia memory reindex` makes their search faster"
        return ok("keyword index", says) if slow else []
    stand = "stands" if outdated == 1 else "stand"
    facts = f"{counted(outdated, 'fact')} {stand} in it"
    says = f"{facts} as another version took them in: some words find less than they could"
    return warn("keyword index", says, "run `gaia memory reindex`; anybody may go on talking meanwhile")


async def session_database(patient: Patient) -> list[Finding]:
    """Look whether the conversations can be read."""
    part, url = "session database", patient.config.sessions_url
    if url == patient.config.memory_url:
        return ok(part, "it is the memory database")
    path = file_of(url)
    if path is None:
        return (await _version(part, url))[1] or ok(part, f"{_named(url)} answers")
    state = await asyncio.to_thread(examine, path)
    if found := _file_findings(part, state, "sessions.database_url"):
        return found
    empty = "" if "sessions" in state.tables else "; nobody has talked yet"
    return await _sound(part, url, empty)


async def _sound(part: str, url: str, more: str) -> list[Finding]:
    path = file_of(url)
    if path is None or not await asyncio.to_thread(is_kept_from_writing, path):
        return ok(part, f"{_named(url)} is sound{more}")
    says = f"another process keeps {path} locked: it can be read, and nothing can be written"
    return warn(part, says, f"wait until it is done, or {_find_and_end(path)}")


def _find_and_end(path: Path) -> str:
    return f"find who has it open, such as with {shlex.join(['fuser', str(path)])}, and end it"


def _file_findings(part: str, state: FileState, key: str) -> list[Finding]:
    """Return what is to be said of a file that is not there, or not in order; nothing where it is."""
    path = state.path
    if not state.is_there and not state.problem:
        return ok(part, f"{path} is made when it is needed first")
    if any(word in state.problem for word in _LOCKED):
        return fail(part, f"another process keeps {path} for itself ({state.problem})", _find_and_end(path))
    if state.problem:
        remedy = f"restore a backup, or move it away and begin with an empty one; {key} names another"
        return fail(part, f"{path} cannot be read ({state.problem})", remedy)
    if not may(path, os.R_OK | os.W_OK) or not may(path.parent, os.W_OK | os.X_OK):
        return fail(part, f"{path} may not be written by this user", "let yourself write the file and its folder")
    return []


async def _version(part: str, url: str) -> tuple[str | None, list[Finding]]:
    """Return the version of a database's tables, or why it cannot be read."""
    try:
        engine = open_unchanged(url)
    except ConfigError as error:
        return None, fail(part, "; ".join(error.problems), "install what it names")
    try:
        async with asyncio.timeout(READ_SECONDS):
            async with SqlDatabase(engine).reading():
                pass
            return await version_of(engine), []
    except MemoryUnavailable as error:
        return None, fail(part, masked(error.reason), error.remedy)
    except (TimeoutError, DBAPIError, OSError) as error:
        says = f"{_named(url)} does not answer ({type(error).__name__})"
        return None, fail(part, says, "start it, and check the URL, the network and the password")
    finally:
        await engine.dispose()


async def _held(patient: Patient, url: str) -> Held:
    database = SqlDatabase(open_unchanged(url))
    stores = await unopened_engine(patient.config, patient.scratch)
    try:
        async with asyncio.timeout(READ_SECONDS), database.reading() as tx:
            return Held(
                embedder=await stores.facts.embedder(tx),
                outdated=await stores.indexes.outdated(tx),
                without_traits=await stores.indexes.without_traits(tx),
                store=await stores.outbox.store(tx),
                pending=await stores.ledger.pending(tx, user=None, app=None),
            )
    finally:
        await database.close()


def _named(url: str) -> str | Path:
    return file_of(url) or masked(url)
