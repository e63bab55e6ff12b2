"""How memory is doing for one person, in words: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.models import MemoryState, ModelOutage, PendingConversation

_DISABLED_STATUS = ("memory is off", "set `memory.enabled: true` in gaia.yaml")
_STORE_REMEDY = "facts are safe in the database; the store is rebuilt by itself when it can be"
_RETRY_REMEDY = "they are tried again by themselves; `gaia sweep --force` tries now"
_PARKED_REMEDY = (
    "put right what it names, then `gaia sweep --force`: by themselves they are tried with the next message"
)
_QUARANTINE_REMEDY = (
    "where that database was lost, put it back: this may be the last copy of its facts; else remove what is set aside, "
    "for no forget reaches it"
)
_UNREADABLE_APP_REMEDY = (
    "a process that runs that app learns them once somebody speaks in it; so does one whose gaia.yaml has it as `app` "
    "and its session database as `sessions.database_url`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """What decides how memory is doing: the settings, the store's trouble, the model that is away, what waits.

    `quarantined` are places of stores that something else had filled.
    """

    live: LiveConfig
    store_problem: str | None
    outage: ModelOutage | None
    pending: Sequence[PendingConversation]
    readable_apps: Collection[str]
    quarantined: Sequence[str] = ()

    def evaluate(self) -> tuple[MemoryState, str, str]:
        """Return the state with its reason and remedy, the gravest first."""
        config_problem = self.live.problem
        if not self.live.config.memory.enabled:
            reason, remedy = _DISABLED_STATUS
            if config_problem:
                reason, remedy = f"{reason}; {config_problem.reason}", config_problem.remedy
            return "disabled", reason, remedy
        if config_problem:
            return "degraded", config_problem.reason, config_problem.remedy
        if self.store_problem:
            return "degraded", self.store_problem, _STORE_REMEDY
        reason, remedy = self._conversation_problem()
        if not reason and self.quarantined:
            reason, remedy = quarantine_problem(self.quarantined)
        return ("degraded" if reason else "ok"), reason, remedy

    def _conversation_problem(self) -> tuple[str, str]:
        failing = [waiting for waiting in self.pending if waiting.attempts]
        if failing:
            return self._failure_problem(failing)
        if self.pending and self.outage is not None:
            return (
                f"{len(self.pending)} conversation(s) wait: {self.outage.reason}{_outage_note(self.outage)}",
                _RETRY_REMEDY,
            )
        unreadable_apps = sorted({waiting.key.app for waiting in self.pending} - set(self.readable_apps))
        if unreadable_apps:
            return (
                f"conversations of {', '.join(map(repr, unreadable_apps))} wait: "
                "this process cannot read their sessions",
                _UNREADABLE_APP_REMEDY,
            )
        return "", ""

    def _failure_problem(self, failing: Sequence[PendingConversation]) -> tuple[str, str]:
        reason = f"{len(failing)} conversation(s) could not be learned yet: {failing[0].reason}"
        if all(waiting.parked for waiting in failing):
            return f"{reason}; parked after too many bad answers", _PARKED_REMEDY
        if self.outage is not None:
            return f"{reason}{_outage_note(self.outage)}", _RETRY_REMEDY
        retry_times = [waiting.retry_at for waiting in failing if waiting.retry_at is not None and not waiting.parked]
        return (f"{reason}; next try {format_time(min(retry_times))}" if retry_times else reason), _RETRY_REMEDY


def quarantine_problem(locations: Sequence[str]) -> tuple[str, str]:
    """Return what is to be said of stores that something else had filled, and what to do about them."""
    return f"what another database knew is set aside in {', '.join(locations)}", _QUARANTINE_REMEDY


def quarantine_note(locations: Sequence[str]) -> str:
    """Return what a forget has to say of stores that were set aside."""
    return f"what is set aside in {', '.join(locations)} was not touched, and may hold text of it until you remove it"


def format_time(moment: float) -> str:
    """Return seconds since the epoch as date and time of this machine."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _outage_note(outage: ModelOutage) -> str:
    return f"; no answer since {format_time(outage.since)}, next try {format_time(outage.retry_at)}"
