"""The facts that may answer a question, and the terms of the question in each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.recall.index.columns import NO_CATEGORY
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.query.expansion import ADDED_TERM_WEIGHT, ExpandedQuery
from gaia_memory.recall.query.parsed_query import ParsedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class NeighbourPairs:
    """Pairs of neighbouring candidates: how much of `neighbour_rows` also counts for `rows`, of words and of vectors.

    Only facts in which something was found are neighbours.
    """

    rows: NDArray[np.int64]
    neighbour_rows: NDArray[np.int64]
    word_weights: NDArray[np.float32]
    vector_weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class CandidateMatrix:
    """Candidates in the order of their columns, with the count of each term of the question in each.

    `idf` is the weight of each term. `term_counts` has one row per fact and one column per term.
    `named_speakers` are the speakers named in the question. `is_known` is whether memory has each term, in any fact or
    speaker's name.
    """

    columns: FactColumns
    fact_indices: NDArray[np.int64]
    idf: NDArray[np.float64]
    term_counts: NDArray[np.float64]
    neighbours: NeighbourPairs
    named_speakers: frozenset[str] = frozenset()
    is_known: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __len__(self) -> int:
        """Return the number of facts."""
        return len(self.fact_indices)

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The ids of the facts."""
        return self.columns.ids[self.fact_indices]

    @cached_property
    def speakers(self) -> NDArray[np.int32]:
        """The speaker of each, as an index into the categories of the column."""
        return self.columns.speakers.codes[self.fact_indices]

    @cached_property
    def has_term(self) -> NDArray[np.bool_]:
        """Whether each fact contains each term."""
        return self.term_counts > 0

    def find_leading_name(self, name: str) -> NDArray[np.int64]:
        """Return the rows of the facts that begin with a name."""
        rows = self._row_by_index[self.columns.find_leading_name(name)]
        return rows[rows >= 0]

    def rows_and_scores(self, scores: Mapping[str, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows of the facts that have a score, and their scores."""
        indices = self.columns.indices_of(scores.keys())
        rows = np.where(indices >= 0, self._row_by_index[indices], -1) if len(self.columns) else indices
        is_known = rows >= 0
        return rows[is_known], np.fromiter(scores.values(), dtype=np.float64, count=len(scores))[is_known]

    def query_coverage(self, expanded: ExpandedQuery, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the question's words in each fact, from 0 to 1; parts of a word count in part.

        A fact that has words of the question joined, as in "LH1234" for "LH 1234", has all that matters.

        The share of an added line's words counts in its place if it is greater, at most `ADDED_TERM_WEIGHT`.
        """
        question = expanded.question
        has_term = self.has_term[rows] | self.columns.match_speakers(question)[self.speakers[rows]]
        word_coverage = [
            np.max([has_term[:, way].mean(axis=1) for way in ways], axis=0) for ways in question.word_alternatives
        ]
        coverages = [np.mean(word_coverage, axis=0)] if word_coverage else []
        joined = [index for index in question.compound_terms if index < expanded.own_term_count]
        coverages += [has_term[:, joined].any(axis=1)] if joined else []
        # The index -1, of a term that was not added, is that of a column without any.
        has_added_term = np.hstack([has_term, np.zeros((len(rows), 1))])
        coverages += [
            ADDED_TERM_WEIGHT * has_added_term[:, indices].mean(axis=1) for indices in expanded.expansions if indices
        ]
        return np.max(coverages, axis=0) if coverages else np.zeros(len(rows))

    @cached_property
    def _row_by_index(self) -> NDArray[np.int64]:
        return _row_lookup(self.columns, self.fact_indices)


def select_candidates(
    columns: FactColumns, expanded: ExpandedQuery, extra_indices: NDArray[np.int64], *, uses_words: bool = True
) -> CandidateMatrix:
    """Return the matrix of the facts with a word of the question, the extra facts, and the neighbours of both.

    The weight of a term is ln(1 + (N - n + 0.5) / (n + 0.5)) if n of all N facts contain it, 0 if none does. A word
    that only names a speaker gets no weight: nearly all facts around are by that speaker. Without `uses_words` no fact
    is selected by its words.
    """
    question, total = expanded.question, len(columns)
    indices, terms = columns.find_terms(question)
    document_frequency = np.bincount(np.unique(terms * total + indices) // max(total, 1), minlength=len(question.terms))
    idf = [
        math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0 for count in document_frequency.tolist()
    ]
    is_seed = np.zeros(total, dtype=bool)
    is_seed[extra_indices] = True
    if uses_words:
        is_seed[indices] = True
    seeds = np.flatnonzero(is_seed)
    sources, edges = columns.neighbours.find_edges(seeds)
    targets = columns.neighbours.targets[edges]
    is_candidate = is_seed.copy()
    is_candidate[targets] = True
    fact_indices = np.flatnonzero(is_candidate)
    row_of = _row_lookup(columns, fact_indices)
    named_speakers = _find_named_speakers(question, columns, fact_indices)
    idf = [
        0.0 if dropped else weight
        for dropped, weight in zip(question.person_name_mask(named_speakers), expanded.weigh_terms(idf), strict=True)
    ]
    is_selected = is_candidate[indices]
    rows, terms = row_of[indices[is_selected]], terms[is_selected]
    term_counts = np.bincount(rows * len(question.terms) + terms, minlength=len(fact_indices) * len(question.terms))
    return CandidateMatrix(
        columns,
        fact_indices,
        np.asarray(idf, dtype=float),
        term_counts.astype(np.float64).reshape(len(fact_indices), len(question.terms)),
        NeighbourPairs(
            row_of[targets],
            row_of[seeds][sources],
            columns.neighbours.word_weights[edges],
            columns.neighbours.vector_weights[edges],
        ),
        named_speakers,
        (document_frequency > 0) | columns.match_speakers(question).any(axis=0),
    )


def _row_lookup(columns: FactColumns, fact_indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each fact of the columns among the candidates, -1 for all others."""
    rows = np.full(len(columns), -1, dtype=np.int64)
    rows[fact_indices] = np.arange(len(fact_indices))
    return rows


def _find_named_speakers(
    question: ParsedQuery, columns: FactColumns, fact_indices: NDArray[np.int64]
) -> frozenset[str]:
    """Return the speakers of these facts of whose name the question contains a word."""
    question_words = set(index_tokens(question.text))
    matched_words = {
        code: question_words & set(index_tokens(each)) for code, each in enumerate(columns.speakers.categories)
    }
    if not any(matched_words.values()):
        return frozenset()
    speaker_codes = np.unique(columns.speakers.codes[fact_indices]).tolist()
    return frozenset(
        columns.speakers.categories[code] for code in speaker_codes if code != NO_CATEGORY and matched_words[code]
    )
