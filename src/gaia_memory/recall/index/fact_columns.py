"""The facts of a scope in memory: columns of numbers, and the stems of their words as codes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gaia_memory.language.distinctive_words import COMMON_WORDS
from gaia_memory.language.stems import stem, word_code
from gaia_memory.language.text_features import unpack_features
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import DEFAULT_CONTEXT, IndexedFact
from gaia_memory.recall.index.columns import NO_CATEGORY, CategoryColumn, RaggedColumn
from gaia_memory.recall.index.valid_periods import open_times
from gaia_memory.recall.query.dates import DateMentions, to_datetime
from gaia_memory.recall.query.parsed_query import ParsedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray


_DAY_SECONDS = 86_400
_MOST_SHARE = 0.5

USER_SPEAKERS = frozenset({"user", "human"})
"""Names of the user as a speaker, in ADK and elsewhere; answers carry the name of the agent."""

FULL_CONTEXT_WORDS = 30
"""Words up to which a fact is in full exchange with its neighbours."""

MAX_TURNS_APART = 3
"""Turns before and after a fact that count as its context."""

WORD_WEIGHT_BY_DISTANCE = {-3: 0.1, -2: 0.25, -1: 0.5, 0: 0.3, 1: 0.3, 2: 0.15}
"""Weight of the words of a turn at this distance: the previous turn, which a fact answers, counts most."""

ANSWERED_QUESTION_WEIGHT = 0.8
"""Weight of the words of the previous turn if it ends with a question mark, in any script."""

_WEIGHT_BY_OFFSET = np.array(
    [WORD_WEIGHT_BY_DISTANCE.get(apart, 0.0) for apart in range(-MAX_TURNS_APART, MAX_TURNS_APART + 1)]
)


def score_by_day(
    said_at: NDArray[np.float64], dates: DateMentions, score_day: Callable[[DateMentions, datetime], float]
) -> NDArray[np.float64]:
    """Return the score by these dates of the day, in UTC, of each moment; 0 for unknown moments and without dates."""
    scores = np.zeros(len(said_at))
    if not dates.months and not dates.years:
        return scores
    is_known = np.flatnonzero(~np.isnan(said_at))
    days, which = np.unique(said_at[is_known] // _DAY_SECONDS, return_inverse=True)
    scores[is_known] = np.array(
        [score_day(dates, to_datetime(day * _DAY_SECONDS)) for day in days.tolist()], dtype=np.float64
    )[which]
    return scores


@dataclass(frozen=True, eq=False)
class FactColumns:
    """Facts as columns, in the order of their conversations, without their texts.

    `id_order` are the indices of the facts sorted by id. `speakers` said them in `conversations`, in these `turns`.
    `words` are the codes of the words of each fact in order, `compounds` those of words written apart and looked up as
    one, `leading_names` those of the names it begins with unless it has a speaker. `is_question` tells whether
    it ends with a question mark, `question_shares` the share of its characters in questions.
    Times are seconds since the epoch; an unknown `said_at` is NaN, an open side of the validity infinite.
    `is_sensitive` and `contexts` decide which questions see a fact; one that `is_in_doubt` may hold no longer, and one
    that `is_unconfirmed` is not the person's word.
    """

    ids: NDArray[np.bytes_]
    id_order: NDArray[np.int64]
    speakers: CategoryColumn
    conversations: CategoryColumn
    turns: NDArray[np.int64]
    said_at: NDArray[np.float64]
    stored_at: NDArray[np.float64]
    is_question: NDArray[np.bool_]
    question_shares: NDArray[np.float32]
    is_in_doubt: NDArray[np.bool_]
    is_unconfirmed: NDArray[np.bool_]
    words: RaggedColumn
    compounds: RaggedColumn
    leading_names: RaggedColumn
    valid_from: NDArray[np.float64]
    valid_until: NDArray[np.float64]
    is_sensitive: NDArray[np.bool_]
    contexts: CategoryColumn

    def __len__(self) -> int:
        """Return the number of facts."""
        return len(self.ids)

    @cached_property
    def conversation_keys(self) -> NDArray[np.int64]:
        """A number for the conversation of each fact; a fact without one gets a number of its own."""
        own = len(self.conversations.categories) + np.arange(len(self))
        return np.where(self.conversations.codes == NO_CATEGORY, own, self.conversations.codes)

    @cached_property
    def names_people(self) -> bool:
        """Whether most facts say whom they are about, by a speaker or a leading name: "Maria lives in Rome"."""
        is_person = np.array([*(each not in USER_SPEAKERS for each in self.speakers.categories), False])
        is_named = is_person[self.speakers.codes]
        leading = self.leading_names
        firsts = leading.values[leading.starts[:-1][leading.lengths > 0]]
        is_named[np.flatnonzero(leading.lengths > 0)[~np.isin(firsts, _common_word_codes())]] = True
        return bool(len(self)) and bool(is_named.mean() >= _MOST_SHARE)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """The number of words of each fact plus one, so that none is 0."""
        return np.asarray(self.words.lengths, dtype=np.float64) + 1.0

    @cached_property
    def context_weights(self) -> NDArray[np.float64]:
        """How much neighbours matter to each fact: 1 up to `FULL_CONTEXT_WORDS`, less for longer ones."""
        return np.asarray(np.minimum(1.0, FULL_CONTEXT_WORDS / self.lengths))

    @cached_property
    def neighbours(self) -> NeighbourGraph:
        """The neighbours of each fact."""
        return build_neighbour_graph(self.conversation_keys, self.turns, self.context_weights, self.is_question)

    @cached_property
    def context_lengths(self) -> NDArray[np.float64]:
        """The number of words of each fact, including the shares of its neighbours."""
        words = np.repeat(self.lengths, np.diff(self.neighbours.starts))
        return self.lengths + np.bincount(
            self.neighbours.targets, self.neighbours.word_weights * words, minlength=len(self)
        )

    def indices_of(self, fact_ids: Collection[str]) -> NDArray[np.int64]:
        """Return the index of each of these facts; -1 for unknown ids."""
        return self.indices_of_encoded(encode_ids(fact_ids))

    def indices_of_encoded(self, encoded_ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """Return the index of each of these facts, whose ids are encoded; -1 for unknown ids."""
        if not len(self) or not len(encoded_ids):
            return np.full(len(encoded_ids), -1, dtype=np.int64)
        sorted_positions = np.minimum(np.searchsorted(self.ids, encoded_ids, sorter=self.id_order), len(self) - 1)
        indices = self.id_order[sorted_positions]
        return np.where(self.ids[indices] == encoded_ids, indices, -1)

    def known_indices(self, fact_ids: Collection[str]) -> NDArray[np.int64]:
        """Return the indices of those of these facts that the columns have."""
        indices = self.indices_of(fact_ids)
        return indices[indices >= 0]

    def find_dates(self, dates: DateMentions) -> NDArray[np.int64]:
        """Return the indices of the facts said at these dates."""
        return np.flatnonzero(score_by_day(self.said_at, dates, DateMentions.relevance))

    def find_terms(self, question: ParsedQuery) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the fact and the term of each occurrence of a term of the question."""
        positions, terms = _find_codes(self.words.values, question)
        compound_positions, compound_terms = _find_codes(self.compounds.values, question)
        return (
            np.concatenate([self.words.rows[positions], self.compounds.rows[compound_positions]]),
            np.concatenate([terms, compound_terms]),
        )

    def match_speakers(self, question: ParsedQuery) -> NDArray[np.bool_]:
        """Return for each speaker, and last for no speaker, whether each term of the question is in their name."""
        names = [frozenset(map(stem, index_tokens(each))) for each in self.speakers.categories]
        is_in_name = [[not term.isdisjoint(name) for term in question.terms] for name in [*names, frozenset()]]
        return np.array(is_in_name, dtype=np.bool_)

    def find_leading_name(self, name: str) -> NDArray[np.int64]:
        """Return which facts begin with a name."""
        return np.unique(self.leading_names.rows[self.leading_names.values == word_code(name)])

    def visible(self, context: str | None) -> FactColumns:
        """Return columns of the facts that are not sensitive and belong to a context or to none; None: to any.

        They are computed once for each context.
        """
        if context not in self._visible:
            is_visible = ~self.is_sensitive & self.is_in(context)
            self._visible[context] = self if is_visible.all() else self.select(np.flatnonzero(is_visible))
        return self._visible[context]

    @cached_property
    def by_trust(self) -> tuple[FactColumns, ...]:
        """Columns of the confirmed facts and of the unconfirmed ones; without one of these, the columns themselves."""
        if not self.is_unconfirmed.any():
            return (self,)
        return tuple(self.select(np.flatnonzero(each)) for each in (~self.is_unconfirmed, self.is_unconfirmed))

    def is_in(self, context: str | None) -> NDArray[np.bool_]:
        """Return which facts belong to a context or to none; None: to any."""
        if context is None:
            return np.ones(len(self), dtype=np.bool_)
        wanted = [code for code, each in enumerate(self.contexts.categories) if each in (context, DEFAULT_CONTEXT)]
        return np.isin(self.contexts.codes, wanted)

    @cached_property
    def _visible(self) -> dict[str | None, FactColumns]:
        return {}

    def select(self, indices: NDArray[np.intp]) -> FactColumns:
        """Return columns of some of the facts, in the order of `indices`."""
        rows = np.full(len(self), -1, dtype=np.int64)
        rows[indices] = np.arange(len(indices))
        id_order = rows[self.id_order]
        return FactColumns(
            self.ids[indices], id_order[id_order >= 0], *[_select(column, indices) for column in self._columns]
        )

    def concat(self, other: FactColumns) -> FactColumns:
        """Return columns of these facts and those of another object, sorted."""
        # Merging is much faster than sorting all ids.
        insert_positions = np.searchsorted(self.ids, other.ids[other.id_order], sorter=self.id_order)
        id_order = np.insert(self.id_order, insert_positions, len(self) + other.id_order)
        ids = np.concatenate([self.ids, other.ids])
        return _sort_columns(FactColumns(ids, id_order, *map(_concat, self._columns, other._columns)))

    @property
    def _columns(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)[2:]]


def build_fact_columns(indexed_facts: Sequence[IndexedFact]) -> FactColumns:
    """Return the columns of these facts."""
    features = [unpack_features(fact.features) for fact in indexed_facts]
    ids = encode_ids([fact.id for fact in indexed_facts])
    return _sort_columns(
        FactColumns(
            ids=ids,
            id_order=np.argsort(ids),
            speakers=CategoryColumn.from_texts([each.speaker for each in features]),
            conversations=CategoryColumn.from_texts(
                [None if fact.seq is None else fact.conversation for fact in indexed_facts]
            ),
            turns=np.array([fact.seq or 0 for fact in indexed_facts], dtype=np.int64),
            said_at=np.array([fact.said_at for fact in indexed_facts], dtype=np.float64),
            stored_at=np.array([fact.stored_at for fact in indexed_facts], dtype=np.float64),
            is_question=np.array([each.is_question for each in features], dtype=np.bool_),
            question_shares=np.array([each.question_share for each in features], dtype=np.float32),
            is_in_doubt=np.array([fact.is_in_doubt for fact in indexed_facts], dtype=np.bool_),
            is_unconfirmed=np.array([fact.is_unconfirmed for fact in indexed_facts], dtype=np.bool_),
            words=RaggedColumn.from_packed([each.words for each in features]),
            compounds=RaggedColumn.from_packed([each.compounds for each in features]),
            leading_names=RaggedColumn.from_packed([each.leading_names for each in features]),
            valid_from=open_times([fact.valid_from for fact in indexed_facts], -np.inf),
            valid_until=open_times([fact.valid_until for fact in indexed_facts], np.inf),
            is_sensitive=np.array([fact.sensitive for fact in indexed_facts], dtype=np.bool_),
            contexts=CategoryColumn.from_texts([fact.context for fact in indexed_facts]),
        )
    )


def _sort_columns(columns: FactColumns) -> FactColumns:
    """Return columns in a deterministic order, whatever order they were built in."""
    rank = np.empty(len(columns), dtype=np.int64)
    rank[columns.id_order] = np.arange(len(columns))
    return columns.select(np.lexsort((rank, columns.turns, columns.conversations.codes)))


def _select(column: Any, indices: NDArray[np.intp]) -> Any:
    return column[indices] if isinstance(column, np.ndarray) else column.select(indices)


def _concat(column: Any, other: Any) -> Any:
    return np.concatenate([column, other]) if isinstance(column, np.ndarray) else column.concat(other)


def encode_ids(fact_ids: Collection[str]) -> NDArray[np.bytes_]:
    """Return ids in the form of the column."""
    return np.array([each.encode() for each in fact_ids], dtype=np.bytes_)


def _find_codes(codes: NDArray[np.int32], question: ParsedQuery) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sorted positions of terms of the question among these codes, and the term at each."""
    term_of = {word_code(each): index for index, term in reversed(list(enumerate(question.terms))) for each in term}
    positions = [np.flatnonzero(codes == code) for code in term_of]
    terms = [np.full(len(each), index, dtype=np.int64) for each, index in zip(positions, term_of.values(), strict=True)]
    if not positions:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    all_positions, all_terms = np.concatenate(positions), np.concatenate(terms)
    order = np.argsort(all_positions, kind="stable")
    return all_positions[order], all_terms[order]


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """The neighbours of each fact: those of fact n are in `targets` from `starts[n]` to the next start.

    `word_weights` is the share of the words of fact n that counts for each neighbour, `vector_weights` that of its
    vector score.
    """

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    word_weights: NDArray[np.float32]
    vector_weights: NDArray[np.float32]

    def find_edges(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all edges from these facts: the position of the fact in `indices`, and the index of the edge."""
        lengths = self.starts[indices + 1] - self.starts[indices]
        source_numbers = np.repeat(np.arange(len(indices)), lengths)
        before = np.cumsum(lengths) - lengths
        return source_numbers, np.arange(len(source_numbers)) + np.repeat(self.starts[indices] - before, lengths)


def build_neighbour_graph(
    conversations: NDArray[np.int64],
    turns: NDArray[np.int64],
    context_weights: NDArray[np.float64],
    is_question: NDArray[np.bool_],
) -> NeighbourGraph:
    """Return the graph of facts sorted by conversation and turn; `context_weights` scale both ends of an edge."""
    before, after, distances = _neighbour_pairs(conversations, turns)
    # Each pair in both directions; the offset is that of the source, seen from the target.
    sources, targets = np.concatenate([before, after]), np.concatenate([after, before])
    offsets = np.concatenate([-distances, distances])
    order = np.argsort(sources, kind="stable")
    sources, targets, offsets = sources[order], targets[order], offsets[order]
    vector_weights = _WEIGHT_BY_OFFSET[offsets + MAX_TURNS_APART] * context_weights[sources] * context_weights[targets]
    question_boost = np.where(
        (offsets == -1) & is_question[sources], ANSWERED_QUESTION_WEIGHT / WORD_WEIGHT_BY_DISTANCE[-1], 1.0
    )
    starts = np.zeros(len(conversations) + 1, dtype=np.int32)
    np.cumsum(np.bincount(sources, minlength=len(conversations)), out=starts[1:])
    return NeighbourGraph(
        starts, targets, (vector_weights * question_boost).astype(np.float32), vector_weights.astype(np.float32)
    )


def _neighbour_pairs(
    conversations: NDArray[np.int64], turns: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return all pairs of facts at most `MAX_TURNS_APART` turns apart; the facts are sorted by turn."""
    pairs = []
    for step in range(1, len(turns)):
        distances = turns[step:] - turns[:-step]
        rows = np.flatnonzero((conversations[:-step] == conversations[step:]) & (distances <= MAX_TURNS_APART)).astype(
            np.int32
        )
        if not len(rows):
            break
        pairs.append((rows, rows + np.int32(step), distances[rows]))
    if not pairs:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    before, after, distances = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return before, after, distances


@cache
def _common_word_codes() -> NDArray[np.int64]:
    """Return the codes of the words that begin facts about nobody in particular, such as "lives"."""
    return np.array(sorted(map(word_code, COMMON_WORDS)), dtype=np.int64)
