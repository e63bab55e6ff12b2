"""Finds the facts that contain words, without a question."""

from __future__ import annotations

import numpy as np

from gaia_memory.recall.index.candidates import select_candidates
from gaia_memory.recall.index.fact_columns import FactColumns
from gaia_memory.recall.query.expansion import with_expansions
from gaia_memory.recall.query.parsed_query import parse_query
from gaia_memory.recall.ranking import stages

MAX_WORD_MATCHES = 50
"""Facts with words of a text that are compared with it."""


def ids_by_words(columns: FactColumns, words: str, limit: int) -> list[str]:
    """Return the facts that contain one of these words, also as the name of the speaker, the best by BM25 first."""
    question = parse_query(words)
    if not len(columns) or not question.terms:
        return []
    in_name = columns.match_speakers(question)
    named_indices = np.flatnonzero(np.any(in_name[columns.speakers.codes], axis=1))
    matrix = select_candidates(columns, with_expansions(question, []), named_indices)
    has_term = matrix.has_term | in_name[matrix.speakers]
    counts, lengths = has_term.sum(axis=0), columns.lengths[matrix.fact_indices]
    idf = np.log(1 + (len(columns) - counts + 0.5) / (counts + 0.5))
    scores = has_term @ idf / (1 - stages.BM25_B + stages.BM25_B * lengths / columns.lengths.mean())
    rows = np.flatnonzero(has_term.any(axis=1))
    best = rows[np.lexsort((matrix.ids[rows], -scores[rows]))][:limit]
    return [fact_id.decode() for fact_id in matrix.ids[best].tolist()]
