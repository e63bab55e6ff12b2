"""Each stage has its own reason."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from gaia_memory.language.text_features import unpack_features
from gaia_memory.models import index_fact
from gaia_memory.recall.index.candidates import build_candidate_matrix
from gaia_memory.recall.query.parsed_query import parse_query
from gaia_memory.recall.ranking import stages
from support.factories import make_fact


def pool(asked, *facts, rarity=None):
    question = parse_query(asked)
    return question, build_candidate_matrix(
        question, rarity or [1.0] * len(question.terms), list(map(index_fact, facts))
    )


def test_a_fact_beside_the_words_of_the_question_is_found_by_them_the_nearer_the_more():
    """The answer often stands one turn after them."""
    facts = [make_fact(f"n{seq}", "" if seq != 3 else "the film on Friday", session="s", seq=seq) for seq in range(8)]
    _, lent = pool("film on Friday", *facts, make_fact("other", "", session="t", seq=4))
    scores = stages.keywords(lent)

    assert scores[3] == 1
    assert scores[4] > scores[5] > scores[6] > 0
    assert scores[3] > scores[2] > scores[1] > scores[0] == 0
    assert scores[8] == 0


def test_what_answers_a_question_takes_more_of_its_words():
    """The turn before lends most of them when it asks something."""
    said = [make_fact("a", "A film", session="s", seq=1), make_fact("b", "Solaris", session="s", seq=2)]
    asked = [make_fact("c", "A film?", session="t", seq=1), make_fact("d", "Solaris", session="t", seq=2)]
    scores = stages.keywords(pool("film", *said, *asked)[1])

    assert scores[3] > scores[1] > 0


def test_long_texts_neither_need_nor_lend_context():
    """They stand for themselves: a message of thousands of characters must not sink its neighbours."""
    long = "word " * 900
    short = [make_fact("a", "a film", session="s", seq=1), make_fact("b", "Solaris", session="s", seq=2)]
    beside = [make_fact("c", f"{long} film", session="t", seq=1), make_fact("d", "Solaris", session="t", seq=2)]
    scores = stages.keywords(pool("film", *short, *beside)[1])

    assert scores[1] > 10 * scores[3]


def test_rare_words_count_more():
    """By the idf of the scope."""
    question = parse_query("tea Solaris")
    facts = [make_fact("a", "some tea"), make_fact("b", "some Solaris")]
    scores = stages.keywords(build_candidate_matrix(question, [0.5, 4.0], list(map(index_fact, facts))))

    assert scores[1] > 2 * scores[0]


def test_a_whole_conversation_and_what_stands_within_three_turns_count():
    """Whatever stands between."""
    facts = [
        make_fact("film", "the film", session="s", seq=1),
        make_fact("on", "on Friday", session="s", seq=4),
        make_fact("far", "nothing", session="s", seq=9),
        make_fact("else", "a film", session="t", seq=1),
    ]
    _, whole = pool("film Friday", *facts)

    assert stages.neighbour_match(whole).tolist() == [1, 1, 0, 0.5]
    assert np.ptp(stages.conversation_match(whole)[:3]) == 0
    assert stages.conversation_match(whole)[0] > stages.conversation_match(whole)[3]


def test_the_best_of_a_conversation_lends_to_all_of_it():
    """However far away; what stands in none keeps to itself."""
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


def test_words_that_follow_each_other_as_in_the_question_count_once_more():
    """A phrase says more than its words."""
    _, both = pool(
        "green tea shop", make_fact("a", "green tea"), make_fact("b", "tea, green"), make_fact("c", "green tea shop")
    )

    assert stages.phrases(both).tolist() == [0.5, 0, 1]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("What did Melanie paint?", [1, 0, 1]),
        ("What did Caroline and Melanie paint?", [0, 0, 0]),
        ("What did they paint?", [0, 0, 0]),
    ],
)
def test_what_the_named_person_said_counts(asked, expected):
    """From a leading name or the author; of two names nobody knows who is meant."""
    facts = [
        make_fact("a", "Melanie: I painted a sunrise"),
        make_fact("b", "Caroline: you painted it"),
        replace(make_fact("c", "painted a lake"), metadata={"author": "Melanie"}),
    ]

    assert stages.speaker(*pool(asked, *facts)).tolist() == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Which bread did I buy?", [1, 0, 0]),
        ("Which bread did you recommend for my toast?", [0, 1, 0]),
        ("What was in your list of breads for me?", [0, 1, 0]),
        ("Welches Brot war das?", [0, 0, 0]),
    ],
)
def test_with_an_agent_my_points_to_the_user_and_your_advice_to_its_answers(asked, expected):
    """Nobody is named there; between people it points to nobody."""
    facts = [
        replace(make_fact("a", "I bought bread"), metadata={"author": "user"}),
        replace(make_fact("b", "rye bread is best"), metadata={"author": "root_agent"}),
        make_fact("c", "bread"),
    ]

    assert stages.speaker(*pool(asked, *facts)).tolist() == expected
    assert stages.speaker(*pool(asked, make_fact("a", "Tim: bread"), make_fact("b", "Ann: bread"))).tolist() == [0, 0]


def test_a_name_that_speaks_is_no_word_to_look_for():
    """Nearly everything around is theirs; but a question of nothing else still looks for it."""
    said = [make_fact("a", "Melanie: hello"), make_fact("b", "Caroline: Melanie painted")]

    assert stages.keywords(pool("What did Melanie paint?", *said)[1]).tolist() == [0, 1]
    assert stages.keywords(pool("Melanie?", *said)[1])[1] == 1


@pytest.mark.parametrize(
    ("text", "speaker"),
    [("Mel: hi", "mel"), ("Dr. Anna Bell: hi", "dr. anna bell"), ("12:30 is late", None), ("Likes tea", None)],
)
def test_a_leading_name_is_who_said_it(text, speaker):
    """A time of day is none."""
    assert unpack_features(index_fact(make_fact("a", text)).features).speaker == speaker


def test_dates_in_the_question_are_compared_with_when_it_was_said():
    """The nearer the better; what happened is told of in the month after, too."""
    days = [datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 5, 28, tzinfo=UTC), datetime(2023, 6, 8, tzinfo=UTC)]
    facts = [make_fact(str(day), "x", said_at=day) for day in days]
    question, dated = pool("What happened on 7 May 2023?", *facts, make_fact("never", "x"))
    scores = stages.dates(question, dated)

    assert scores[0] > scores[1] > scores[2] > scores[3] == 0
    assert stages.dates(*pool("What happened?", *facts)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("asked", "answer", "other"),
    [
        ("When did she go?", "went yesterday", "went with her"),
        ("How many dogs?", "has two dogs", "has dogs"),
        ("Where do they live?", "lives in Berlin", "lives well"),
        ("Which book did she read?", 'read "Solaris" twice', "read a book"),
    ],
)
def test_the_kind_of_answer_asked_for_counts(asked, answer, other):
    """A time, a number, a place, a title."""
    assert stages.answer_type_match(*pool(asked, make_fact("a", answer), make_fact("b", other))).tolist() == [1, 0]


def test_a_fact_about_the_one_who_is_named_counts():
    """It begins with their name; whom two names mean nobody knows, and a small word is none."""
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
def test_what_asks_tells_nothing(text, share):
    """The share of it, in any script, without who said it; less of what is long."""
    assert stages.question_share(pool("team", make_fact("a", text))[1])[0] == pytest.approx(share, abs=0.2)
