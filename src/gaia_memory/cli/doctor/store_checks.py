"""The mem0 store that follows the database, and who writes it."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

from gaia_memory.cli.doctor.checks import Finding, Patient, ok, skipped, warn
from gaia_memory.cli.ui.terminal import counted
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.database.read_only import examine
from gaia_memory.health import set_aside
from gaia_memory.models import StoreState

CHROMA_FILE = "chroma.sqlite3"
ASIDE = "-set-aside"
CONNECT_SECONDS = 3.0

_PART = "store"
_REBUILT = "nothing: the next start builds it anew from the database, without asking a model"


async def store(patient: Patient) -> list[Finding]:
    """Look whether the store is there and whole, who has it open, and how far behind it is.

    A store that a process has open is not touched.
    """
    if patient.held is None:
        return skipped(_PART, patient.unread)
    state = patient.held.store
    if not state.store_id:
        return ok(_PART, "it is made at the first start") + _behind(state, running=False)
    engine = await unopened_engine(patient.config, patient.scratch)
    owner = state.owned_by.removesuffix(f" on {platform.node() or 'localhost'}")
    running = state.owner is not None and not await asyncio.to_thread(engine.follower.is_gone, state.owner)
    folder = engine.follower.folder(state.store_id)
    if folder is None:
        findings = await _elsewhere(patient.config.memory.vector_store.config)
    else:
        folder = patient.in_home(folder)
        findings = await asyncio.to_thread(_embedded, folder, owner, running=running)
        findings += await asyncio.to_thread(_aside, folder.parent)
    return findings + _behind(state, running=running)


def _embedded(folder: Path, owner: str, *, running: bool) -> list[Finding]:
    if not folder.is_dir():
        return warn(_PART, f"{folder} is missing", _REBUILT)
    if running:
        return ok(_PART, f"{folder} is open in {owner}")
    file = examine(folder / CHROMA_FILE)
    if file.problem or not file.is_there:
        return warn(_PART, f"{folder} is damaged ({file.problem or f'{CHROMA_FILE} is missing'})", _REBUILT)
    last = f"; {owner} had it open and has ended" if owner else ""
    return ok(_PART, f"{folder} is there, and free for whoever starts{last}")


def _aside(root: Path) -> list[Finding]:
    """Return that stores were set aside; what they hold is not looked at."""
    folder = root.with_name(root.name + ASIDE)
    try:
        there = [str(entry) for entry in sorted(folder.iterdir()) if entry.is_dir()]
    except OSError:
        return []
    return warn(_PART, *set_aside(there)) if there else []


async def _elsewhere(config: Any) -> list[Finding]:
    host, port = config.get("host"), config.get("port")
    if not isinstance(host, str) or not str(port or "").isdecimal():
        return skipped(_PART, "it stands elsewhere and is not asked")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError) as error:
        says = f"nobody answers at {host}:{port} ({type(error).__name__})"
        return warn(_PART, says, "start it, or correct memory.vector_store; facts are found all the same meanwhile")
    writer.close()
    return ok(_PART, f"{host}:{port} answers")


def _behind(state: StoreState, *, running: bool) -> list[Finding]:
    """Return what the store has still to follow, and what may still be in a file."""
    when = "its owner is at it" if running else "the next start does it"
    findings: list[Finding] = []
    if state.lag:
        findings += ok(_PART, f"{counted(state.lag, 'fact')} to be followed: {when}")
    if state.erasures:
        says = f"{counted(state.erasures, 'forget')} may still have text in files"
        remedy = (
            "nothing: it is being rewritten"
            if running
            else "start what keeps memory open, such as `gaia chat`: it rewrites them in seconds"
        )
        findings += warn(_PART, says, remedy)
    return findings
