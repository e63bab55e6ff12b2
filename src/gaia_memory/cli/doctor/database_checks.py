"""The memory database and the session database, read without a change."""

from __future__ import annotations

import asyncio
import os
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
from gaia_memory.engine_probe import load_database_summary
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.redaction.mask import mask_secrets

READ_TIMEOUT_SECONDS = 15.0

_EMPTY_REASON = "there are no facts yet"


def check_memory_database(context: CheckContext) -> list[Finding]:
    """Check that the facts can be read and written, and load the summary of the database."""
    url = context.config.memory_url
    path = database_path(url)
    name = path or mask_secrets(url)
    version, found = None, _check_file(check_database_file(path)) if path is not None else []
    if not found and (path is None or path.exists()):
        version, found = _read_version(url)
    if found:
        return found
    if version is None:
        context.unread_reason = _EMPTY_REASON
        return _check_lost(path, context) or ok(f"{name} has no tables yet: the first start creates them")
    if version != REVISIONS[-1]:
        context.unread_reason = "the memory database has an older version, and is checked once it is upgraded"
        message = f"{name} has schema version {version}, and this package has {REVISIONS[-1]}"
        remedy = "keep a copy if you may go back: the next process that opens memory, such as `gaia chat`, upgrades it"
        return warn(message, remedy)
    context.summary = asyncio.run(asyncio.wait_for(load_database_summary(url), READ_TIMEOUT_SECONDS))
    findings = ok(f"{name} is intact")
    if count := context.summary.outdated:
        message = f"another version indexed {pluralize(count, 'fact')}: some words find less than they could"
        findings.append(Finding("warn", message, "run `gaia memory reindex`", part="word index"))
    return findings


def check_session_database(context: CheckContext) -> list[Finding]:
    """Check that the conversations can be read."""
    url = context.config.sessions_url
    if url == context.config.memory_url:
        return ok("it is the memory database")
    path = database_path(url)
    if path is None:
        return _read_version(url)[1] or ok(f"{mask_secrets(url)} answers")
    there = "is intact" if path.exists() else "is created when it is first needed"
    return _check_file(check_database_file(path)) or ok(f"{path} {there}")


def _check_file(state: FileState) -> list[Finding]:
    """Return a finding about a file that is not usable; none if it is fine."""
    path = state.path
    if not state.is_present and not state.problem:
        return []
    if any(word in state.problem for word in ("locked", "busy")):
        return fail(f"another process has locked {path} ({state.problem})", f"end it: `fuser {path}` finds it")
    if state.problem:
        return fail(f"{path} cannot be read ({state.problem})", DAMAGED_REMEDY)
    if not has_access(path, os.R_OK | os.W_OK) or not has_access(path.parent, os.W_OK | os.X_OK):
        return fail(f"this user may not write {path}", "change the permissions of the file and its folder")
    return []


def _check_lost(path: Path | None, context: CheckContext) -> list[Finding]:
    """Return a finding about a database that is missing or empty beside a store that was filled from it."""
    home = context.config.home
    if path is None or not any((home / "store").glob("*/")):
        return []
    message = f"{path} is missing or empty, but the store that was filled from it is still there"
    return fail(message, f"restore {path.name} first: the next start creates an empty memory beside that store")


def _read_version(url: str) -> tuple[str | None, list[Finding]]:
    """Return the schema version of a database, or why it cannot be read."""
    try:
        return asyncio.run(_load_version(url)), []
    except ConfigError as error:
        return None, fail("; ".join(error.problems), "install the package it names")
    except MemoryUnavailable as error:
        return None, fail(mask_secrets(error.reason), error.remedy)
    except (TimeoutError, DBAPIError, OSError) as error:
        message = f"{mask_secrets(url)} does not answer ({type(error).__name__})"
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
