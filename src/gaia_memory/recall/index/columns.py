"""Columns of a shelf that hold several values a fact, or one of few texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CODE = 4
"""Bytes of a code."""

NONE = -1
"""The code of a fact that has no label."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Some codes a fact, all one after another: those of fact n stand from `starts[n]` to the next."""

    values: NDArray[np.int32]
    starts: NDArray[np.int32]

    @staticmethod
    def of(facts: Sequence[bytes]) -> Codes:
        """Return the column of these packed codes."""
        starts = np.zeros(len(facts) + 1, dtype=np.int32)
        np.cumsum([len(each) // _CODE for each in facts], out=starts[1:])
        return Codes(np.frombuffer(b"".join(facts), dtype="<i4").astype(np.int32, copy=False), starts)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The fact of each code."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), self.lengths)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """How many codes each fact has."""
        return np.diff(self.starts)

    def taken(self, chosen: NDArray[np.intp]) -> Codes:
        """Return the column of some of the facts."""
        lengths = self.lengths[chosen]
        starts = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(lengths, out=starts[1:])
        spots = np.arange(starts[-1], dtype=np.int32) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return Codes(self.values[spots], starts)

    def beside(self, other: Codes) -> Codes:
        """Return one column of both, the other one's facts behind these."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Codes(np.concatenate([self.values, other.values]), starts)


@dataclass(frozen=True, eq=False)
class Labels:
    """A text a fact, of few: `codes` are places in `texts`, which are in order, or `NONE`."""

    texts: tuple[str, ...]
    codes: NDArray[np.int32]

    @staticmethod
    def of(facts: Sequence[str | None]) -> Labels:
        """Return the column of these texts."""
        texts = sorted({each for each in facts if each is not None})
        codes: dict[str | None, int] = {each: place for place, each in enumerate(texts)} | {None: NONE}
        return Labels(tuple(texts), np.fromiter((codes[each] for each in facts), dtype=np.int32, count=len(facts)))

    def taken(self, chosen: NDArray[np.intp]) -> Labels:
        """Return the column of some of the facts, with no text that only others have."""
        codes = self.codes[chosen]
        used = np.unique(codes[codes != NONE])
        return Labels(
            tuple(self.texts[place] for place in used.tolist()), _renumbered(codes, used, np.arange(len(used)))
        )

    def beside(self, other: Labels) -> Labels:
        """Return one column of both, the other one's facts behind these."""
        texts = sorted({*self.texts, *other.texts})
        place_of = {each: place for place, each in enumerate(texts)}
        both = [
            _renumbered(each.codes, np.arange(len(each.texts)), np.array([place_of[text] for text in each.texts]))
            for each in (self, other)
        ]
        return Labels(tuple(texts), np.concatenate(both))


def _renumbered(codes: NDArray[np.int32], old: NDArray[np.intp], new: NDArray[np.intp]) -> NDArray[np.int32]:
    # One place more than there are codes: NONE is the last of them, and stays.
    table = np.full(max(int(old.max(initial=-1)) + 2, 1), NONE, dtype=np.int32)
    table[old] = new
    return table[codes]
