"""One run of a Runner as memory sees it: a turn that is marked in the ledger, or a slash command."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import ref

from gaia_memory.adk.plugins.event_metadata import lift, stamp
from gaia_memory.adk.plugins.run_context import call_tool_here, held_here, hold_here
from gaia_memory.adk.sessions.event_mapping import OFF_STAMP, PRIVATE_STAMP, UNMARKED_STAMP
from gaia_memory.adk.sessions.stale_session import refuses_stale, reload_if_stale
from gaia_memory.errors import MemoryUnavailable

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext

    from gaia_memory.adk.plugins.invocation_clock import Begun
    from gaia_memory.engine import Engine
    from gaia_memory.errors import GaiaMemoryError
    from gaia_memory.models import LedgerRow, SessionKey
    from gaia_memory.sessions.turns.turn_lease import Hold

WAIT_SECONDS = 120.0
"""How long a turn in somebody else's Runner waits for another one in its session: that one may wait for this one."""


@dataclass(slots=True)
class Run:
    """One run; `trouble` is what kept memory from being opened, `row` is None where no turn was counted.

    `words` is what `/private` says in private. `hold` keeps its conversation; it `is_own` unless the run goes
    on within it: in our Runner, or in a tool.
    """

    key: SessionKey
    begun: Begun
    command: tuple[str, str] | None
    words: str | None
    root: str | None
    context: ref[InvocationContext]
    has_memory: bool = False
    trouble: GaiaMemoryError | None = None
    row: LedgerRow | None = None
    block: str = ""
    clears: bool = False
    hold: Hold | None = None
    is_own: bool = False

    @property
    def talker(self) -> str:
        """The name under which a command holds its conversation; none where it is given in the middle of a turn."""
        return "" if self.hold is None or self.hold.is_counted else self.hold.owner

    async def begin(self, engine: Engine, context: InvocationContext) -> None:
        """Hold the conversation, count the turn, and bring the session up to date that was loaded before.

        A command is not counted, and a turn while memory is off is stamped. An answer to a call and a resumed run
        count too: what the agent says then is talk to be learned. Where the conversation is private, or that
        cannot be looked up, the turn is stamped.
        """
        outer = self.hold = held_here(self.key)
        if outer is not None and outer.has_message is None:
            outer.has_message = False
        if engine.config.memory.enabled:
            row = await self._mark(engine, context)
        else:
            if self.command is None:
                stamp(context, OFF_STAMP, True)
            row = await engine.marks.after_clear(self.key) if outer is None else None
        if outer is None and row is not None and (row.cleared_at is not None or refuses_stale(context)):
            await reload_if_stale(context, is_deleted=row.cleared_at is not None and row.rewound_at is None)

    def arrived(self) -> None:
        """Note that the message is in the session."""
        if self.hold is not None:
            self.hold.has_message = True

    def sign(self, *, of_agent: bool = False) -> None:
        """Note that the run goes on, and that what this task begins runs within it."""
        if self.hold is None:
            return
        self.hold.sign(of_agent=of_agent)
        if not self.hold.is_begun_here:
            hold_here(self.hold)

    def call_tool(self) -> None:
        """Note that this task calls a tool."""
        self.sign()
        if self.hold is not None:
            call_tool_here(self.hold)

    async def end(self, engine: Engine) -> None:
        """Mark the end of the turn; after /reset, clear the session, which ADK needed until now."""
        try:
            if self.clears:
                await engine.consolidate(self.key, talker=self.talker)
            elif self.row is None and self.command is None and engine.config.memory.enabled:
                # The ledger was away when the turn began, which is logged; what is not counted is never looked for.
                with suppress(MemoryUnavailable, OSError):
                    await self._count(engine, seconds=0.0)
        finally:
            if self.hold is not None:
                await self._leave(engine, self.hold)

    async def _mark(self, engine: Engine, context: InvocationContext) -> LedgerRow | None:
        if self.hold is None:
            is_shared = not refuses_stale(context) or context.live_request_queue is not None
            if is_shared and self.command is not None:
                # Nothing is refused here, so nothing has to be kept; and a /reset clears by itself.
                return await engine.marks.row(self.key)
            self.hold = engine.marks.hold(self.key, is_foreign=True, may_vanish=True, is_shared=is_shared)
            self.is_own = True
        if self.command is None:
            self.row = await self._count(engine, seconds=WAIT_SECONDS)
            lift(context, UNMARKED_STAMP)
            if self.row.is_private:
                stamp(context, PRIVATE_STAMP, True)
            engine.turn_spans.note(self.key)
        elif self.is_own:
            return await engine.marks.take(self.hold, seconds=WAIT_SECONDS)
        return self.row

    async def _count(self, engine: Engine, *, seconds: float) -> LedgerRow:
        if self.hold is None:
            self.hold = engine.marks.hold(self.key, is_foreign=True, is_shared=True)
            self.is_own = True
        return await engine.marks.count(self.hold, self.begun.invocation, seconds=seconds)

    async def _leave(self, engine: Engine, hold: Hold) -> None:
        set_back = self.begun.set_back()
        if set_back is not None and hold.is_counted:
            hold.set_back.append(set_back)
        if self.is_own:
            await engine.marks.leave(hold)
