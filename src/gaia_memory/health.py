"""How memory is doing for one person, in words: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.models import Away, MemoryState, Pending

_OFF = ("memory is off", "set `memory.enabled: true` in gaia.yaml")
_STORE = "facts are safe in the database; the store is rebuilt by itself when it can be"
_LATER = "they are tried again by themselves; `gaia sweep --force` tries now"
_PARKED = "put right what it names, then `gaia sweep --force`: by themselves they are tried with the next message"
_ASIDE = (
    "where that database was lost, put it back: this may be the last copy of its facts; else remove what is set aside, "
    "for no forget reaches it"
)
_UNREAD = (
    "a process that runs that app learns them once somebody speaks in it; so does one whose gaia.yaml has it as `app` "
    "and its session database as `sessions.database_url`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What decides how memory is doing: the settings, the store's trouble, the model that is away, what waits.

    `aside` are places of stores that something else had filled.
    """

    live: LiveConfig
    trouble: str | None
    away: Away | None
    pending: Sequence[Pending]
    readable: Collection[str]
    aside: Sequence[str] = ()

    def told(self) -> tuple[MemoryState, str, str]:
        """Return the state with its reason and remedy, the gravest first."""
        not_taken = self.live.trouble
        if not self.live.config.memory.enabled:
            reason, remedy = _OFF
            if not_taken:
                reason, remedy = f"{reason}; {not_taken.reason}", not_taken.remedy
            return "disabled", reason, remedy
        if not_taken:
            return "degraded", not_taken.reason, not_taken.remedy
        if self.trouble:
            return "degraded", self.trouble, _STORE
        reason, remedy = self._of_talk()
        if not reason and self.aside:
            reason, remedy = set_aside(self.aside)
        return ("degraded" if reason else "ok"), reason, remedy

    def _of_talk(self) -> tuple[str, str]:
        failing = [waiting for waiting in self.pending if waiting.attempts]
        if failing:
            return self._why(failing)
        if self.pending and self.away is not None:
            return f"{len(self.pending)} conversation(s) wait: {self.away.reason}{_away(self.away)}", _LATER
        unread = sorted({waiting.key.app for waiting in self.pending} - set(self.readable))
        if unread:
            return (
                f"conversations of {', '.join(map(repr, unread))} wait: this process cannot read their sessions",
                _UNREAD,
            )
        return "", ""

    def _why(self, failing: Sequence[Pending]) -> tuple[str, str]:
        says = f"{len(failing)} conversation(s) could not be learned yet: {failing[0].reason}"
        if all(waiting.parked for waiting in failing):
            return f"{says}; parked after too many bad answers", _PARKED
        if self.away is not None:
            return f"{says}{_away(self.away)}", _LATER
        tries = [waiting.retry_at for waiting in failing if waiting.retry_at is not None and not waiting.parked]
        return (f"{says}; next try {at(min(tries))}" if tries else says), _LATER


def set_aside(places: Sequence[str]) -> tuple[str, str]:
    """Return what is to be said of stores that something else had filled, and what to do about them."""
    return f"what another database knew is set aside in {', '.join(places)}", _ASIDE


def untouched(places: Sequence[str]) -> str:
    """Return what a forget has to say of stores that were set aside."""
    return f"what is set aside in {', '.join(places)} was not touched, and may hold text of it until you remove it"


def at(moment: float) -> str:
    """Return seconds since the epoch as date and time of this machine."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _away(away: Away) -> str:
    return f"; no answer since {at(away.since)}, next try {at(away.until)}"
