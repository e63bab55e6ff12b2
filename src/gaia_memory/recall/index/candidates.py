"""The facts that may answer a question, with what of the question stands in each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.tokenizer import indexed_words
from gaia_memory.models.indexed_fact import Line
from gaia_memory.recall.index.columns import NONE
from gaia_memory.recall.index.fact_columns import Shelf, shelf_of
from gaia_memory.recall.query.parsed_query import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

Weigh = Callable[[Sequence[float]], Sequence[float]]


@dataclass(frozen=True, eq=False)
class Beside:
    """Pairs of facts of a pool that stand near each other: what `theirs` lends to `ours`, of words and of likeness.

    Only facts in which something was found lend.
    """

    ours: NDArray[np.int64]
    theirs: NDArray[np.int64]
    lent: NDArray[np.float32]
    likeness: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pool:
    """The chosen facts of a shelf, in its order, and how often each term of the question stands in each.

    `rarity` is the weight of each term (its idf); `counts` has one row a fact and one column a term; `pairs` is how
    many terms follow each other as in the question, each by how rare it is; `named` are the speakers whom the question
    names.
    """

    shelf: Shelf
    chosen: NDArray[np.int64]
    rarity: NDArray[np.float64]
    counts: NDArray[np.float64]
    pairs: NDArray[np.float64]
    beside: Beside
    named: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """Count the facts."""
        return len(self.chosen)

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The ids of the facts."""
        return self.shelf.ids[self.chosen]

    @cached_property
    def speakers(self) -> NDArray[np.int32]:
        """Who said each, as a place among the shelf's speakers."""
        return self.shelf.speakers.codes[self.chosen]

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """Whether each term stands in each fact."""
        return self.counts > 0

    def beginning_with(self, name: str) -> NDArray[np.int64]:
        """Return the rows of the facts that begin with a name."""
        rows = self._row_of[self.shelf.beginning_with(name)]
        return rows[rows >= 0]

    def found(self, scores: Mapping[str, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows of the facts that have a score, and their scores."""
        places = self.shelf.places_of(scores.keys())
        rows = np.where(places >= 0, self._row_of[places], -1) if len(self.shelf) else places
        known = rows >= 0
        return rows[known], np.fromiter(scores.values(), dtype=np.float64, count=len(scores))[known]

    def shares(self, question: Question, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the words asked for that these facts hold, from 0 to 1; part of a word counts in part."""
        if not question.asked:
            return np.zeros(len(rows))
        there = self.there[rows] | self._theirs(question)[self.speakers[rows]]
        words = [np.max([there[:, way].mean(axis=1) for way in ways], axis=0) for ways in question.asked]
        return np.asarray(np.mean(words, axis=0))

    def _theirs(self, question: Question) -> NDArray[np.bool_]:
        """Say of each speaker, and last of nobody, whether each term names them."""
        nobody = [False] * len(question.terms)
        return np.array([*(question.names([each]) for each in self.shelf.speakers.texts), nobody], dtype=bool)

    @cached_property
    def _row_of(self) -> NDArray[np.int64]:
        return _rows(self.shelf, self.chosen)


def pool_of(question: Question, rarity: Sequence[float], lines: Sequence[Line]) -> Pool:
    """Return the pool of these facts, and no others, for a question whose terms have these weights."""
    shelf = shelf_of(lines)
    return _taken(shelf, question, rarity, np.arange(len(shelf)), shelf.found(question))


def pool_on(shelf: Shelf, question: Question, weigh: Weigh, also: Collection[str]) -> Pool:
    """Return the pool of what holds a word of the question, what stands beside that, and the facts `also`.

    The weight of a term is ln(1 + (N - n + 0.5) / (n + 0.5)) where n of all N facts hold it and 0 where none does,
    as `weigh` changes it.
    """
    found = shelf.found(question)
    _, rows, terms = found
    total = len(shelf)
    held = np.bincount(np.unique(terms * total + rows) // max(total, 1), minlength=len(question.terms))
    rarity = [math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0 for count in held.tolist()]
    others = shelf.places_of(also)
    live = np.zeros(total, dtype=bool)
    live[rows] = live[others[others >= 0]] = True
    return _taken(shelf, question, weigh(rarity), np.flatnonzero(live), found)


def _taken(
    shelf: Shelf,
    question: Question,
    rarity: Sequence[float],
    live: NDArray[np.int64],
    found: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> Pool:
    """Return the pool of the facts that were found, `live`, which hold all that was, and what stands beside them.

    A word that only names a speaker is no word to look for: nearly everything around is theirs.
    """
    lends, links = shelf.links.from_facts(live)
    takes = shelf.links.to[links]
    among = np.zeros(len(shelf), dtype=bool)
    among[live] = among[takes] = True
    chosen = np.flatnonzero(among)
    row_of = _rows(shelf, chosen)
    named = _named(question, shelf, chosen)
    rarity = [0.0 if dropped else weight for dropped, weight in zip(question.names(named), rarity, strict=True)]
    spots, places, terms = found
    rows = row_of[places]
    each = np.bincount(rows * len(question.terms) + terms, minlength=len(chosen) * len(question.terms))
    return Pool(
        shelf,
        chosen,
        np.asarray(rarity, dtype=float),
        each.astype(np.float64).reshape(len(chosen), len(question.terms)),
        _pairs(spots, rows, terms, _worth_of_pairs(rarity), len(chosen)),
        Beside(row_of[takes], row_of[live][lends], shelf.links.lent[links], shelf.links.likeness[links]),
        named,
    )


def _rows(shelf: Shelf, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each fact of a shelf among the chosen ones, -1 for the others."""
    rows = np.full(len(shelf), -1, dtype=np.int64)
    rows[chosen] = np.arange(len(chosen))
    return rows


def _named(question: Question, shelf: Shelf, chosen: NDArray[np.int64]) -> frozenset[str]:
    """Return which speakers of these facts the question names, by a word of their name."""
    asked = set(indexed_words(question.text))
    theirs = {place: asked & set(indexed_words(each)) for place, each in enumerate(shelf.speakers.texts)}
    if not any(theirs.values()):
        return frozenset()
    speaking = np.unique(shelf.speakers.codes[chosen]).tolist()
    return frozenset(shelf.speakers.texts[place] for place in speaking if place != NONE and theirs[place])


def _worth_of_pairs(rarity: Sequence[float]) -> NDArray[np.float64]:
    """Return how rare each term and the one before it are together, as a share of the rarest term."""
    rarest = max(rarity, default=0.0) or 1.0
    return np.array([(before + weight) / 2 / rarest for before, weight in zip([0.0, *rarity], rarity, strict=False)])


def _pairs(
    spots: NDArray[np.int64],
    rows: NDArray[np.int64],
    terms: NDArray[np.int64],
    worth: NDArray[np.float64],
    lines: int,
) -> NDArray[np.float64]:
    """Return how many terms stand right behind the one before them in each line, each once, by what they are worth."""
    found = np.zeros(lines)
    if len(spots) > 1:
        follows = (
            (spots[1:] == spots[:-1] + 1) & (spots[:-1] >= 0) & (rows[1:] == rows[:-1]) & (terms[1:] == terms[:-1] + 1)
        )
        pairs = np.unique(rows[1:][follows] * len(worth) + terms[1:][follows])
        found += np.bincount(pairs // len(worth), worth[pairs % len(worth)], minlength=lines)
    return found
