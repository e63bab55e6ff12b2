"""Each stage adds its reason to the order, and can be switched off."""

from datetime import timedelta

from gaia_memory.recall.rank import Ranked, rank
from gaia_memory.recall.settings import RecallSettings
from support.mind import NOON, fact


def ranked(score, *args, **kwargs):
    return Ranked(fact=fact(*args, **kwargs), parts={"keywords": score})


def order(items, **settings):
    return [item.fact.id for item in rank(items, NOON, RecallSettings(**settings))]


def test_a_fact_next_to_a_strong_one_in_the_same_conversation_rises():
    """The answer often stands one turn after the words of the question."""
    items = [
        ranked(1.0, "asked", session="s", seq=5),
        ranked(0.4, "elsewhere", session="other", seq=6),
        ranked(0.3, "answer", session="s", seq=6),
    ]

    assert order(items) == ["asked", "answer", "elsewhere"]
    assert order(items, context=False) == ["asked", "elsewhere", "answer"]


def test_the_nearer_neighbour_gains_more():
    """Context decays with the distance in turns."""
    items = [
        ranked(1.0, "a", session="s", seq=5),
        *(ranked(0.1, f"n{n}", session="s", seq=5 + n) for n in (1, 2, 3, 4)),
    ]
    gains = [item.parts.get("context", 0.0) for item in rank(items, NOON, RecallSettings(recency=False))[1:]]

    assert gains == sorted(gains, reverse=True)
    assert gains[0] > gains[1]


def test_long_texts_neither_need_nor_lend_context():
    """A long message stands for itself."""
    texts = [("a", "b"), ("word " * 600, "b"), ("a", "word " * 600)]
    pairs = [(ranked(1.0, "a", a, session="s", seq=1), ranked(0.1, "b", b, session="s", seq=2)) for a, b in texts]
    short, beside_long, long = (rank(pair, NOON, RecallSettings())[1].parts["context"] for pair in pairs)

    assert short > 10 * beside_long > 0
    assert short > 10 * long > 0


def test_of_equal_facts_the_one_said_lately_comes_first():
    """Recency decides between equals and hardly more."""
    items = [
        ranked(1.0, "a", said_at=NOON - timedelta(days=400)),
        ranked(1.0, "b", said_at=NOON - timedelta(days=1)),
        ranked(1.2, "c", said_at=NOON - timedelta(days=4000)),
    ]

    assert order(items) == ["c", "b", "a"]
    assert order(items, recency=False) == ["c", "a", "b"]
