"""Pending conversations."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

from gaia_memory.cli.doctor.findings import CheckContext, Finding, ok, skip, warn
from gaia_memory.cli.ui.terminal import pluralize
from gaia_memory.health import failure_remedy, format_time
from gaia_memory.models import PendingConversation
from gaia_memory.models.quiet_conversations import is_due, quiet_cutoff
from gaia_memory.ports.external import MISSING_AGENT_MODEL_REMEDY

OVERDUE_SECONDS = 900.0
"""How long a conversation may be overdue before the check reports that nothing sweeps."""

_MAX_NAMED_REASONS = 5


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
    by_reason: defaultdict[tuple[bool, str | None], list[PendingConversation]] = defaultdict(list)
    for each in failed:
        by_reason[each.parked, each.reason].append(each)
    groups = sorted(by_reason.values(), key=len, reverse=True)
    findings = [
        finding for group in groups[:_MAX_NAMED_REASONS] for finding in _failure_findings(group, settings.llm.provider)
    ]
    if more := sum(map(len, groups[_MAX_NAMED_REASONS:])):
        findings += warn(f"{more} more failed for other reasons", "correct their causes")
    quiet = [each for each in pending if not each.attempts]
    return findings + (_quiet_findings(quiet, failed, context) if quiet else [])


def _failure_findings(group: Sequence[PendingConversation], provider: str) -> list[Finding]:
    """Return the finding about conversations that failed for the same reason."""
    first, times = group[0], pluralize(max(each.attempts for each in group), "time")
    message = f"{first.key.session} of the app {first.key.app} failed {times}"
    if len(group) > 1:
        message = f"{pluralize(len(group), 'conversation')}, such as {first.key.session}, failed up to {times}"
    if starts := [each.failing_since for each in group if each.failing_since is not None]:
        message += f" since {format_time(min(starts))}"
    message += f": {first.reason or 'no reason is recorded'}"
    remedy = failure_remedy(provider, is_parked=first.parked)
    if first.parked:
        return warn(f"{message}; parked after too many bad answers", remedy)
    next_tries = [each.retry_at for each in group if each.retry_at is not None]
    return warn(f"{message}; next try {format_time(min(next_tries))}" if next_tries else message, remedy)


def _quiet_findings(
    quiet: Sequence[PendingConversation], failed: Sequence[PendingConversation], context: CheckContext
) -> list[Finding]:
    conversations, quiet_since = pluralize(len(quiet), "conversation"), format_time(quiet[0].touched)
    message = f"{conversations} not learned yet, the oldest quiet since {quiet_since}"
    now, idle_seconds = time.time(), context.config.sessions.idle_consolidate_minutes * 60
    overdue_since = quiet_cutoff(now - OVERDUE_SECONDS, idle_seconds=idle_seconds)
    if not any(is_due(each, now=now, quiet_since=overdue_since) for each in quiet):
        return ok(message)
    if any((each.retry_at or each.failing_since or 0.0) > now - OVERDUE_SECONDS for each in failed):
        return ok(f"{message}: not tried while others fail")
    apps = ", ".join(sorted({each.key.app for each in quiet}))
    remedy = f"start the process that runs {apps}, or run `gaia sweep`"
    if context.config.memory.llm.is_of_agent:
        remedy = MISSING_AGENT_MODEL_REMEDY
    elif not context.config.sessions.background_sweep:
        remedy = "run `gaia sweep` regularly, because `sessions.background_sweep` is false"
    return warn(f"{message}: nothing seems to sweep", remedy)
