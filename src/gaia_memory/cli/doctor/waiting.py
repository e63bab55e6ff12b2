"""Conversations that wait to be learned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gaia_memory.cli.doctor.finding import Finding, Patient, ok, skipped, warn
from gaia_memory.cli.terminal import counted
from gaia_memory.models import Pending

PATIENCE_SECONDS = 900.0
"""How long after it is due a conversation may wait before it looks as if nobody sweeps."""

_PART = "conversations"
_NAMED = 5


async def conversations(patient: Patient) -> list[Finding]:
    """Say how many wait, which failed and why, and whether anybody is learning at all."""
    if patient.held is None:
        return skipped(_PART, patient.unread)
    settings = patient.config.memory
    waiting = patient.held.pending
    if not waiting:
        return ok(_PART, "none waits to be learned")
    if not settings.enabled or not settings.auto_ingest:
        key = "memory.auto_ingest" if settings.enabled else "memory.enabled"
        return ok(_PART, f"{counted(len(waiting), 'conversation')} not learned, because `{key}` is false")
    failed = [each for each in waiting if each.attempts]
    findings = [finding for each in failed[:_NAMED] for finding in _failed(each)]
    if len(failed) > _NAMED:
        findings += warn(_PART, f"and {len(failed) - _NAMED} more failed", "put right what the reasons name")
    return findings + _quiet([each for each in waiting if not each.attempts], patient)


def _failed(waiting: Pending) -> list[Finding]:
    tries = f"{waiting.key.session} of the app {waiting.key.app} failed {counted(waiting.attempts, 'time')}"
    again = "`gaia sweep --force` tries now"
    when = ""
    if waiting.parked:
        when = "; it is parked"
        again = "put right what it names, then `gaia sweep --force`: by itself only a new message tries it again"
    elif waiting.retry_at is not None:
        when = f"; next try {_at(waiting.retry_at)}"
    return warn(_PART, f"{tries}: {waiting.reason or 'no reason is noted'}{when}", again)


def _quiet(waiting: Sequence[Pending], patient: Patient) -> list[Finding]:
    if not waiting:
        return []
    says = f"{counted(len(waiting), 'conversation')} to be learned, the oldest quiet since {_at(waiting[0].touched)}"
    due = waiting[0].touched + patient.config.sessions.idle_consolidate_minutes * 60
    if time.time() - due < PATIENCE_SECONDS:
        return ok(_PART, says)
    apps = ", ".join(sorted({each.key.app for each in waiting}))
    return warn(_PART, f"{says}: nobody seems to sweep", f"start what runs {apps}, or run `gaia sweep`")


def _at(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
