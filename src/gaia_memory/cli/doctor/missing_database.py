"""A memory database that is missing, or empty, where something is there that it should hold."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, warn
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.database.read_only import check_database_file, database_path

_STORE_ID = re.compile(r"[0-9a-f]{32}")


async def check_lost_database(part: str, path: Path, condition: str, context: CheckContext) -> list[Finding]:
    """Return what is to be said of a database that is `condition`: nothing where it is new like all the rest."""
    root = await _stores_root(context)
    return await asyncio.to_thread(_check_lost_database, part, path, condition, context, root)


def _check_lost_database(
    part: str, path: Path, condition: str, context: CheckContext, root: Path | None
) -> list[Finding]:
    if stores := _stores(root):
        message = (
            f"{path} {condition}, and the store made from it is there ({stores[0]}), the last copy of the facts: "
            "the next start of an agent or of `gaia chat` begins an empty memory and sets that store aside"
        )
        return fail(part, message, f"put {path.name} back first: then nothing is lost, and what was forgotten stays so")
    sessions = database_path(context.config.sessions_url)
    if (
        context.config.memory.enabled
        and sessions is not None
        and "sessions" in check_database_file(sessions, timeout_seconds=0).tables
    ):
        message = f"{path} {condition}, although {sessions} holds conversations: the next start begins an empty memory"
        return warn(part, message, f"if there was one, put {path.name} back first; else nothing")
    return []


async def _stores_root(context: CheckContext) -> Path | None:
    engine = await unopened_engine(context.config, context.scratch)
    folder = engine.follower.folder("any")
    return None if folder is None else context.to_home_path(folder).parent


def _stores(root: Path | None) -> list[Path]:
    try:
        entries = [] if root is None else sorted(root.iterdir())
    except OSError:
        return []
    return [path for path in entries if _STORE_ID.fullmatch(path.name) and path.is_dir()]
