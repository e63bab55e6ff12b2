"""The part of `Memory` that lists what is due."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.models import Fact, Scope
from gaia_memory.models.validation import raise_invalid
from gaia_memory.ports import Clock
from gaia_memory.reminders.announcer import LEASE, Announce, Announcer
from gaia_memory.reminders.due_items import list_due
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

DUE_WINDOW = timedelta(days=7)
"""How long before it is due a fact is shown."""

_MAX_WINDOW = timedelta(days=36_500)


class DueReadingMixin:
    """Reads what is due."""

    clock: Clock
    stores: MemoryStores

    @property
    @abstractmethod
    def config(self) -> GaiaConfig:
        """The settings in force."""

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    async def due(self, scope: Scope, within: timedelta = DUE_WINDOW, *, include_sensitive: bool = False) -> list[Fact]:
        """Return the facts that are due within this time or overdue, soonest first; no sensitive ones unless asked for.

        A fact is shown from `within` before it is due until `update(…, reminded_at=…)`. A reminder before it is due
        silences it until then. A recurring fact has as `due_at` the last time that passed without a reminder, otherwise
        the next one, in its `due_zone` (without one in `memory.time_zone`).

        Raises:
            InvalidInputError: `within` is no `timedelta` from 0 to 36,500 days.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        is_time: bool = isinstance(within, timedelta)
        if not is_time or not timedelta() <= within <= _MAX_WINDOW:
            raise_invalid("within", within, "pass a timedelta from 0 to 36,500 days")
        now = self.clock.now()
        async with self.stores.database.single_statement(only_reads=True) as tx:
            facts = await self.stores.facts.due_facts.due(tx, scope, until=now + within)
        if not include_sensitive:
            facts = [fact for fact in facts if not fact.sensitive]
        if not facts:
            return []
        arguments = facts, now, now + within, self.config.memory.zone
        # Recurrences may read the file of a zone and are some computing.
        recur = any(fact.every is not None for fact in facts)
        return await run_in_thread(list_due, *arguments) if recur else list_due(*arguments)

    def announcer(self, announce: Announce, *, lease: timedelta = LEASE) -> Announcer:
        """Return what announces facts of the configured app as they become due, by calling `announce` with each."""
        return Announcer(self.stores, self.clock, lambda: self.config, announce, lease=lease)
