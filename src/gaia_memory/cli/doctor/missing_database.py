"""Detects a missing or empty memory database where other files show that there was one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, warn
from gaia_memory.database.read_only import check_database_file, database_path
from gaia_memory.engine_probe import EngineProbe

_STORE_ID = re.compile(r"[0-9a-f]{32}")


async def check_lost_database(part: str, path: Path, condition: str, context: CheckContext) -> list[Finding]:
    """Return findings about a database that is `condition`; none if the whole home is new."""
    root = await _stores_root(context)
    return await asyncio.to_thread(_check_lost_database, part, path, condition, context, root)


def _check_lost_database(
    part: str, path: Path, condition: str, context: CheckContext, root: Path | None
) -> list[Finding]:
    if stores := _stores(root):
        message = (
            f"{path} {condition}, but the store made from it is still there ({stores[0]}), the last copy of the facts: "
            "the next start of an agent or of `gaia chat` creates an empty memory and quarantines that store"
        )
        return fail(
            part, message, f"restore {path.name} first: then nothing is lost, and forgotten facts stay forgotten"
        )
    sessions = database_path(context.config.sessions_url)
    if (
        context.config.memory.enabled
        and sessions is not None
        and "sessions" in check_database_file(sessions, timeout_seconds=0).tables
    ):
        message = (
            f"{path} {condition}, although {sessions} contains conversations: the next start creates an empty memory"
        )
        return warn(part, message, f"if there was one, restore {path.name} first; otherwise do nothing")
    return []


async def _stores_root(context: CheckContext) -> Path | None:
    probe = await EngineProbe.open(context.config, context.scratch)
    folder = probe.store_folder("any")
    return None if folder is None else folder.parent


def _stores(root: Path | None) -> list[Path]:
    try:
        entries = [] if root is None else sorted(root.iterdir())
    except OSError:
        return []
    return [path for path in entries if _STORE_ID.fullmatch(path.name) and path.is_dir()]
