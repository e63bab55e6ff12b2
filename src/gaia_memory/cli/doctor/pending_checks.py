"""Pending conversations."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

from gaia_memory.cli.doctor.checks import CheckContext, Finding, ok, skip, warn
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.health import format_time
from gaia_memory.models import PendingConversation
from gaia_memory.ports.quiet_conversations import is_due, quiet_cutoff

OVERDUE_SECONDS = 900.0
"""How long a conversation may be overdue before the check reports that nothing sweeps."""

_PART = "conversations"
_MAX_NAMED_REASONS = 5
_RETRY_HINT = "they are tried again automatically; `gaia sweep --force` tries now"
_PARKED_HINT = "correct the cause, then run `gaia sweep --force`; otherwise only a new message tries it again"


async def check_conversations(context: CheckContext) -> list[Finding]:
    """Report how many are pending, which failed and why, and whether anything sweeps."""
    if context.summary is None:
        return skip(_PART, context.unread_reason)
    settings = context.config.memory
    waiting = context.summary.pending
    if not waiting:
        return ok(_PART, "none is pending")
    if not settings.enabled or not settings.auto_ingest:
        key = "memory.auto_ingest" if settings.enabled else "memory.enabled"
        return ok(_PART, f"{pluralize(len(waiting), 'conversation')} not learned, because `{key}` is false")
    failed = [each for each in waiting if each.attempts]
    by_reason = _by_reason(failed)
    findings = [finding for alike in by_reason[:_MAX_NAMED_REASONS] for finding in _failure_findings(alike)]
    if more := sum(map(len, by_reason[_MAX_NAMED_REASONS:])):
        findings += warn(_PART, f"{more} more failed for other reasons", "correct their causes")
    return findings + _quiet_findings([each for each in waiting if not each.attempts], failed, context)


def _by_reason(failed: Sequence[PendingConversation]) -> list[list[PendingConversation]]:
    """Return groups that failed for the same reason, the largest first."""
    groups: defaultdict[tuple[bool, str | None], list[PendingConversation]] = defaultdict(list)
    for each in failed:
        groups[each.parked, each.reason].append(each)
    return sorted(groups.values(), key=len, reverse=True)


def _failure_findings(group: Sequence[PendingConversation]) -> list[Finding]:
    first, attempts = group[0], max(each.attempts for each in group)
    since = min((each.failing_since for each in group if each.failing_since is not None), default=None)
    subject = f"{first.key.session} of the app {first.key.app} failed {pluralize(attempts, 'time')}"
    if len(group) > 1:
        conversations, times = pluralize(len(group), "conversation"), pluralize(attempts, "time")
        subject = f"{conversations}, such as {first.key.session}, failed up to {times}"
    message = (
        f"{subject}{'' if since is None else f' since {format_time(since)}'}: {first.reason or 'no reason is recorded'}"
    )
    if first.parked:
        return warn(_PART, f"{message}; parked after too many bad answers", _PARKED_HINT)
    next_tries = [each.retry_at for each in group if each.retry_at is not None]
    return warn(_PART, f"{message}; next try {format_time(min(next_tries))}" if next_tries else message, _RETRY_HINT)


def _quiet_findings(
    waiting: Sequence[PendingConversation], failed: Sequence[PendingConversation], context: CheckContext
) -> list[Finding]:
    if not waiting:
        return []
    conversations, quiet_since = pluralize(len(waiting), "conversation"), format_time(waiting[0].touched)
    message = f"{conversations} to be learned, the oldest quiet since {quiet_since}"
    now = time.time()
    idle_seconds = context.config.sessions.idle_consolidate_minutes * 60
    overdue_since = quiet_cutoff(now - OVERDUE_SECONDS, idle_seconds=idle_seconds)
    if not any(is_due(each, now=now, quiet_since=overdue_since) for each in waiting):
        return ok(_PART, message)
    if any((each.retry_at or each.failing_since or 0.0) > now - OVERDUE_SECONDS for each in failed):
        return ok(_PART, f"{message}: not tried while others fail")
    apps = ", ".join(sorted({each.key.app for each in waiting}))
    return warn(_PART, f"{message}: nothing seems to sweep", f"start the process that runs {apps}, or run `gaia sweep`")
