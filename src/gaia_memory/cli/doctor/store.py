"""The mem0 store that follows the database, and who writes it."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

import psutil

from gaia_memory.cli.doctor.finding import Finding, Patient, ok, skipped, warn
from gaia_memory.cli.terminal import counted
from gaia_memory.cli.unopened import unopened_engine
from gaia_memory.database.look import examine
from gaia_memory.models import StoreState

CHROMA_FILE = "chroma.sqlite3"
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
    owner, running = _owner(state.owner)
    engine = await unopened_engine(patient.config, patient.scratch)
    folder = engine.follower.folder(state.store_id)
    if folder is None:
        findings = await _elsewhere(patient.config.memory.vector_store.config)
    else:
        folder = patient.in_home(folder)
        findings = await asyncio.to_thread(_embedded, folder, owner, running=running)
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
        remedy = "nothing: it is being rewritten" if running else "start anything that opens memory: it rewrites them"
        findings += warn(_PART, says, remedy)
    return findings


def _owner(noted: str | None) -> tuple[str, bool]:
    """Return the process that opened the store last, in words, and whether it may still have it open.

    Of a process on another host nothing is known here: it counts as running.
    """
    if not noted:
        return "", False
    host, pid, start = noted.rsplit(":", 2)
    if host != (platform.node() or "localhost") or not pid.isdecimal():
        return f"process {pid} on {host}", True
    try:
        running = f"{psutil.Process(int(pid)).create_time():.2f}" == start.partition("/")[0]
    except psutil.NoSuchProcess:
        running = False
    except psutil.AccessDenied:
        running = True
    return f"process {pid}", running
