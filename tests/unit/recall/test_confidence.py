"""How sure recall is that memory answers a question at all."""

import pytest

from gaia_memory.recall.index.vector_search import VectorMatches
from gaia_memory.recall.ranking.confidence import SILENT_BELOW, answer_confidence
from gaia_memory.recall.ranking.rank import rank
from support.factories import make_fact
from support.recall_parts import matrix_of, recall_config

FACTS = [
    make_fact("a", "Maria works as a nurse at the hospital"),
    make_fact("b", "Maria lives in Lisbon with two dogs"),
    make_fact("c", "Tom plays the cello"),
]


def confidence(asked, cosines=(0.6, 0.3, 0.2), *, calibrated=True):
    """Return the confidence for a question whose vector has these cosines to the facts."""
    found = dict(zip(("a", "b", "c"), cosines, strict=True))
    expanded, pool = matrix_of(asked, FACTS)
    matches = VectorMatches(scores=found, cosines=found)
    placed = rank(expanded, pool, matches, recall_config())
    return answer_confidence(expanded.question, pool, matches, placed, calibrated=calibrated)


def test_a_question_about_somebody_whom_nobody_bears_is_not_answered():
    """All else is equal: the words and the vectors."""
    assert confidence("Where does Maria work?") > 0.5
    assert confidence("Where does Valentina work?") < SILENT_BELOW


def test_a_question_about_a_month_names_nobody():
    """The words of dates are no names."""
    assert confidence("Where did Maria work in June?") > 0.3
    assert confidence("What hospital did she work at in June?") > SILENT_BELOW


def test_in_another_language_the_nearest_fact_has_to_stand_out():
    """Its words are unknown, and its cosines lower, which says nothing against the answer."""
    works = "\u0413\u0434\u0435 \u043e\u043d\u0430 \u0440\u0430\u0431\u043e\u0442\u0430\u0435\u0442?"
    weather = "\u041a\u0430\u043a\u0430\u044f \u043f\u043e\u0433\u043e\u0434\u0430?"

    assert confidence(works, (0.45, 0.1, 0.1)) > 0.5
    assert confidence(weather, (0.1, 0.05, 0.05)) < SILENT_BELOW


def test_an_embedder_that_was_not_measured_has_no_calibration():
    """Its cosines may lie anywhere."""
    assert confidence("Where does Valentina work?", calibrated=False) == pytest.approx(0.6)
