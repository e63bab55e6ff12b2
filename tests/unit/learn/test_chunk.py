"""A conversation is cut into pieces that one question can hold, and nothing of it is lost."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.learn.chunk import CONTEXT_CHARACTERS, chunks
from support.mind import KEY, NOON, message, turn


@given(
    lengths=st.lists(st.integers(1, 400), max_size=40),
    max_characters=st.integers(50, 1000),
    max_turns=st.integers(1, 10),
)
def test_every_turn_is_in_exactly_one_chunk_in_order(lengths, max_characters, max_turns):
    """Cutting loses, doubles and reorders nothing, whatever the bounds."""
    turns = [turn(seq, "x" * length) for seq, length in enumerate(lengths, 1)]

    cut = list(chunks(turns, key=KEY, max_characters=max_characters, max_turns=max_turns))

    assert [each for piece in cut for each in piece.turns] == turns
    for piece in cut:
        assert len(piece.turns) <= max_turns
        assert len(piece.turns) == 1 or sum(len(each.text) for each in piece.messages) <= max_characters


@pytest.mark.acceptance("I13")
def test_a_long_conversation_is_asked_for_in_bounded_pieces_and_each_turn_once():
    """120 turns of 500 characters go out in pieces of at most 12,000, and no person's word goes out twice."""
    turns = [turn(seq, f"turn {seq:03} " + "x" * 490) for seq in range(1, 121)]

    sent = [[*piece.before, *piece.messages] for piece in chunks(turns, key=KEY)]

    assert len(sent) > 4
    assert all(sum(len(each.text) for each in piece) <= 12_000 + CONTEXT_CHARACTERS for piece in sent)
    for seq in range(1, 121):
        assert sum(f"turn {seq:03} " in each.text for piece in sent for each in piece) == 1


def test_a_turn_longer_than_the_bound_is_a_chunk_of_its_own():
    """A pasted document is asked for alone, and whole."""
    turns = [turn(1, "a"), turn(2, "b" * 500), turn(3, "c")]

    cut = list(chunks(turns, key=KEY, max_characters=100))

    assert [[each.seq for each in piece.turns] for piece in cut] == [[1], [2], [3]]
    assert cut[1].turns == (turns[1],)


@pytest.mark.acceptance("I15")
def test_a_chunk_holds_the_talk_of_one_day():
    """ "Tomorrow" has one meaning in a chunk: that of the day it was said."""
    turns = [turn(1, "a"), turn(2, "b"), turn(3, "c", at=NOON + timedelta(days=1))]

    cut = list(chunks(turns, key=KEY))

    assert [[each.seq for each in piece.turns] for piece in cut] == [[1, 2], [3]]
    assert cut[1].said_at == NOON + timedelta(days=1)


def test_a_chunk_knows_what_was_answered_just_before_it():
    """ "Yes, the second one" needs the answer it replies to, which is bounded."""
    turns = [turn(1, "which?", "a" * 2000 + " this or that?"), turn(2, "the second")]

    first, second = chunks(turns, key=KEY, max_turns=1)

    assert first.before == ()
    assert [each.role for each in second.before] == ["assistant"]
    assert second.before[0].text.endswith("this or that?")
    assert len(second.before[0].text) == CONTEXT_CHARACTERS


def test_the_first_chunk_takes_its_context_from_the_caller():
    """What was answered before the watermark is context too."""
    [only] = chunks([turn(2, "yes")], key=KEY, before=[message("assistant", "Tea?")])

    assert [each.text for each in only.before] == ["Tea?"]


def test_words_of_the_person_are_no_context():
    """What they said belongs to the chunk it was said in, and is learned once."""
    [only] = chunks([turn(2, "yes")], key=KEY, before=[message("assistant", "Tea?"), message("user", "hm")])

    assert only.before == ()


def test_no_talk_is_no_chunk():
    """Nothing is asked about nothing."""
    assert list(chunks([], key=KEY)) == []
