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
from gaia_memory.database.read_only import check_database_file, database_path, open_read_only
from gaia_memory.database.sql_engine import Database
from gaia_memory.engine_probe import load_database_summary
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.redaction.mask import mask_secrets

READ_TIMEOUT_SECONDS = 15.0


def check_memory_database(context: CheckContext) -> list[Finding]:
    """Check that the facts can be read and written, and load the summary of the database."""
    url = context.config.memory_url
    path = database_path(url)
    version, found = _read_version(url, path)
    if found:
        return found
    if version is None:
        context.unread_reason = "there are no facts yet"
        if path is not None and any((context.config.home / "store").glob("*/")):
            message = f"{path} is missing or empty, but the store that was filled from it is still there"
            remedy = f"restore {path.name} first: the next start creates an empty memory beside that store"
            return fail(message, remedy)
        return ok(f"{path or mask_secrets(url)} has no tables yet: the first start creates them")
    if version != REVISIONS[-1]:
        context.unread_reason = "the memory database has an older version, and is checked once it is upgraded"
        message = f"{path or mask_secrets(url)} has schema version {version}, and this package has {REVISIONS[-1]}"
        remedy = "keep a copy if you may go back: the next process that opens memory, such as `gaia chat`, upgrades it"
        return warn(message, remedy)
    context.summary = asyncio.run(asyncio.wait_for(load_database_summary(url), READ_TIMEOUT_SECONDS))
    findings = ok(f"{path or mask_secrets(url)} is intact")
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
        return _read_version(url, path)[1] or ok(f"{mask_secrets(url)} answers")
    return _check_file(path) or ok(f"{path} {'is intact' if path.exists() else 'is created when it is first needed'}")


def _check_file(path: Path) -> list[Finding]:
    """Return a finding about a file that is not usable; none if it is fine, or not there."""
    state = check_database_file(path)
    if any(word in state.problem for word in ("locked", "busy")):
        return fail(f"another process has locked {path} ({state.problem})", f"end it: `fuser {path}` finds it")
    if state.problem:
        return fail(f"{path} cannot be read ({state.problem})", DAMAGED_REMEDY)
    is_writable = has_access(path, os.R_OK | os.W_OK) and has_access(path.parent, os.W_OK | os.X_OK)
    if state.is_present and not is_writable:
        return fail(f"this user may not write {path}", "change the permissions of the file and its folder")
    return []


def _read_version(url: str, path: Path | None) -> tuple[str | None, list[Finding]]:
    """Return the schema version of a database, None for one without tables, or why it cannot be read."""
    if path is not None and ((found := _check_file(path)) or not path.exists()):
        return None, found
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
