"""One run of a Runner, a marked turn or a slash command, and in which run the calling code is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from weakref import ref

from google.adk.tools.base_tool import BaseTool

from gaia_memory.adk.plugins.active_context import active_context
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.run_events import (
    ShiftedClock,
    clear_metadata,
    message_text,
    outcome_of,
    set_metadata,
    shift_clock,
    statement_of,
    tool_answers_of,
)
from gaia_memory.adk.plugins.turn_notes import TurnNotes
from gaia_memory.adk.sessions.event_mapping import CHANGES_KEY, MEMORY_OFF_KEY, PRIVATE_KEY, UNMARKED_KEY
from gaia_memory.adk.sessions.stale_session import detects_stale, reload_if_stale
from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.database.bounded_waits import DatabaseWaits
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.agreements import is_agreement
from gaia_memory.models import DEFAULT_CONTEXT, ToolTurn, TurnUsage
from gaia_memory.sessions.turn_presence import TURN_WAIT_SECONDS, TurnLease

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.tools.tool_context import ToolContext

    from gaia_memory.engine import Engine
    from gaia_memory.errors import GaiaMemoryError
    from gaia_memory.models import LedgerRow, SessionKey, UserStatement

STORED_NOTE = "The user agreed: the facts that waited for their yes are saved now. Do not save them again."
NOT_STORED_NOTE = "The user agreed to save facts, but memory could not save them now: tell the user."
"""System instructions of the turn after the tool `remember` asked for a yes."""


@dataclass(slots=True)
class InvocationState:
    """One run; `open_error` is why memory could not be opened, `ledger_row` is None if no turn was counted.

    `settings` are those with which memory was opened; the defaults in place of a configuration that is refused.

    `private_text` is the message of
    `/private`. `lease` is the lease on the conversation; it `owns_lease` unless the run is inside an outer lease: in
    our Runner, or in a tool. `may_have_due` is false if no fact of the person was due when the turn began.
    `confirmed_facts` are those that the message allowed to store, and `confirmation_note` tells the model what became
    of them. `reset_at` is the time up to which no request holds events. `notes` are None until the first request.
    `tools` are the names and outcomes of the tools that were called, by the id of the call.
    `waits` are those for the memory database.
    """

    key: SessionKey
    invocation_id: str
    command: tuple[str, str] | None
    private_text: str | None
    root_agent_name: str | None
    context: ref[InvocationContext]
    settings: MemoryConfig = field(default_factory=MemoryConfig)
    is_memory_open: bool = False
    open_error: GaiaMemoryError | None = None
    ledger_row: LedgerRow | None = None
    profile_block: str = ""
    may_have_due: bool = True
    clears_session: bool = False
    reset_at: float | None = None
    lease: TurnLease | None = None
    owns_lease: bool = False
    shifted_clock: ShiftedClock | None = None
    confirmed_facts: tuple[str, ...] = ()
    confirmation_note: str = ""
    has_changes: bool = False
    began_at: float = field(default_factory=time.time)
    tools: dict[str | None, tuple[str, str]] = field(default_factory=dict)
    tool_kind: Literal["basic", "extended"] = "extended"
    notes: TurnNotes | None = None
    notes_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waits: DatabaseWaits = field(default_factory=DatabaseWaits)

    @property
    def active_context(self) -> str:
        """The context that is active now: a tool may switch it in the middle of the run."""
        run = self.context()
        return DEFAULT_CONTEXT if run is None else active_context(run.session.state)

    @property
    def lease_owner(self) -> str:
        """The owner name of a command's lease; empty if the command runs inside a turn."""
        return "" if self.lease is None or self.lease.is_turn_recorded else self.lease.owner

    async def begin(self, engine: Engine, context: InvocationContext) -> None:
        """Acquire the conversation, count the turn, and update the session, which was loaded before.

        A command is not counted. An answer to a call and a resumed run count too: the agent's messages in them are
        learned. The turn gets metadata if memory is off, if the conversation is private, or if that is unknown.
        """
        outer_lease = self.lease = current_run().lease_of(self.key)
        if outer_lease is not None and outer_lease.has_user_message is None:
            outer_lease.has_user_message = False
        if engine.config.memory.enabled:
            row = await self._mark_turn(engine, context)
        else:
            if self.command is None:
                set_metadata(context, MEMORY_OFF_KEY, True)
            row = await self.waits.run(engine.turns.wait_for_clear(self.key)) if outer_lease is None else None
        known_row = row or (outer_lease.row if outer_lease is not None else None)
        self.reset_at = known_row.clearing.reset_at if known_row is not None else None
        if outer_lease is None and row is not None and (row.clearing.cleared_at is not None or detects_stale(context)):
            await reload_if_stale(
                context, is_deleted=row.clearing.cleared_at is not None and row.clearing.rewound_at is None
            )

    def keep_order(self, context: InvocationContext) -> None:
        """Make the run's events sort after what the session contains and what was learned from it."""
        learned = self.ledger_row.progress.watermark if self.ledger_row is not None else None
        latest = max(context.session.last_update_time, learned.timestamp if learned is not None else 0.0)
        self.shifted_clock = shift_clock(context, latest)

    async def store_confirmed_facts(self, engine: Engine, context: InvocationContext) -> None:
        """Store the facts that wait for a yes if the message is one; otherwise drop them."""
        held_facts = engine.pending_confirmations.take_facts(self.key)
        if not held_facts or is_private(context) or not is_agreement(message_text(context)):
            return
        scope = engine.scope(self.key.app, self.key.user)
        self.confirmation_note = NOT_STORED_NOTE
        with ErrorBoundary("storing a confirmed fact"):
            for text, held in held_facts.items():
                origin = replace(held.origin, turn=ToolTurn(self.key, self.invocation_id))
                saving = engine.memory.remember(
                    scope, text, origin=origin, active_context=self.active_context, **held.details
                )
                await self.waits.run(saving)
                self.has_changes = True
            self.confirmed_facts = tuple(held_facts)
            self.confirmation_note = STORED_NOTE

    async def describe_changes(
        self, open_engine: Callable[[], AbstractAsyncContextManager[Engine | None]], event: Event
    ) -> None:
        """Add what tools changed to the answer, without any text that was forgotten: ADK stores it."""
        if not (self.has_changes and event.is_final_response()):
            return
        async with open_engine() as engine:
            if engine is None:
                return
            scope, turn = engine.scope(self.key.app, self.key.user), ToolTurn(self.key, self.invocation_id)
            changes = await self.waits.run(engine.memory.tool_changes(scope, turn))
        if changes:
            shown = [{name: value for name, value in each.items() if value and name != "before"} for each in changes]
            event.custom_metadata = {**(event.custom_metadata or {}), CHANGES_KEY: shown}

    def note_tool(self, tool: BaseTool, context: ToolContext, outcome: object) -> None:
        """Note a call of a tool by its name and what became of it; of an error that is answered, the first counts."""
        # The name of a tool that does not exist is the model's.
        name = tool.name if type(tool) is not BaseTool else "unknown"
        self.tools.setdefault(context.function_call_id, (name, outcome_of(name, outcome)))

    def mark_message_stored(self) -> None:
        """Record that the message is in the session."""
        if self.lease is not None:
            self.lease.has_user_message = True

    def heartbeat(self, *, of_agent: bool = False) -> None:
        """Record that the run is alive, and that this task and those it starts belong to it."""
        if self.lease is None:
            return
        self.lease.heartbeat(is_agent_task=of_agent)
        if not self.lease.is_owner_task:
            enter_lease(self.lease)

    async def end(self, engine: Engine) -> None:
        """Mark the end of the turn; after /reset, clear the session, which ADK needs until the end of the run."""
        try:
            if self.clears_session:
                await self.waits.run(engine.consolidate(self.key, turn_owner=self.lease_owner, resets=True))
            elif self.ledger_row is None and self.command is None and engine.config.memory.enabled:
                # The ledger was unavailable at the start, which is logged; an uncounted turn would never be learned.
                with suppress(MemoryUnavailable, OSError):
                    await self._begin_turn(engine, seconds=0.0)
        finally:
            settings = engine.config.memory
            if self.lease is not None and self.ledger_row and settings.enabled and settings.usage_days:
                scope, tools = engine.scope(self.key.app, self.key.user), tuple(self.tools.values())
                began_at, channel = self.began_at, self.key.channel
                self.lease.used = TurnUsage(scope=scope, key=self.key, began_at=began_at, channel=channel, tools=tools)
            if self.lease is not None and self.owns_lease:
                await self.waits.finish(engine.turns.release(self.lease))

    async def _mark_turn(self, engine: Engine, context: InvocationContext) -> LedgerRow | None:
        if self.lease is None:
            is_shared = not detects_stale(context) or context.live_request_queue is not None
            if is_shared and self.command is not None:
                # No append can be rejected, so no lease is needed; /reset acquires its own to clear.
                return await self.waits.run(engine.conversations.row(self.key))
            self.lease = engine.turns.new_lease(self.key, is_foreign=True, may_be_cancelled=True, is_shared=is_shared)
            self.owns_lease = True
        if self.command is None:
            self.ledger_row = await self._begin_turn(engine, seconds=TURN_WAIT_SECONDS)
            clear_metadata(context, UNMARKED_KEY)
            if self.ledger_row.session.is_private:
                set_metadata(context, PRIVATE_KEY, True)
            self.lease.is_turn_private = is_private(context)
        elif self.owns_lease:
            return await self.waits.run(engine.turns.acquire(self.lease, timeout_seconds=TURN_WAIT_SECONDS))
        return self.ledger_row

    async def _begin_turn(self, engine: Engine, *, seconds: float) -> LedgerRow:
        if self.lease is None:
            self.lease = engine.turns.new_lease(self.key, is_foreign=True, is_shared=True)
            self.owns_lease = True
        counted = engine.turns.claim_turn(self.lease)
        if counted is not None:
            return counted
        return await self.waits.run(engine.turns.begin_turn(self.lease, timeout_seconds=seconds))


@dataclass(frozen=True, slots=True)
class OuterCall:
    """A call of a tool; an agent inside of the tool serves the same person, in a run with another session service."""

    session_service: BaseSessionService
    turn: InvocationState | None
    statement: UserStatement


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """What the calling code runs in: the tool `call`, the `turn`, which may have been cancelled, and all leases."""

    turn: InvocationState | None = None
    call: OuterCall | None = None
    leases: tuple[TurnLease, ...] = ()

    @property
    def outer_turn(self) -> InvocationState | None:
        """The turn that called the tool which this code is part of."""
        return None if self.call is None else self.call.turn

    @property
    def lease(self) -> TurnLease | None:
        """The lease of the turn; None outside of one, and where it could not be marked."""
        turn = self.outer_turn or self.turn
        leases = [*self.leases, *([turn.lease] if turn is not None and turn.lease is not None else [])]
        return next((lease for lease in reversed(leases) if not lease.is_released), None)

    @property
    def is_turn(self) -> bool:
        """Whether this is a turn of a Runner with memory, marked or not."""
        turn = self.outer_turn or self.turn
        return self.lease is not None or (turn is not None and turn.lease is None)

    @property
    def waits(self) -> DatabaseWaits:
        """The waits of the turn whose tool or lease this code runs under; new ones outside of a turn."""
        if (turn := self.outer_turn) is not None:
            return turn.waits
        key = next((lease.key for lease in reversed(self.leases) if not lease.is_released), None)
        return DatabaseWaits() if key is None else self.waits_of(key)

    def lease_of(self, key: SessionKey) -> TurnLease | None:
        """Return the lease of a conversation; None if there is none."""
        return next((lease for lease in reversed(self.leases) if lease.key == key and not lease.is_released), None)

    def waits_of(self, key: SessionKey) -> DatabaseWaits:
        """Return the waits of a turn of a conversation; new ones outside of it.

        A turn whose lease could not be acquired is the same turn still.
        """
        lease = next((lease for lease in reversed(self.leases) if lease.key == key), None)
        return DatabaseWaits() if lease is None or lease.waits.is_over else lease.waits

    def context_of(self, app: str, user: str) -> str | None:
        """Return the active context of a person; None outside of a turn of theirs."""
        turn = self.outer_turn or self.turn
        return None if turn is None or (turn.key.app, turn.key.user) != (app, user) else turn.active_context

    def is_in_tool_of(self, key: SessionKey) -> bool:
        """Return True inside a tool call that a running turn of a conversation waits for."""
        lease = None if self.outer_turn is None else self.outer_turn.lease
        return lease is not None and lease.key == key and not lease.is_released


_NO_RUN = CurrentRun()
_current_run: ContextVar[CurrentRun] = ContextVar("gaia_current_run", default=_NO_RUN)


def current_run() -> CurrentRun:
    """Return what the calling code runs in."""
    return _current_run.get()


def enter_turn(turn: InvocationState | None) -> None:
    """Make everything that runs in this context from here on part of a turn, or of none."""
    _current_run.set(replace(_current_run.get(), turn=turn))


def enter_lease(lease: TurnLease) -> None:
    """Make everything that runs in this context from here on run under a lease, until it is released."""
    run = _current_run.get()
    if lease not in run.leases:
        _current_run.set(replace(run, leases=(*(each for each in run.leases if not each.is_released), lease)))


def enter_tool_call(context: ToolContext, turn: InvocationState | None) -> None:
    """Make everything that runs in this context from here on part of a tool call, with the person's message."""
    call = OuterCall(context.get_invocation_context().session_service, turn, statement_of(context))
    _current_run.set(replace(_current_run.get(), call=call))
    if turn is not None:
        turn.heartbeat()


def current_statement(context: ToolContext) -> UserStatement:
    """Return the person's message of a turn.

    An agent inside a tool gets its input from the calling agent, which may well repeat something forgotten; there the
    message of the outer turn is returned.
    """
    if (call := _current_run.get().call) is None:
        return statement_of(context)
    answers = (*call.statement.tool_answers, *tool_answers_of(context.session.events))
    return replace(call.statement, tool_answers=answers)


def is_private(run: InvocationContext | ToolContext) -> bool:
    """Return True if the messages of a run are private."""
    return bool(_metadata_of(run).get(PRIVATE_KEY))


def may_be_private(run: ToolContext) -> bool:
    """Return True if the messages of a run are private, or if nobody could look that up."""
    metadata = _metadata_of(run)
    return bool(metadata.get(PRIVATE_KEY) or metadata.get(UNMARKED_KEY))


def _metadata_of(run: InvocationContext | ToolContext) -> Mapping[str, object]:
    turn = _current_run.get().outer_turn
    outer = turn.context() if turn is not None else None
    # The tools of a live session have a copy of the run's settings, and `/private` changes these in the middle.
    config = outer.run_config if outer is not None and outer.live_request_queue is not None else run.run_config
    return (config.custom_metadata or {}) if config else {}
