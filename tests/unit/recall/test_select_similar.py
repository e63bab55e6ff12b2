"""Which facts a new one may contradict or repeat."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from gaia_memory.models import Fact, Scope
from gaia_memory.recall.select_similar import DEFAULT_COSINE, select_similar, similarity_threshold

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def fact(text: str) -> Fact:
    """Return a fact whose id is its text."""
    return Fact(id=text, scope=Scope("app", "ada"), text=text, source="add", created_at=NOW, updated_at=NOW)


def test_two_shared_words_or_a_near_vector_make_facts_similar() -> None:
    """One shared word is chance; a vector needs none."""
    facts = [fact("Works at the harbour library"), fact("Likes the harbour"), fact("Is vegan"), fact("Plays chess")]

    similar = select_similar("Left the harbour library", facts, {"Is vegan": 0.8})

    assert [each.fact.text for each in similar] == ["Is vegan", "Works at the harbour library"]


def test_at_most_five_facts_are_similar() -> None:
    """A question to the model stays short."""
    facts = [fact(f"Tea number {number}") for number in range(9)]

    assert len(select_similar("Tea", facts, {each.id: 0.9 for each in facts})) == 5


def test_facts_with_near_vectors_leave_room_for_those_that_share_words() -> None:
    """A weak embedder may find unrelated facts nearer than the one that is contradicted."""
    near = [fact(f"Tea number {number}") for number in range(9)]
    known = fact("Books the Bokoze kozebodor tour")

    similar = select_similar("Skips the Bokoze kozebodor tour", [*near, known], {each.id: 0.9 for each in near})

    assert [each.fact.text for each in similar][:2] == ["Tea number 0", known.text]
    assert len(similar) == 5


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_threshold_is_what_one_pair_in_a_hundred_exceeds(shift: float) -> None:
    """Some models give every pair of texts a high cosine; the threshold follows."""
    rows = np.random.default_rng(1).normal(size=(400, 32)).astype(np.float32)
    rows[:, 0] += shift
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (rows @ rows.T)[np.triu_indices(400, 1)]

    share = float(np.mean(cosines > similarity_threshold(rows)))

    assert 0.001 < share < 0.05


def test_few_vectors_have_the_default_threshold() -> None:
    """Twenty facts have fewer pairs than the sample."""
    assert similarity_threshold(np.eye(20, dtype=np.float32)) == DEFAULT_COSINE
    assert similarity_threshold(np.eye(21, dtype=np.float32)) == 0
