"""Each stage contributes its own reason."""

from dataclasses import replace

import numpy as np
import pytest

from gaia_memory.language.text_features import unpack_features
from gaia_memory.recall.ranking import stages
from support.factories import make_fact
from support.recall_parts import index_fact, matrix_of


def pool(asked, *facts, idf=()):
    query, matrix = matrix_of(asked, facts, idf=idf)
    return query.question, matrix


def test_words_count_for_neighbouring_facts_more_the_nearer_they_are():
    """The answer is often one turn after the words of the question."""
    facts = [make_fact(f"n{seq}", "" if seq != 3 else "the film on Friday", session="s", seq=seq) for seq in range(8)]
    scores = stages.keywords(*pool("film on Friday", *facts, make_fact("other", "", session="t", seq=4)))

    assert scores[3] == 1
    assert scores[4] > scores[5] > scores[6] > 0
    assert scores[3] > scores[2] > scores[1] > scores[0] == 0
    assert scores[8] == 0


def test_a_question_lends_its_words_mostly_to_the_next_turn():
    """A preceding statement lends fewer."""
    said = [make_fact("a", "A film", session="s", seq=1), make_fact("b", "Solaris", session="s", seq=2)]
    asked = [make_fact("c", "A film?", session="t", seq=1), make_fact("d", "Solaris", session="t", seq=2)]
    scores = stages.keywords(*pool("film", *said, *asked))

    assert scores[3] > scores[1] > 0


def test_long_texts_neither_lend_nor_borrow_words():
    """A message of thousands of characters must not sink its neighbours."""
    long = "word " * 900
    short = [make_fact("a", "a film", session="s", seq=1), make_fact("b", "Solaris", session="s", seq=2)]
    beside = [make_fact("c", f"{long} film", session="t", seq=1), make_fact("d", "Solaris", session="t", seq=2)]
    scores = stages.keywords(*pool("film", *short, *beside))

    assert scores[1] > 10 * scores[3]


def test_the_best_fact_of_a_conversation_lifts_all_its_facts():
    """Distance does not matter; facts without a conversation lift only themselves."""
    facts = [
        make_fact("a", "tea", session="s", seq=1),
        make_fact("b", "tea", session="s", seq=90),
        make_fact("c", "tea", session="t", seq=2),
        make_fact("d", "tea"),
        make_fact("e", "tea"),
    ]
    _, found = pool("tea", *facts)
    scores = np.array([{b"a": 2.0, b"b": 1.0, b"d": 1.0}.get(each, 0.0) for each in found.ids.tolist()])
    lent = dict(zip(found.ids.tolist(), stages.conversation_bonus(found, scores), strict=True))

    assert lent[b"a"] == lent[b"b"] == 2 * lent[b"d"] > 0
    assert lent[b"c"] == lent[b"e"] == 0


def test_the_users_words_count_where_a_question_names_nobody():
    """Between two people neither is the user."""
    facts = [
        replace(make_fact("a", "I bought bread"), metadata={"author": "user"}),
        replace(make_fact("b", "rye bread is best"), metadata={"author": "root_agent"}),
        make_fact("c", "bread"),
    ]
    asked = "Welches Brot war das?"

    assert stages.speaker(*pool(asked, *facts)).tolist() == [1, 0, 0]
    assert stages.speaker(*pool(asked, make_fact("a", "Tim: bread"), make_fact("b", "Ann: bread"))).tolist() == [0, 0]


def test_the_name_of_a_speaker_is_not_searched_for():
    """It is on nearly every line; a question of nothing else still searches for it."""
    said = [make_fact("a", "Melanie: hello"), make_fact("b", "Caroline: Melanie painted")]

    assert stages.keywords(*pool("What did Melanie paint?", *said)).tolist() == [0, 1]
    assert stages.keywords(*pool("Melanie?", *said))[1] == 1


@pytest.mark.parametrize(
    ("text", "speaker"),
    [("Mel: hi", "mel"), ("Dr. Anna Bell: hi", "dr. anna bell"), ("12:30 is late", None), ("Likes tea", None)],
)
def test_a_leading_name_is_the_speaker(text, speaker):
    """A time of day is not a name."""
    assert unpack_features(index_fact(make_fact("a", text)).features).speaker == speaker


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Tim: Which team do you like?", 1),
        ("The Wolves.", 0),
        ("Yes! And you?", 0.5),
        ("\u0645\u0627 \u0627\u0633\u0645\u0643\u061f", 1),
        ("\u732b\u304c\u597d\u304d\u3002\u4f55\u304c\u597d\u304d\uff1f", 0.5),
        ("", 0),
        ("What shall I cook? " * 30, 0.25),
    ],
)
def test_questions_in_a_text_reduce_its_value(text, share):
    """Their share counts, in any script and without the speaker; long texts lose less."""
    assert stages.question_share(pool("team", make_fact("a", text))[1])[0] == pytest.approx(share, abs=0.2)
