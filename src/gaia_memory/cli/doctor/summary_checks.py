"""What the memory database says: the mem0 store that follows it, pending conversations, and tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaia_memory.cli.doctor.findings import CheckContext, Finding, ok, skip, warn
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.database.read_only import check_database_file
from gaia_memory.engine_probe import DatabaseSummary, EngineProbe, is_store_owner_running
from gaia_memory.health import failure_remedy, foreign_stores_problem, format_time
from gaia_memory.models import PendingConversation, StoreState, TokenPurpose, TokenUsage
from gaia_memory.models.quiet_conversations import is_due, quiet_cutoff
from gaia_memory.ports.external import MISSING_AGENT_MODEL_REMEDY

CHROMA_FILE = "chroma.sqlite3"
OVERDUE_SECONDS = 900.0
"""How long a conversation may be overdue before the check reports that nothing sweeps."""

_OPENER = "the next agent or `gaia chat`"


def check_store(context: CheckContext) -> list[Finding]:
    """Check that the store exists and is intact, which process has it open, and how far behind it is.

    A store that a process has open is not touched.
    """
    if context.summary is None:
        return skip(context.unread_reason)
    state = context.summary.store
    is_running = asyncio.run(is_store_owner_running(state))
    probe = asyncio.run(EngineProbe.open(context.config, context.scratch, stored_embedder=context.summary.embedder))
    if not is_running and (problem := asyncio.run(probe.find_store_problem(state.store_id))):
        return [Finding(problem[0], *problem[1:]), *_lag_findings(state)]
    if not state.store_id:
        return ok(f"{_OPENER} creates it") + _lag_findings(state)
    location = probe.store_location
    folder = location.folder(state.store_id)
    if folder is None:
        findings = ok(f"what is there is this memory's, or free: {context.config.memory.vector_store.provider}")
    else:
        findings = _check_embedded(folder, context.summary, is_running=is_running)
        if foreign := location.foreign_stores(state.store_id):
            findings += warn(*foreign_stores_problem(foreign))
    return findings + _lag_findings(state)


def _check_embedded(folder: Path, summary: DatabaseSummary, *, is_running: bool) -> list[Finding]:
    if is_running:
        return ok(f"{folder} is open in {summary.store.owner_description}")
    # Before its first process a store has no owner, and all facts that have a vector are still to be added.
    if not summary.store.owner and not folder.exists() and (summary.store.lag or summary.embedder is None):
        return ok(f"{_OPENER} creates {folder}")
    file = check_database_file(folder / CHROMA_FILE)
    if file.problem or not file.is_present:
        remedy = f"nothing: {_OPENER} rebuilds it from the database, without calling a model"
        return warn(f"{folder} is damaged ({file.problem or f'{CHROMA_FILE} is missing'})", remedy)
    return ok(f"{folder} is intact, and no process has it open")


def _lag_findings(state: StoreState) -> list[Finding]:
    """Return findings about facts not yet in the store, and about forgotten text that files may still contain."""
    findings = ok(f"still to be copied from the database: {pluralize(state.lag, 'fact')}") if state.lag else []
    if state.erasures:
        message = f"{pluralize(state.erasures, 'forget')} may still have text in files"
        findings += warn(message, f"nothing else: {_OPENER} rewrites them in seconds")
    return findings


def check_conversations(context: CheckContext) -> list[Finding]:
    """Report how many are pending, which failed and why, and whether anything sweeps."""
    if context.summary is None:
        return skip(context.unread_reason)
    settings, pending = context.config.memory, context.summary.pending
    if not pending:
        return ok("none is pending")
    if not settings.enabled or not settings.auto_ingest:
        key = "memory.auto_ingest" if settings.enabled else "memory.enabled"
        return ok(f"{pluralize(len(pending), 'conversation')} not learned, because `{key}` is false")
    failed = [each for each in pending if each.attempts]
    findings: list[Finding] = []
    if failed:
        is_parked = all(each.parked for each in failed)
        first = failed[0]
        message = f"{pluralize(len(failed), 'conversation')} failed, such as {first.key.session}: {first.reason}"
        findings += warn(message, failure_remedy(settings.llm.provider, is_parked=is_parked))
    quiet = [each for each in pending if not each.attempts]
    return findings + (_quiet_findings(quiet, context) if quiet else [])


def _quiet_findings(quiet: Sequence[PendingConversation], context: CheckContext) -> list[Finding]:
    count, quiet_since = pluralize(len(quiet), "conversation"), format_time(quiet[0].touched)
    message = f"{count} not learned yet, the oldest quiet since {quiet_since}"
    now, idle_seconds = time.time(), context.config.sessions.idle_consolidate_minutes * 60
    overdue_since = quiet_cutoff(now - OVERDUE_SECONDS, idle_seconds=idle_seconds)
    if not any(is_due(each, now=now, quiet_since=overdue_since) for each in quiet):
        return ok(message)
    is_of_agent = context.config.memory.llm.is_of_agent
    remedy = MISSING_AGENT_MODEL_REMEDY if is_of_agent else "start the process of the agent, or run `gaia sweep`"
    return warn(f"{message}: nothing seems to sweep", remedy)


def check_tokens(context: CheckContext) -> list[Finding]:
    """Show what memory's questions took; those of this report and of the agents are not counted."""
    if context.summary is None:
        return skip(context.unread_reason)
    found = {span.replace("_", " "): used for span, used in context.summary.usage.items() if used}
    return [Finding("ok", f"{span}: {_list_tokens(used)}") for span, used in found.items()] or ok("none in 30 days")


def _list_tokens(used: Mapping[TokenPurpose, TokenUsage]) -> str:
    """Return the tokens by purpose; `~` marks what is estimated at least in part."""
    lines = []
    for purpose, each in sorted(used.items()):
        mark, cached = "~" if each.estimated else "", f" ({each.cached:,} cached)" if each.cached else ""
        lines.append(f"{purpose} {mark}{each.input:,}{cached} in, {mark}{each.output:,} out")
    return "; ".join(lines)
