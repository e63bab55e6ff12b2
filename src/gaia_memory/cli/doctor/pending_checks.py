"""Conversations that wait to be learned."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

from gaia_memory.cli.doctor.checks import Finding, Patient, ok, skipped, warn
from gaia_memory.cli.ui.terminal import counted
from gaia_memory.health import at
from gaia_memory.models import Pending

PATIENCE_SECONDS = 900.0
"""How long after it is due a conversation may wait before it looks as if nobody sweeps."""

_PART = "conversations"
_NAMED = 5
_LATER = "they are tried again by themselves; `gaia sweep --force` tries now"
_PARKED = "put right what it names, then `gaia sweep --force`: by itself only a new message tries it again"


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
    by_reason = _by_reason(failed)
    findings = [finding for alike in by_reason[:_NAMED] for finding in _failed(alike)]
    if more := sum(map(len, by_reason[_NAMED:])):
        findings += warn(_PART, f"{more} more failed for other reasons", "put right what the reasons name")
    return findings + _quiet([each for each in waiting if not each.attempts], failed, patient)


def _by_reason(failed: Sequence[Pending]) -> list[list[Pending]]:
    """Return those that failed alike together, the most first."""
    alike: defaultdict[tuple[bool, str | None], list[Pending]] = defaultdict(list)
    for each in failed:
        alike[each.parked, each.reason].append(each)
    return sorted(alike.values(), key=len, reverse=True)


def _failed(alike: Sequence[Pending]) -> list[Finding]:
    first, tries = alike[0], max(each.attempts for each in alike)
    since = min((each.failing_since for each in alike if each.failing_since is not None), default=None)
    who = f"{first.key.session} of the app {first.key.app} failed {counted(tries, 'time')}"
    if len(alike) > 1:
        who = (
            f"{counted(len(alike), 'conversation')}, such as {first.key.session}, failed up to {counted(tries, 'time')}"
        )
    says = f"{who}{'' if since is None else f' since {at(since)}'}: {first.reason or 'no reason is noted'}"
    if first.parked:
        return warn(_PART, f"{says}; parked after too many bad answers", _PARKED)
    next_tries = [each.retry_at for each in alike if each.retry_at is not None]
    return warn(_PART, f"{says}; next try {at(min(next_tries))}" if next_tries else says, _LATER)


def _quiet(waiting: Sequence[Pending], failed: Sequence[Pending], patient: Patient) -> list[Finding]:
    if not waiting:
        return []
    says = f"{counted(len(waiting), 'conversation')} to be learned, the oldest quiet since {at(waiting[0].touched)}"
    due = waiting[0].touched + patient.config.sessions.idle_consolidate_minutes * 60
    now = time.time()
    if now - due < PATIENCE_SECONDS:
        return ok(_PART, says)
    if any((each.retry_at or each.failing_since or 0.0) > now - PATIENCE_SECONDS for each in failed):
        return ok(_PART, f"{says}: not tried while others fail")
    apps = ", ".join(sorted({each.key.app for each in waiting}))
    return warn(_PART, f"{says}: nobody seems to sweep", f"start what runs {apps}, or run `gaia sweep`")
