"""The mem0 store that follows the database, and the process that owns it."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

from gaia_memory.cli.doctor.checks import CheckContext, Finding, ok, skip, warn
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.database.read_only import check_database_file
from gaia_memory.engine_probe import EngineProbe, is_store_owner_running
from gaia_memory.health import quarantine_problem
from gaia_memory.models import StoreState

CHROMA_FILE = "chroma.sqlite3"
QUARANTINE_SUFFIX = "-set-aside"
CONNECT_TIMEOUT_SECONDS = 3.0

_PART = "store"
_REBUILD_HINT = "nothing: the next start rebuilds it from the database, without calling a model"


async def check_store(context: CheckContext) -> list[Finding]:
    """Check that the store exists and is intact, which process has it open, and how far behind it is.

    A store that a process has open is not touched.
    """
    if context.summary is None:
        return skip(_PART, context.unread_reason)
    state = context.summary.store
    if not state.store_id:
        return ok(_PART, "it is created at the first start") + _lag_findings(state, is_running=False)
    probe = await EngineProbe.open(context.config, context.scratch)
    owner = state.owner_description.removesuffix(f" on {platform.node() or 'localhost'}")
    is_running = await is_store_owner_running(state)
    folder = probe.store_folder(state.store_id)
    if folder is None:
        findings = await _check_server(context.config.memory.vector_store.config)
    else:
        findings = await asyncio.to_thread(_check_embedded, folder, owner, is_running=is_running)
        findings += await asyncio.to_thread(_check_quarantine, folder.parent)
    return findings + _lag_findings(state, is_running=is_running)


def _check_embedded(folder: Path, owner: str, *, is_running: bool) -> list[Finding]:
    if not folder.is_dir():
        return warn(_PART, f"{folder} is missing", _REBUILD_HINT)
    if is_running:
        return ok(_PART, f"{folder} is open in {owner}")
    file = check_database_file(folder / CHROMA_FILE)
    if file.problem or not file.is_present:
        return warn(_PART, f"{folder} is damaged ({file.problem or f'{CHROMA_FILE} is missing'})", _REBUILD_HINT)
    last = f"; {owner} had it open and has ended" if owner else ""
    return ok(_PART, f"{folder} exists and is free{last}")


def _check_quarantine(root: Path) -> list[Finding]:
    """Return a warning if stores are quarantined; they are not opened."""
    folder = root.with_name(root.name + QUARANTINE_SUFFIX)
    try:
        quarantined = [str(entry) for entry in sorted(folder.iterdir()) if entry.is_dir()]
    except OSError:
        return []
    return warn(_PART, *quarantine_problem(quarantined)) if quarantined else []


async def _check_server(config: Any) -> list[Finding]:
    host, port = config.get("host"), config.get("port")
    if not isinstance(host, str) or not str(port or "").isdecimal():
        return skip(_PART, "it is on a server that is not checked")
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError) as error:
        message = f"no answer from {host}:{port} ({type(error).__name__})"
        return warn(_PART, message, "start it, or correct memory.vector_store; facts are found without it")
    writer.close()
    return ok(_PART, f"{host}:{port} answers")


def _lag_findings(state: StoreState, *, is_running: bool) -> list[Finding]:
    """Return findings about facts not yet in the store, and about forgotten text that files may still contain."""
    timing = "its owner is working on it" if is_running else "the next start does it"
    findings: list[Finding] = []
    if state.lag:
        findings += ok(_PART, f"{pluralize(state.lag, 'fact')} to be followed: {timing}")
    if state.erasures:
        message = f"{pluralize(state.erasures, 'forget')} may still have text in files"
        remedy = (
            "nothing: it is being rewritten"
            if is_running
            else "start a process that keeps memory open, such as `gaia chat`: it rewrites them in seconds"
        )
        findings += warn(_PART, message, remedy)
    return findings
