"""Columns with several values per fact, and columns with one of a few texts per fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES_PER_CODE = 4

NO_CATEGORY = -1
"""The code of a fact without a category."""


@dataclass(frozen=True, eq=False)
class RaggedColumn:
    """Several codes per fact, concatenated: those of fact n begin at `starts[n]` and end at the next start."""

    values: NDArray[np.int32]
    starts: NDArray[np.int32]

    @staticmethod
    def from_packed(facts: Sequence[bytes]) -> RaggedColumn:
        """Return the column of these packed codes."""
        starts = np.zeros(len(facts) + 1, dtype=np.int32)
        np.cumsum([len(each) // _BYTES_PER_CODE for each in facts], out=starts[1:])
        return RaggedColumn(np.frombuffer(b"".join(facts), dtype="<i4").astype(np.int32, copy=False), starts)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The fact of each code."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), self.lengths)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The number of codes of each fact."""
        return np.diff(self.starts)

    def select(self, indices: NDArray[np.intp]) -> RaggedColumn:
        """Return the column of some of the facts."""
        lengths = self.lengths[indices]
        starts = np.zeros(len(indices) + 1, dtype=np.int32)
        np.cumsum(lengths, out=starts[1:])
        value_indices = np.arange(starts[-1], dtype=np.int32) + np.repeat(self.starts[indices] - starts[:-1], lengths)
        return RaggedColumn(self.values[value_indices], starts)

    def concat(self, other: RaggedColumn) -> RaggedColumn:
        """Return these facts followed by the facts of another column."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return RaggedColumn(np.concatenate([self.values, other.values]), starts)


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """One of a few texts per fact: `codes` are indices into the sorted `categories`, or `NO_CATEGORY`."""

    categories: tuple[str, ...]
    codes: NDArray[np.int32]

    @staticmethod
    def from_texts(facts: Sequence[str | None]) -> CategoryColumn:
        """Return the column of these texts."""
        categories = sorted({each for each in facts if each is not None})
        codes: dict[str | None, int] = {each: code for code, each in enumerate(categories)} | {None: NO_CATEGORY}
        return CategoryColumn(
            tuple(categories), np.fromiter((codes[each] for each in facts), dtype=np.int32, count=len(facts))
        )

    def select(self, indices: NDArray[np.intp]) -> CategoryColumn:
        """Return the column of some of the facts, without unused categories."""
        codes = self.codes[indices]
        used = np.unique(codes[codes != NO_CATEGORY])
        return CategoryColumn(
            tuple(self.categories[code] for code in used.tolist()), _remap_codes(codes, used, np.arange(len(used)))
        )

    def concat(self, other: CategoryColumn) -> CategoryColumn:
        """Return these facts followed by the facts of another column."""
        categories = sorted({*self.categories, *other.categories})
        index_of = {each: code for code, each in enumerate(categories)}
        remapped = [
            _remap_codes(
                each.codes, np.arange(len(each.categories)), np.array([index_of[text] for text in each.categories])
            )
            for each in (self, other)
        ]
        return CategoryColumn(tuple(categories), np.concatenate(remapped))


def _remap_codes(codes: NDArray[np.int32], old: NDArray[np.intp], new: NDArray[np.intp]) -> NDArray[np.int32]:
    # The table has one more entry, so that `NO_CATEGORY`, its last index, maps to itself.
    table = np.full(max(int(old.max(initial=-1)) + 2, 1), NO_CATEGORY, dtype=np.int32)
    table[old] = new
    return table[codes]
