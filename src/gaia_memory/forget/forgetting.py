"""The part of `Memory` that forgets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.forget.delete import ForgetPreview, Forgetter
from gaia_memory.health import foreign_stores_note
from gaia_memory.models import Filters, Receipt, Scope
from gaia_memory.ports import Clock

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.ledger.memory_stores import MemoryStores


class ForgettingMixin:
    """Forgets facts, conversations and people, and tells before what that would meet."""

    clock: Clock
    stores: MemoryStores
    follower: StoreFollower

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    async def preview_forget(
        self, scope: Scope, *, session_id: str | None = None, filters: Filters | None = None
    ) -> ForgetPreview:
        """Return what `forget` would meet, for a question to the user; works while memory is off."""
        await self._require(scope, enabled=False)
        return await Forgetter(*self.stores).preview(scope, session_id, filters)

    async def forget(
        self,
        scope: Scope,
        *,
        fact_id: str | None = None,
        session_id: str | None = None,
        filters: Filters | None = None,
        copies: bool = False,
    ) -> Receipt:
        """Forget everything, one fact, what only one conversation taught, or what passes filters of `recall`.

        It works while memory is off.

        Nothing forgotten is shown once this returns. The files are rewritten in the background (`Receipt.pending`,
        `settled`). An unknown or foreign id gives a count of 0.

        Other scopes are not touched: `Receipt.copies` counts the facts that imports made there from the forgotten
        ones. `copies=True` deletes those without another source, also after the forget; it is for hosts and admins.

        Raises:
            InvalidInputError: more than one of `fact_id`, `session_id` and `filters` is given, or the filters are
                empty or have another form.
        """
        await self._require(scope, enabled=False)
        forgetter = Forgetter(*self.stores)
        now = self.clock.now()
        receipt = await forgetter.forget(
            scope, fact_id=fact_id, session_id=session_id, filters=filters, copies=copies, now=now
        )
        if foreign := await self.follower.foreign_stores():
            receipt = replace(receipt, notes=(*receipt.notes, foreign_stores_note(foreign)))
        self.follower.wake()
        return receipt
