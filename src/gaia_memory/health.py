"""How memory is doing for one person: what is wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.ledger import load_token_sums
from gaia_memory.models import (
    UNCONFIRMED_KEY,
    UNVERIFIED_KEY,
    Fact,
    MemoryState,
    ModelOutage,
    PendingConversation,
    Scope,
    Status,
    TokenSums,
    is_same_embedder,
)
from gaia_memory.models.recurrence import can_recur
from gaia_memory.ports.external import MISSING_AGENT_MODEL_REMEDY
from gaia_memory.telemetry.token_usage import summarize_tokens
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.ledger.memory_stores import MemoryStores

_DISABLED_STATUS = ("memory is off", "set `memory.enabled: true` in gaia.yaml")
_STORE_REMEDY = "facts are safe in the database; the store is brought up to date once that is mended"
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_RETRY_REMEDY = "they are tried again automatically"
_FOREIGN_STORES_REMEDY = (
    "if that database was lost, restore it with `gaia restore`; otherwise delete the files, because no forget reaches "
    "them"
)
_UNREADABLE_APP_REMEDY = (
    "a process that runs the app learns them at its next message; so does one whose gaia.yaml has it as `app` and its "
    "session database as `sessions.database_url`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """What an engine knows about its own parts.

    `model` describes the model and the embedder in one line, and `notes` say what may surprise about them.
    `has_model_for` is false for an app whose agent has the model that learns and has not run here. `store_problem`
    keeps facts out of the mem0 store, and during an `outage` the model is not called for the user. `readable_apps` are
    those whose sessions it can read. `unsaved_tokens` are not in the database yet.
    """

    model: str
    embedder: str
    store_problem: str | None
    outage: ModelOutage | None
    readable_apps: Collection[str]
    has_model_for: Callable[[str], bool]
    notes: tuple[str, ...]
    unsaved_tokens: TokenSums


async def load_status(
    scope: Scope, live: LiveConfig, stores: MemoryStores, follower: StoreFollower, engine: EngineState
) -> Status:
    """Return the status of one person's memory.

    If the database gives no answer, that is the reason and nothing is counted.
    """
    problem = await stores.database.find_problem()
    try:
        async with stores.database.read_transaction() as tx:
            count = await stores.facts.count(tx, scope)
            unconfirmed = await stores.facts.count_marked(tx, scope, UNCONFIRMED_KEY)
            unverified = await stores.facts.count_marked(tx, scope, UNVERIFIED_KEY)
            judged = await stores.facts.comparisons.count_compared(tx, scope)
            replaced = await stores.facts.comparisons.count_replaced(tx, scope)
            queued = await stores.facts.comparisons.count_undecided(tx, scope)
            pending = await stores.ledger.pending(tx, user=scope.user, app=scope.app)
            store = await stores.outbox.store(tx)
            embedders = await stores.facts.embedders(tx)
            dated = await stores.facts.due_facts.due(tx, scope, until=_LAST_MOMENT)
            tokens = await load_token_sums(tx)
    except MemoryUnavailable as error:
        state: MemoryState = "degraded" if live.config.memory.enabled else "disabled"
        return Status(
            state=state,
            reason=error.reason,
            remedy=error.remedy,
            model=engine.model,
            embedder=engine.embedder,
            notes=engine.notes,
        )
    state, reason, remedy = _evaluate(live, engine, pending, await follower.foreign_stores())
    if state != "disabled" and problem is not None:
        state, reason, remedy = "degraded", problem.reason, problem.remedy
    elif state == "ok":
        reason, remedy = _vector_problem(engine.embedder, embedders)
        state = "degraded" if reason else "ok"
    return Status(
        state=state,
        reason=reason,
        remedy=remedy,
        facts=count,
        unconfirmed=unconfirmed,
        unverified=unverified,
        judged=judged,
        replaced=replaced,
        queued=queued,
        pending=tuple(pending),
        lag=store.lag,
        foreign_rows=follower.foreign_rows.count,
        erasures=store.erasures,
        model=engine.model,
        embedder=engine.embedder,
        store=store.store_id,
        owner=store.owner_description,
        notes=(*engine.notes, *await run_in_thread(_notes_on_recurrences, dated)),
        usage=summarize_tokens(tokens, engine.unsaved_tokens),
    )


def _notes_on_recurrences(facts: Sequence[Fact]) -> list[str]:
    failing = sum(fact.every is not None and not can_recur(fact.every) for fact in facts)
    return [f"{failing} fact(s) are due once: their recurrence cannot be computed, set it anew"] if failing else []


def _evaluate(
    live: LiveConfig, engine: EngineState, pending: Sequence[PendingConversation], foreign: Sequence[str]
) -> tuple[MemoryState, str, str]:
    """Return the state with its most serious reason and the remedy."""
    config_problem = live.problem
    if not live.config.memory.enabled:
        reason, remedy = _DISABLED_STATUS
        if config_problem:
            reason, remedy = f"{reason}; {config_problem.reason}", config_problem.remedy
        return "disabled", reason, remedy
    if config_problem:
        return "degraded", config_problem.reason, config_problem.remedy
    if engine.store_problem:
        return "degraded", engine.store_problem, _STORE_REMEDY
    reason, remedy = _conversation_problem(engine, pending, live.config.memory.llm.provider)
    if not reason and foreign:
        reason, remedy = foreign_stores_problem(foreign)
    return ("degraded" if reason else "ok"), reason, remedy


def _vector_problem(embedder: str, counts: Mapping[str, int]) -> tuple[str, str]:
    """Return the problem and the remedy of facts whose vectors another embedder made."""
    others = sum(count for name, count in counts.items() if not is_same_embedder(name, embedder))
    if not others:
        return "", ""
    reason = f"{others} of {sum(counts.values())} facts carry other vectors: they are found by their words alone"
    return reason, "`gaia memory reindex` embeds them with the configured embedder"


async def storage_problem(stores: MemoryStores, follower: StoreFollower) -> str:
    """Return what is wrong with the files of memory, such as a lost database, with the remedy; empty if nothing is."""
    problem = await stores.database.find_problem()
    if problem is not None:
        return str(problem)
    foreign = await follower.foreign_stores()
    return ": ".join(foreign_stores_problem(foreign)) if foreign else ""


def _conversation_problem(
    engine: EngineState, pending: Sequence[PendingConversation], provider: str
) -> tuple[str, str]:
    failing = [waiting for waiting in pending if waiting.attempts]
    if failing:
        return _failure_problem(failing, engine.outage, provider)
    if pending and engine.outage is not None:
        reason = f"{len(pending)} conversation(s) pending: {engine.outage.reason}{_outage_note(engine.outage)}"
        return reason, _RETRY_REMEDY
    unreadable_apps = sorted({waiting.key.app for waiting in pending} - set(engine.readable_apps))
    if unreadable_apps:
        names = ", ".join(map(repr, unreadable_apps))
        reason = f"conversations of {names} are pending: this process cannot read their sessions"
        return reason, _UNREADABLE_APP_REMEDY
    return missing_model_problem(sum(not engine.has_model_for(waiting.key.app) for waiting in pending))


def missing_model_problem(count: int) -> tuple[str, str]:
    """Return the problem and the remedy of `count` conversations whose agent, with its model, has not run here."""
    if not count:
        return "", ""
    waiting = "1 conversation waits" if count == 1 else f"{count} conversations wait"
    return f"{waiting} for the agent's own model, which this process does not have", MISSING_AGENT_MODEL_REMEDY


def failure_remedy(provider: str, *, is_parked: bool) -> str:
    """Return what helps conversations that the model of `memory.llm` failed to learn, or that are parked for it."""
    is_of_agent = provider == "agent"
    if is_parked:
        retry = "send /reset in them" if is_of_agent else "run `gaia sweep --force`"
        return f"correct the cause, then {retry}; otherwise only a new message tries them again"
    if is_of_agent:
        return "the process of the agent tries them again automatically; /reset in them tries now"
    return f"{_RETRY_REMEDY}; `gaia sweep --force` tries now"


def _failure_problem(
    failing: Sequence[PendingConversation], outage: ModelOutage | None, provider: str
) -> tuple[str, str]:
    reason = f"{len(failing)} conversation(s) could not be learned yet: {failing[0].reason}"
    is_parked = all(waiting.parked for waiting in failing)
    remedy = failure_remedy(provider, is_parked=is_parked)
    if is_parked:
        return f"{reason}; parked after too many bad answers", remedy
    if outage is not None:
        return f"{reason}{_outage_note(outage)}", remedy
    retry_times = [waiting.retry_at for waiting in failing if waiting.retry_at is not None and not waiting.parked]
    return (f"{reason}; next try {format_time(min(retry_times))}" if retry_times else reason), remedy


def foreign_stores_problem(folders: Sequence[str]) -> tuple[str, str]:
    """Return the problem and the remedy of stores that another database has filled."""
    return f"the data of another database is in {', '.join(folders)}", _FOREIGN_STORES_REMEDY


def foreign_stores_note(folders: Sequence[str]) -> str:
    """Return the note of a forget about stores that another database has filled."""
    return f"another database's data in {', '.join(folders)} was not touched and may contain forgotten text: delete it"


def format_time(moment: float) -> str:
    """Return seconds since the epoch as local date and time."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _outage_note(outage: ModelOutage) -> str:
    return f"; no answer since {format_time(outage.since)}, next try {format_time(outage.retry_at)}"
