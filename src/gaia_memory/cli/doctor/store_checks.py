"""The mem0 store that follows the database, and the process that owns it."""

from __future__ import annotations

import asyncio
import platform
import socket
from pathlib import Path
from typing import Any

from gaia_memory.cli.doctor.findings import CheckContext, Finding, ok, skip, warn
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.database.read_only import check_database_file
from gaia_memory.engine_probe import DatabaseSummary, EngineProbe, is_store_owner_running
from gaia_memory.health import foreign_stores_problem
from gaia_memory.models import StoreState

CHROMA_FILE = "chroma.sqlite3"
CONNECT_TIMEOUT_SECONDS = 3.0

_OPENER = "the next agent or `gaia chat`"
_REBUILD_HINT = f"nothing: {_OPENER} rebuilds it from the database, without calling a model"


def check_store(context: CheckContext) -> list[Finding]:
    """Check that the store exists and is intact, which process has it open, and how far behind it is.

    A store that a process has open is not touched.
    """
    if context.summary is None:
        return skip(context.unread_reason)
    state = context.summary.store
    if not state.store_id:
        return ok(f"{_OPENER} creates it") + _lag_findings(state, is_running=False)
    is_running = asyncio.run(is_store_owner_running(state))
    probe = asyncio.run(EngineProbe.open(context.config, context.scratch))
    folder = probe.store_folder(state.store_id)
    if folder is None:
        findings = _check_server(context.config.memory.vector_store.config)
    else:
        owner = state.owner_description.removesuffix(f" on {platform.node() or 'localhost'}")
        findings = _check_embedded(folder, owner, context.summary, is_running=is_running)
        if foreign := probe.foreign_stores(state.store_id):
            findings += warn(*foreign_stores_problem(foreign))
    return findings + _lag_findings(state, is_running=is_running)


def _check_embedded(folder: Path, owner: str, summary: DatabaseSummary, *, is_running: bool) -> list[Finding]:
    blocking = next((path for path in (folder.parent, folder) if path.exists() and not path.is_dir()), None)
    if blocking is not None:
        return warn(f"{blocking} is not a folder", "move it away: memory keeps its mem0 store there")
    if not folder.is_dir():
        # Before its first process, a store has no owner, and all facts are still to be added. Without a vector there
        # is nothing to add.
        is_new = not owner and (summary.store.lag or summary.embedder is None)
        return ok(f"{_OPENER} creates {folder}") if is_new else warn(f"{folder} is missing", _REBUILD_HINT)
    if is_running:
        return ok(f"{folder} is open in {owner}")
    file = check_database_file(folder / CHROMA_FILE)
    if file.problem or not file.is_present:
        return warn(f"{folder} is damaged ({file.problem or f'{CHROMA_FILE} is missing'})", _REBUILD_HINT)
    return ok(f"{folder} exists and is free" + (f"; {owner} had it open and has ended" if owner else ""))


def _check_server(config: Any) -> list[Finding]:
    host, port = config.get("host"), config.get("port")
    if not isinstance(host, str) or not str(port or "").isdecimal():
        return skip("it is on a server that is not checked")
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        message = f"no answer from {host}:{port} ({type(error).__name__})"
        return warn(message, "start it, or correct memory.vector_store; facts are found without it")
    return ok(f"{host}:{port} answers")


def _lag_findings(state: StoreState, *, is_running: bool) -> list[Finding]:
    """Return findings about facts not yet in the store, and about forgotten text that files may still contain."""
    findings: list[Finding] = []
    if state.lag:
        who = "the process that has it open" if is_running else _OPENER
        findings += ok(f"still to be copied from the database: {pluralize(state.lag, 'fact')}, by {who}")
    if state.erasures:
        remedy = "start your agent or `gaia chat`: it rewrites them in seconds"
        if is_running:
            remedy = "nothing: it is being rewritten"
        findings += warn(f"{pluralize(state.erasures, 'forget')} may still have text in files", remedy)
    return findings
