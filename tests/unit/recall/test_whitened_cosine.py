"""Whitened cosines measure what distinguishes the facts of a scope, and are finite for any vectors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gaia_memory.recall.index.vector_search import REGULARIZATION, build_vector_matrix

NUMBERS = st.floats(-1, 1, width=32)
ROWS = st.integers(1, 12).flatmap(lambda count: arrays(np.float32, (count, 5), elements=NUMBERS))
QUESTIONS = arrays(np.float32, 5, elements=NUMBERS)


def unit(*numbers):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def about(what, side=1.0, share=0.6):
    """Return the vector of a text about `what`, one of ten things, with a component shared by many."""
    things = np.zeros(10)
    things[what] = share
    return unit(side, *things)


def test_what_all_facts_share_has_no_effect():
    """All facts are about Maria, so asking about Maria prefers none of them."""
    facts = build_vector_matrix(np.array([*map(about, range(10))]))
    asked = about(0, share=0.0)

    assert facts.cosines(asked).min() > 0.8
    assert np.abs(facts.whitened_cosines(asked)).max() < 0.01


def test_a_direction_with_a_large_spread_counts_less():
    """Half of the facts are about Maria and half about John, so the person matters less than the thing."""
    facts = build_vector_matrix(np.array([about(what, side=(-1) ** what) for what in range(10)]))
    asked = about(3, share=0.4)

    assert facts.cosines(asked)[3] < facts.cosines(asked)[2]
    assert facts.whitened_cosines(asked).argmax() == 3


@given(ROWS, QUESTIONS)
def test_whitened_cosines_equal_those_with_an_inverted_covariance(rows, asked):
    """The iterative solution equals the exact one."""
    facts = build_vector_matrix(rows)
    centred = (facts.rows - facts.mean).astype(float)
    spread = centred.T @ centred / len(rows) + REGULARIZATION * np.eye(5)
    turned = np.linalg.solve(spread, (asked - facts.mean).astype(float))
    lengths = np.linalg.norm(centred, axis=1) * np.linalg.norm(turned)
    clear = lengths > 1e-2

    np.testing.assert_allclose(
        facts.whitened_cosines(asked)[clear], (centred @ turned)[clear] / lengths[clear], atol=1e-2, rtol=0
    )


@given(ROWS, QUESTIONS)
def test_whitened_cosines_lie_between_minus_1_and_1(rows, asked):
    """This includes equal facts, a single fact and zero vectors."""
    found = build_vector_matrix(rows).whitened_cosines(asked)

    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1.01).all()


def test_an_invalid_vector_matches_nothing_and_affects_no_other():
    """A row may be damaged on disk."""
    sound = np.array([unit(1, 0, 0), unit(0, 1, 0), unit(0, 0, 1)])
    facts = build_vector_matrix(np.array([*sound, [np.nan, 1, 0], [np.inf, 0, 0]], dtype=np.float32))

    assert facts.cosines(unit(1, 1, 0))[3:].tolist() == [0, 0]
    assert facts.whitened_cosines(unit(1, 0.5, 0)).argmax() == 0
