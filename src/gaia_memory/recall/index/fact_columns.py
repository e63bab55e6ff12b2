"""The facts of a scope as recall keeps them in memory: columns of numbers, and the stems of their words as codes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaia_memory.language.stems import code_of
from gaia_memory.language.text_features import unpack_traits
from gaia_memory.models import Candidate, Line
from gaia_memory.recall.index.columns import NONE, Codes, Labels
from gaia_memory.recall.index.neighbours import Links, links_of
from gaia_memory.recall.query.dates import Dates, moment_of
from gaia_memory.recall.query.parsed_query import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DAY = 86_400

SHORT = 30
"""Words up to which a fact fully needs, and lends, its context."""


def by_day(said_at: NDArray[np.float64], worth: Callable[[datetime], float]) -> NDArray[np.float64]:
    """Return what the day of each moment, in UTC, is worth; 0 where there is none."""
    found = np.zeros(len(said_at))
    told = np.flatnonzero(~np.isnan(said_at))
    days, which = np.unique(said_at[told] // _DAY, return_inverse=True)
    found[told] = np.array([worth(moment_of(day * _DAY)) for day in days.tolist()], dtype=np.float64)[which]
    return found


@dataclass(frozen=True, eq=False)
class Shelf:
    """Facts as columns, in the order of their conversations; their texts are not kept.

    `by_id` are their places in the order of their ids. `speakers` said them in `talks`, at these `places`. `words` are
    the codes of each fact's words in order, `joined` those of what is written apart and looked up as one, `leads` those
    of the names it begins with, but for what somebody says, which begins with whom it is said to. `kinds` are the
    expressions it holds, `asks` whether it ends with a question mark, `asking` the share of its characters in sentences
    that ask. Times are seconds since the epoch, `said_at` no number where nobody knows.
    """

    ids: NDArray[np.bytes_]
    by_id: NDArray[np.int64]
    speakers: Labels
    talks: Labels
    places: NDArray[np.int64]
    said_at: NDArray[np.float64]
    kept_at: NDArray[np.float64]
    kinds: NDArray[np.uint8]
    asks: NDArray[np.bool_]
    asking: NDArray[np.float32]
    words: Codes
    joined: Codes
    leads: Codes

    def __len__(self) -> int:
        """Count the facts."""
        return len(self.ids)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """A number for each fact's conversation; what stands in none has one of its own."""
        own = len(self.talks.texts) + np.arange(len(self))
        return np.where(self.talks.codes == NONE, own, self.talks.codes)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """How many words each fact has, and one more: none is empty."""
        return np.asarray(self.words.lengths, dtype=np.float64) + 1.0

    @cached_property
    def need(self) -> NDArray[np.float64]:
        """How much each fact needs, and lends, context: 1 up to 30 words, less the longer it is."""
        return np.asarray(np.minimum(1.0, SHORT / self.lengths))

    @cached_property
    def links(self) -> Links:
        """What stands beside each fact."""
        return links_of(self.keys, self.places, self.need, self.asks)

    @cached_property
    def lengths_with_lent(self) -> NDArray[np.float64]:
        """How many words each fact has with what is lent to it."""
        words = np.repeat(self.lengths, np.diff(self.links.starts))
        return self.lengths + np.bincount(self.links.to, self.links.lent * words, minlength=len(self))

    def places_of(self, fact_ids: Collection[str]) -> NDArray[np.int64]:
        """Return where each of these facts stands; -1 for one that does not."""
        if not len(self) or not fact_ids:
            return np.full(len(fact_ids), -1, dtype=np.int64)
        wanted = _ids(fact_ids)
        spots = np.minimum(np.searchsorted(self.ids, wanted, sorter=self.by_id), len(self) - 1)
        places = self.by_id[spots]
        return np.where(self.ids[places] == wanted, places, -1)

    def said_when(self, dates: Dates) -> list[Candidate]:
        """Return what was said in the years or months or on the days named, by how much that says."""
        if not dates.months and not dates.years:
            return []
        worth = by_day(self.said_at, dates.worth)
        said = np.flatnonzero(worth)
        pairs = zip(self.ids[said].tolist(), worth[said].tolist(), strict=True)
        return [Candidate(fact_id=fact_id.decode(), score=score) for fact_id, score in pairs]

    def found(self, question: Question) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return, of each word of the question that stands in a fact, its place among all words, fact and term.

        Words that are looked up as one stand at the place -1.
        """
        spots, terms = _among(self.words.values, question)
        joined, joined_terms = _among(self.joined.values, question)
        nowhere = np.full(len(joined), -1, dtype=np.int64)
        return (
            np.concatenate([spots, nowhere]),
            np.concatenate([self.words.rows[spots], self.joined.rows[joined]]),
            np.concatenate([terms, joined_terms]),
        )

    def beginning_with(self, name: str) -> NDArray[np.int64]:
        """Return which facts begin with a name."""
        return np.unique(self.leads.rows[self.leads.values == code_of(name)])

    def taken(self, chosen: NDArray[np.intp]) -> Shelf:
        """Return a shelf of some of the facts, in the order they are named in."""
        rows = np.full(len(self), -1, dtype=np.int64)
        rows[chosen] = np.arange(len(chosen))
        by_id = rows[self.by_id]
        return Shelf(self.ids[chosen], by_id[by_id >= 0], *[_taken(column, chosen) for column in self._columns])

    def beside(self, other: Shelf) -> Shelf:
        """Return a shelf of these facts and those of another one, in order."""
        # Sorting the ids of all would take longer than everything else.
        spots = np.searchsorted(self.ids, other.ids[other.by_id], sorter=self.by_id)
        by_id = np.insert(self.by_id, spots, len(self) + other.by_id)
        ids = np.concatenate([self.ids, other.ids])
        return _in_order(Shelf(ids, by_id, *map(_beside, self._columns, other._columns)))

    @property
    def _columns(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)[2:]]


def shelf_of(lines: Sequence[Line]) -> Shelf:
    """Return the shelf of these facts."""
    traits = [unpack_traits(line.traits) for line in lines]
    ids = _ids([line.id for line in lines])
    return _in_order(
        Shelf(
            ids=ids,
            by_id=np.argsort(ids),
            speakers=Labels.of([each.speaker for each in traits]),
            talks=Labels.of([None if line.seq is None else line.conversation for line in lines]),
            places=np.array([line.seq or 0 for line in lines], dtype=np.int64),
            said_at=np.array([line.said_at for line in lines], dtype=np.float64),
            kept_at=np.array([line.kept_at for line in lines], dtype=np.float64),
            kinds=np.array([each.kinds for each in traits], dtype=np.uint8),
            asks=np.array([each.asks for each in traits], dtype=np.bool_),
            asking=np.array([each.asking for each in traits], dtype=np.float32),
            words=Codes.of([each.words for each in traits]),
            joined=Codes.of([each.joined for each in traits]),
            leads=Codes.of([each.leads for each in traits]),
        )
    )


def _in_order(shelf: Shelf) -> Shelf:
    """Return a shelf in one order whatever came first: equal facts must not change places."""
    rank = np.empty(len(shelf), dtype=np.int64)
    rank[shelf.by_id] = np.arange(len(shelf))
    return shelf.taken(np.lexsort((rank, shelf.places, shelf.talks.codes)))


def _taken(column: Any, chosen: NDArray[np.intp]) -> Any:
    return column[chosen] if isinstance(column, np.ndarray) else column.taken(chosen)


def _beside(column: Any, other: Any) -> Any:
    return np.concatenate([column, other]) if isinstance(column, np.ndarray) else column.beside(other)


def _ids(fact_ids: Collection[str]) -> NDArray[np.bytes_]:
    return np.array([each.encode() for each in fact_ids], dtype=np.bytes_)


def _among(codes: NDArray[np.int32], question: Question) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the terms of a question stand among these codes, in order, and which term stands there."""
    term_of = {code_of(each): place for place, term in reversed(list(enumerate(question.terms))) for each in term}
    spots = [np.flatnonzero(codes == code) for code in term_of]
    terms = [np.full(len(each), place, dtype=np.int64) for each, place in zip(spots, term_of.values(), strict=True)]
    if not spots:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    where, which = np.concatenate(spots), np.concatenate(terms)
    order = np.argsort(where, kind="stable")
    return where[order], which[order]
