"""The marks that turns leave in the ledger: who talks, and that there is something to learn."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.models import Invocation, LedgerRow, SessionKey, Talker
from gaia_memory.ports import Clock, Database, Ledger, Transaction
from gaia_memory.ports.ledger import ACTIVE_SECONDS, CLEAR_SECONDS, runs
from gaia_memory.sessions.turns.turn_lease import SHARED, Hold, now
from gaia_memory.sessions.turns.unrecorded_turns import OwedTurns
from gaia_memory.telemetry import about

logger = logger_for(__name__)

RENEW_SECONDS = 20.0
"""How often a turn that is under way says so in the ledger."""

UNRENEWED_SECONDS = 45.0
"""How long the mark of another process may go without a renewal until its turn counts as broken off."""

CLEAR_WAIT_SECONDS = 5.0
"""How long a turn waits for a clear; a clear takes milliseconds unless its process died in it."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25

_MarkTurn = Callable[..., Awaitable[LedgerRow]]
"""How the ledger marks a turn: counted or not."""


class TurnMarks:
    """Says in the ledger who talks. Each mark is one short transaction."""

    def __init__(self, database: Database, ledger: Ledger, clock: Clock, *, owner: str) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._owner = owner
        self._here: dict[str, Hold] = {}
        self._owed = OwedTurns()

    def hold(
        self, key: SessionKey, *, is_foreign: bool = False, may_vanish: bool = False, is_shared: bool = False
    ) -> Hold:
        """Return a hold that is not taken yet: `take` it, and `leave` it in the end."""
        owner = f"{self._owner}/{secrets.token_hex(4)}{SHARED if is_shared else ''}"
        return Hold(key, owner, is_foreign=is_foreign, may_vanish=may_vanish, is_shared=is_shared)

    async def take(self, hold: Hold, *, seconds: float | None = None) -> LedgerRow:
        """Mark the conversation as talked in; return its row.

        It waits for a clear that is under way and, unless the hold is shared, while somebody else talks in it: at
        most so many `seconds`, and not for who is gone. Taking it once more renews it.
        """
        return await self._take(hold, self._ledger.hold, seconds)

    async def count(
        self, hold: Hold, invocation: Invocation | None = None, *, seconds: float | None = None
    ) -> LedgerRow:
        """Do as `take`, and count a turn; one that cannot be counted now is owed.

        An `invocation` said while the clock is behind what was learned is remembered, so that it is learned, too.
        """
        try:
            row = await self._take(hold, self._ledger.begin_turn, seconds, invocation)
        except (MemoryUnavailable, OSError):
            self._owed.owe(hold, invocation)
            raise
        hold.is_counted = True
        self._owed.counted(hold, invocation)
        return row

    def owe(self, key: SessionKey, invocation: Invocation) -> None:
        """Have a turn counted later that somebody else's Runner has run while memory could not be opened."""
        hold = self.hold(key, is_foreign=True, is_shared=True)
        hold.is_over = True
        self._owed.owe(hold, invocation)

    async def pay(self) -> None:
        """Count the turns that were said while the ledger was away.

        Raises:
            MemoryUnavailable: it still is.
        """
        for said, invocation in self._owed.over:
            hold = self.hold(said.key, is_foreign=said.is_foreign, is_shared=True)
            hold.set_back = said.set_back
            try:
                await self._take(hold, self._ledger.begin_turn, 0.0, invocation)
                hold.is_counted = True
            finally:
                await self.leave(hold)
            self._owed.counted(said, invocation)

    async def after_clear(self, key: SessionKey) -> LedgerRow | None:
        """Return a conversation's row once nobody clears it; nothing is written."""
        wait = _Wait(key, None)
        while True:
            row = await self.row(key)
            if row is None or wait.is_past_clear:
                return row
            if not runs(row.clearing_until, now=self._now(), longest=CLEAR_SECONDS):
                return row
            wait.for_others(row)
            await asyncio.sleep(wait.pause())

    async def leave(self, hold: Hold) -> None:
        """Let others talk in the conversation, or clear it; a turn that was counted is over since now."""
        hold.is_over = True
        if hold.timer is not None:
            hold.timer.cancel()
        if hold.renewal is not None:
            await asyncio.wait({hold.renewal})
        if hold.row is not None:
            await self._end(hold, hold.until)
        elif hold.until is not None:
            # Whether it was written is not known; it ends by itself in time.
            with suppress(MemoryUnavailable, OSError):
                await self._end(hold, hold.until)
        self._here.pop(hold.owner, None)

    async def is_private(self, key: SessionKey) -> bool:
        """Say whether nothing said in a conversation is learned."""
        row = await self.row(key)
        return row is not None and row.is_private

    async def keep_private(self, key: SessionKey, is_private: bool) -> None:
        """Note whether what is said in a conversation from now on is to be learned."""
        async with self._database.transaction() as tx:
            await self._ledger.keep_private(tx, key, is_private=is_private)

    async def asks_of_rows(self, key: SessionKey) -> bool:
        """Say whether some rows were shown in a conversation that a yes forgets, and nothing was answered."""
        row = await self.row(key)
        return row is not None and row.asks_of_rows

    async def ask_of_rows(self, key: SessionKey, asks: bool) -> None:
        """Note that it is so, or no longer; what stands already is not written."""
        if await self.asks_of_rows(key) != asks:
            async with self._database.transaction() as tx:
                await self._ledger.ask_of_rows(tx, key, asks=asks)

    async def keep_out(self, key: SessionKey, event_ids: Collection[str]) -> None:
        """Never learn from these events."""
        async with self._database.transaction() as tx:
            await self._ledger.skip(tx, key, event_ids)

    async def row(self, key: SessionKey) -> LedgerRow | None:
        """Return what the ledger knows of a conversation."""
        async with self._database.reading() as tx:
            return await self._ledger.row(tx, key)

    async def _take(
        self, hold: Hold, mark: _MarkTurn, seconds: float | None, invocation: Invocation | None = None
    ) -> LedgerRow:
        is_new = hold.row is None
        try:
            hold.row = await self._when_free(hold, mark, _Wait(hold.key, seconds), invocation)
        except asyncio.CancelledError:
            if is_new:
                # It may be written all the same, and nobody else would end it.
                await self.leave(hold)
            raise
        self._here[hold.owner] = hold
        self._renew_later(hold)
        return hold.row

    async def _when_free(self, hold: Hold, mark: _MarkTurn, wait: _Wait, invocation: Invocation | None) -> LedgerRow:
        while True:
            moment = self._now()
            hold.until = moment + ACTIVE_SECONDS
            who = Talker(
                owner=hold.owner,
                waits=not wait.is_past_clear,
                alone=not hold.is_shared and not wait.is_past_turns,
                is_foreign=hold.is_foreign,
                invocation=invocation,
            )
            async with self._database.transaction() as tx:
                row = await mark(tx, hold.key, who, now=moment, active_seconds=ACTIVE_SECONDS)
            if row.clearing is None and row.active_owner == hold.owner:
                return row
            if wait.for_others(row):
                await self._give_up(row, is_silent=wait.is_silent)
            await asyncio.sleep(wait.pause())

    async def _end(self, hold: Hold, until: float | None) -> None:
        async with self._database.transaction() as tx:
            for invocation in hold.set_back:
                await self._ledger.note_late(tx, hold.key, invocation)
            if hold.is_counted:
                await self._ledger.end_turn(tx, hold.key, now=self._now(), owner=hold.owner)
            elif until is not None:
                await self._ledger.let_go(tx, hold.key, until=until, owner=hold.owner)
            await self._hand_over(tx, hold)

    async def _hand_over(self, tx: Transaction, hold: Hold) -> None:
        """Leave the mark to a turn that shared it and still goes on: nobody clears what that one talks in."""
        others = (each for each in self._here.values() if each.key == hold.key and each is not hold and each.is_alive)
        for other in others:
            moment = self._now()
            other.until = moment + ACTIVE_SECONDS
            await self._ledger.renew_turn(tx, hold.key, now=moment, active_seconds=ACTIVE_SECONDS, owner=other.owner)
            return

    async def _give_up(self, row: LedgerRow, *, is_silent: bool) -> None:
        """End a mark that nobody will end: of a turn of this process that was cancelled, or one that fell silent."""
        owner, until = row.active_owner, row.active_until
        here = self._here.get(owner) if owner is not None else None
        if here is not None and not here.is_alive:
            await self.leave(here)
        elif here is None and is_silent and owner is not None and until is not None:
            async with self._database.transaction() as tx:
                await self._ledger.let_go(tx, row.key, until=until, owner=owner)

    def _renew_later(self, hold: Hold) -> None:
        if hold.timer is not None:
            hold.timer.cancel()
        hold.timer = asyncio.get_running_loop().call_later(RENEW_SECONDS, self._renew_soon, hold)

    def _renew_soon(self, hold: Hold) -> None:
        """Renew a hold that is alive; one that has been silent for too long is not looked after any more."""
        if hold.is_over:
            return
        if hold.is_alive:
            hold.renewal = asyncio.get_running_loop().create_task(self._renew(hold), name="gaia-turn")
        elif hold.silence > ACTIVE_SECONDS:
            self._here.pop(hold.owner, None)
            return
        self._renew_later(hold)

    async def _renew(self, hold: Hold) -> None:
        # A database that is away for a moment costs one renewal: the mark outlasts many.
        with suppress(MemoryUnavailable):
            async with self._database.transaction() as tx:
                if hold.is_over:
                    return
                moment = self._now()
                hold.until = moment + ACTIVE_SECONDS
                await self._ledger.renew_turn(tx, hold.key, now=moment, active_seconds=ACTIVE_SECONDS, owner=hold.owner)

    def _now(self) -> float:
        return self._clock.now().timestamp()


class _Wait:
    """For whom a turn still waits, and since when."""

    def __init__(self, key: SessionKey, seconds: float | None) -> None:
        self._key = key
        self._ends = None if seconds is None else now() + seconds
        self._clear: tuple[str | None, float] = (None, 0.0)
        self._mark: tuple[str | None, float | None, float] = (None, None, 0.0)
        self._pause = _FIRST_PAUSE
        self.is_past_clear = False
        self.is_past_turns = seconds == 0

    @property
    def is_silent(self) -> bool:
        """Whether the mark of another one's turn has not been renewed for long."""
        return now() - self._mark[2] >= UNRENEWED_SECONDS

    def for_others(self, row: LedgerRow) -> bool:
        """Note who is in the way; say whether that is somebody's turn, not a clear.

        A clear is waited for a while only: talk that is not counted is never learned.
        """
        moment = now()
        is_shared = (row.active_owner or "").endswith(SHARED)
        self.is_past_turns = is_shared or (self._ends is not None and moment >= self._ends)
        if row.clearing is None:
            if self._mark[:2] != (row.active_owner, row.active_until):
                self._mark = (row.active_owner, row.active_until, moment)
            return True
        if self._clear[0] != row.clearing:
            self._clear = (row.clearing, moment)
        if moment - self._clear[1] >= CLEAR_WAIT_SECONDS:
            self.is_past_clear = True
            fields = about("clear.waits", self._key, owner=row.clearing)
            logger.warning(
                "conversation %s is still being cleared by %s", self._key.session, row.clearing, extra=fields
            )
        return False

    def pause(self) -> float:
        """Return how long to wait before the next look: a little longer each time, and not in step with others."""
        pause, self._pause = self._pause, min(self._pause * 1.5, _LONGEST_PAUSE)
        return pause * random.uniform(0.75, 1.25)
