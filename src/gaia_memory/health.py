"""How memory is doing for one person: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import MemoryState, ModelOutage, PendingConversation, Scope, Status
from gaia_memory.ports import Follower, MemoryStores

_DISABLED_STATUS = ("memory is off", "set `memory.enabled: true` in gaia.yaml")
_STORE_REMEDY = "facts are safe in the database; the store is rebuilt automatically as soon as possible"
_RETRY_REMEDY = "they are tried again automatically; `gaia sweep --force` tries now"
_PARKED_REMEDY = "correct the cause, then run `gaia sweep --force`; otherwise only a new message tries them again"
_QUARANTINE_REMEDY = (
    "if that database was lost, restore it: this may be the last copy of its facts; otherwise delete the "
    "files, because no forget reaches them"
)
_UNREADABLE_APP_REMEDY = (
    "a process that runs the app learns them at its next message; so does one whose gaia.yaml has it as `app` and its "
    "session database as `sessions.database_url`"
)


class EngineStatus(Protocol):
    """What the engine knows about its own parts."""

    @property
    def embedder_name(self) -> str:
        """The identity of the embedder."""
        ...

    def describe_model(self) -> str:
        """Return one line: the model and the embedder, and why they differ from the expected ones."""
        ...

    def store_problem(self) -> str | None:
        """Return what keeps facts out of the mem0 store; None if nothing does."""
        ...

    def model_outage(self, user: str) -> ModelOutage | None:
        """Return why the model is not called for this user at the moment; None if it is."""
        ...

    def readable_apps(self) -> Collection[str]:
        """Return the apps whose sessions this process can read."""
        ...


async def load_status(
    scope: Scope, live: LiveConfig, stores: MemoryStores, follower: Follower, engine: EngineStatus
) -> Status:
    """Return the status of one person's memory.

    If the database gives no answer, that is the reason and nothing is counted.
    """
    model, embedder = engine.describe_model(), engine.embedder_name
    try:
        async with stores.database.read_transaction() as tx:
            count = await stores.facts.count(tx, scope)
            pending = await stores.ledger.pending(tx, user=scope.user, app=scope.app)
            store = await stores.outbox.store(tx)
    except MemoryUnavailable as error:
        state: MemoryState = "degraded" if live.config.memory.enabled else "disabled"
        return Status(state=state, reason=error.reason, remedy=error.remedy, model=model, embedder=embedder)
    health_check = HealthCheck(
        live=live,
        store_problem=engine.store_problem(),
        outage=engine.model_outage(scope.user),
        pending=pending,
        readable_apps=engine.readable_apps(),
        quarantined=await follower.quarantined_stores(),
    )
    state, reason, remedy = health_check.evaluate()
    return Status(
        state=state,
        reason=reason,
        remedy=remedy,
        facts=count,
        pending=tuple(pending),
        lag=store.lag,
        erasures=store.erasures,
        model=model,
        embedder=embedder,
        store=store.store_id,
        owner=store.owner_description,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """The inputs of a person's status.

    `quarantined` are the locations of stores that contained the data of another database.
    """

    live: LiveConfig
    store_problem: str | None
    outage: ModelOutage | None
    pending: Sequence[PendingConversation]
    readable_apps: Collection[str]
    quarantined: Sequence[str] = ()

    def evaluate(self) -> tuple[MemoryState, str, str]:
        """Return the state with its most serious reason and the remedy."""
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
                f"{len(self.pending)} conversation(s) pending: {self.outage.reason}{_outage_note(self.outage)}",
                _RETRY_REMEDY,
            )
        unreadable_apps = sorted({waiting.key.app for waiting in self.pending} - set(self.readable_apps))
        if unreadable_apps:
            return (
                f"conversations of {', '.join(map(repr, unreadable_apps))} are pending: "
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
    """Return the problem and the remedy of stores that contained the data of another database."""
    return f"the data of another database is quarantined in {', '.join(locations)}", _QUARANTINE_REMEDY


def quarantine_note(locations: Sequence[str]) -> str:
    """Return the note of a forget about quarantined stores."""
    return f"the data quarantined in {', '.join(locations)} was not touched and may contain forgotten text: delete it"


def format_time(moment: float) -> str:
    """Return seconds since the epoch as local date and time."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _outage_note(outage: ModelOutage) -> str:
    return f"; no answer since {format_time(outage.since)}, next try {format_time(outage.retry_at)}"
