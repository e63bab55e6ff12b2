"""A memory database that is missing, or empty, where something is there that it should hold."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from gaia_memory.cli.doctor.checks import Finding, Patient, fail, warn
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.database.read_only import examine, file_of

_STORE = re.compile(r"[0-9a-f]{32}")


async def lost_database(part: str, path: Path, what: str, patient: Patient) -> list[Finding]:
    """Return what is to be said of a database that is `what`: nothing where it is new like all the rest."""
    root = await _root(patient)
    return await asyncio.to_thread(_lost, part, path, what, patient, root)


def _lost(part: str, path: Path, what: str, patient: Patient, root: Path | None) -> list[Finding]:
    if stores := _stores(root):
        says = (
            f"{path} {what}, and the store made from it is there ({stores[0]}), the last copy of the facts: the next "
            "start of an agent or of `gaia chat` begins an empty memory and sets that store aside"
        )
        return fail(part, says, f"put {path.name} back first: then nothing is lost, and what was forgotten stays so")
    sessions = file_of(patient.config.sessions_url)
    if patient.config.memory.enabled and sessions is not None and "sessions" in examine(sessions, seconds=0).tables:
        says = f"{path} {what}, although {sessions} holds conversations: the next start begins an empty memory"
        return warn(part, says, f"if there was one, put {path.name} back first; else nothing")
    return []


async def _root(patient: Patient) -> Path | None:
    engine = await unopened_engine(patient.config, patient.scratch)
    folder = engine.follower.folder("any")
    return None if folder is None else patient.in_home(folder).parent


def _stores(root: Path | None) -> list[Path]:
    try:
        there = [] if root is None else sorted(root.iterdir())
    except OSError:
        return []
    return [path for path in there if _STORE.fullmatch(path.name) and path.is_dir()]
