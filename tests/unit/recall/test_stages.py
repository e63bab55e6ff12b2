"""Each stage contributes its own reason."""

from dataclasses import replace
from datetime import UTC, datetime

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


def test_rare_words_count_more():
    """The weight is the idf within the scope."""
    facts = [make_fact("a", "some tea"), make_fact("b", "some Solaris")]
    scores = stages.keywords(*pool("tea Solaris", *facts, idf=[0.5, 4.0]))

    assert scores[1] > 2 * scores[0]


def test_words_within_a_conversation_and_within_three_turns_count():
    """Turns in between may contain none of them."""
    facts = [
        make_fact("film", "the film", session="s", seq=1),
        make_fact("on", "on Friday", session="s", seq=4),
        make_fact("far", "nothing", session="s", seq=9),
        make_fact("else", "a film", session="t", seq=1),
    ]
    whole = pool("film Friday", *facts)
    conversation_scores = stages.conversation_match(*whole)

    assert stages.neighbour_match(*whole).tolist() == [1, 1, 0, 0.5]
    assert np.ptp(conversation_scores[:3]) == 0
    assert conversation_scores[0] > conversation_scores[3]


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


def test_consecutive_words_of_the_question_count_as_a_phrase():
    """A phrase means more than its words."""
    both = pool(
        "green tea shop", make_fact("a", "green tea"), make_fact("b", "tea, green"), make_fact("c", "green tea shop")
    )

    assert stages.phrases(*both).tolist() == [0.5, 0, 1]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("What did Melanie paint?", [1, 0, 1]),
        ("What did Caroline and Melanie paint?", [0, 0, 0]),
        ("What did they paint?", [0, 0, 0]),
    ],
)
def test_statements_of_the_named_person_count(asked, expected):
    """The speaker is a leading name or the author; with two names it is unclear who is meant."""
    facts = [
        make_fact("a", "Melanie: I painted a sunrise"),
        make_fact("b", "Caroline: you painted it"),
        replace(make_fact("c", "painted a lake"), metadata={"author": "Melanie"}),
    ]

    assert stages.speaker(*pool(asked, *facts)).tolist() == expected


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


def test_dates_in_the_question_are_compared_with_the_time_of_the_fact():
    """Nearer is better, and events are often mentioned during the following month."""
    days = [datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 5, 28, tzinfo=UTC), datetime(2023, 6, 8, tzinfo=UTC)]
    facts = [make_fact(str(day), "x", said_at=day) for day in days]
    question, dated = pool("What happened on 7 May 2023?", *facts, make_fact("never", "x"))
    scores = stages.dates(question, dated)

    assert scores[0] > scores[1] > scores[2] > scores[3] == 0
    assert stages.dates(*pool("What happened?", *facts)).tolist() == [0, 0, 0]


def test_a_fact_that_begins_with_the_named_person_counts():
    """Two names are ambiguous, and lowercase words are not names."""
    facts = [
        make_fact("a", "Maria volunteers"),
        make_fact("b", "John admires Maria"),
        make_fact("c", "Aunt Maria sings"),
    ]

    assert stages.subject(*pool("Where does Maria go?", *facts)).tolist() == [1, 0, 1]
    assert stages.subject(*pool("Do Maria and John sing?", *facts)).tolist() == [0, 0, 0]
    assert stages.subject(*pool("Where does Noa go?", *facts)).tolist() == [0, 0, 0]
    assert stages.subject(*pool("where does maria go?", *facts)).tolist() == [0, 0, 0]
    assert stages.subject(*pool("Where does Maria go?", make_fact("d", "John: Maria, hello"))).tolist() == [0]


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
