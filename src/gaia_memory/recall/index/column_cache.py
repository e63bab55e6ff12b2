"""Keeps the shelves of the scopes that were asked last, each for as long as nothing of it changes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.models import Line, Scope
from gaia_memory.ports import Database, FactStore
from gaia_memory.recall.index.fact_columns import Shelf, shelf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 50_000
"""Facts of a scope up to which it is kept in memory as a whole; of larger ones the index finds candidates."""

KEPT = 100_000
"""Facts of all shelves together, at some 250 bytes each."""


@dataclass(frozen=True, slots=True)
class _Kept:
    revision: int
    shelf: Shelf


class Shelves:
    """The shelf of each scope, read from the database where it changed; only the words of what is new are read anew."""

    def __init__(self, database: Database, facts: FactStore) -> None:
        """Keep nothing yet."""
        self._database = database
        self._facts = facts
        self._kept: OrderedDict[Scope, _Kept] = OrderedDict()

    async def of(self, scope: Scope) -> Shelf | None:
        """Return the shelf of a scope as it stands now; None where it is too large for one."""
        async with self._database.reading() as tx:
            revision = (await self._facts.state(tx, scope)).revision
            kept = self._kept.get(scope)
            if kept is not None and kept.revision == revision:
                self._kept.move_to_end(scope)
                return kept.shelf
            count = await self._facts.count(tx, scope)
            if count > LARGEST:
                self._kept.pop(scope, None)
                return None
            before = None if kept is None else kept.shelf
            changed = await self._facts.lines(tx, scope, since=-1 if kept is None else kept.revision)
            is_all = before is None or await asyncio.to_thread(_count, before, changed) == count
            there = None if is_all else await self._facts.ids(tx, scope)
        shelf = await asyncio.to_thread(_renewed, before, changed, there)
        self._keep(scope, _Kept(revision, shelf))
        return shelf

    def _keep(self, scope: Scope, kept: _Kept) -> None:
        self._kept[scope] = kept
        self._kept.move_to_end(scope)
        total = sum(len(each.shelf) for each in self._kept.values())
        while total > KEPT and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            total -= len(oldest.shelf)


def _count(before: Shelf, changed: Sequence[Line]) -> int:
    """Count the facts of a shelf together with those that changed since."""
    known = before.places_of([line.id for line in changed]) >= 0
    return len(before) + len(changed) - int(known.sum())


def _renewed(before: Shelf | None, changed: Sequence[Line], there: Collection[str] | None) -> Shelf:
    """Return the shelf of a scope with what changed since `before`, and without what is no longer `there`."""
    new = shelf_of(changed)
    if before is None:
        return new
    stays = np.ones(len(before), dtype=bool)
    if there is not None:
        stays[:] = False
        stays[_known(before, there)] = True
    stays[_known(before, [line.id for line in changed])] = False
    rest = before if stays.all() else before.taken(np.flatnonzero(stays))
    return rest.beside(new)


def _known(shelf: Shelf, fact_ids: Collection[str]) -> NDArray[np.int64]:
    places = shelf.places_of(fact_ids)
    return places[places >= 0]
