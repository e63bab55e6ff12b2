"""A conversation is split into chunks that fit one model request, and nothing is lost."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.learning.async_iter import to_async_iter
from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS, split_into_chunks
from gaia_memory.models import Chunk, Turn, load_time_zone
from gaia_memory.models.turns import MAX_CONTEXT_CHARACTERS
from support.factories import KEY, NOON, make_message, make_turn


def cut_of(turns: list[Turn], **bounds: Any) -> list[Chunk]:
    """Return the chunks of these turns."""

    async def cut() -> list[Chunk]:
        return [chunk async for chunk in split_into_chunks(to_async_iter(turns), key=KEY, **bounds)]

    return asyncio.run(cut())


@given(
    lengths=st.lists(st.integers(1, 400), max_size=40),
    max_characters=st.integers(50, 1000),
    max_turns=st.integers(1, 10),
)
def test_every_turn_is_in_exactly_one_chunk_in_order(lengths, max_characters, max_turns):
    """Splitting loses, duplicates and reorders nothing, whatever the limits."""
    turns = [make_turn(seq, "x" * length) for seq, length in enumerate(lengths, 1)]

    cut = cut_of(turns, max_characters=max_characters, max_turns=max_turns)

    assert "".join(each.text for piece in cut for each in piece.messages) == "".join(
        each.text for one in turns for each in one.messages
    )
    seqs = [one.seq for piece in cut for one in piece.turns]
    assert sorted(seqs) == seqs
    assert set(seqs) == {one.seq for one in turns}
    for piece in cut:
        assert len(piece.turns) <= max_turns
        assert sum(len(each.text) for each in piece.messages) <= max_characters


@pytest.mark.acceptance("I13")
def test_a_long_conversation_is_split_into_bounded_chunks_with_each_turn_once():
    """120 turns of 500 characters are sent in chunks of at most 12,000; no user message is sent twice."""
    turns = [make_turn(seq, f"turn {seq:03} " + "x" * 490) for seq in range(1, 121)]

    sent = [[*piece.before, *piece.messages] for piece in cut_of(turns)]

    assert len(sent) > 4
    assert all(sum(len(each.text) for each in piece) <= 12_000 + MAX_CONTEXT_CHARACTERS for piece in sent)
    for seq in range(1, 121):
        assert sum(f"turn {seq:03} " in each.text for piece in sent for each in piece) == 1


def test_repeated_bad_answers_halve_the_limits_down_to_one_turn():
    """One bad answer changes nothing; each turn is still in exactly one chunk."""
    turns = [make_turn(seq, "x") for seq in range(1, 41)]

    sizes = [[len(piece.turns) for piece in cut_of(turns, bad_answer_count=bad)] for bad in range(9)]

    assert [max(of) for of in sizes] == [40, 40, 20, 10, 5, 2, 1, 1, 1]
    assert [sum(of) for of in sizes] == [40] * 9


def test_a_turn_longer_than_the_limit_is_split_into_chunks_of_its_own():
    """All of a pasted book is sent once, in chunks within the limit."""
    book = " ".join(f"Sentence {number} of the book." for number in range(8_000))
    turns = [make_turn(1, "a"), make_turn(2, book, "a fine book"), make_turn(3, "c")]

    cut = cut_of(turns)
    pieces = [piece for piece in cut if piece.turns[0].seq == 2]

    assert len(book) > 200_000
    assert "".join(each.text for piece in pieces for each in piece.messages) == book + "a fine book"
    assert all(sum(len(each.text) for each in piece.messages) <= MAX_CHUNK_CHARACTERS for piece in pieces)
    assert all(piece.turns[0].end == turns[1].end for piece in pieces)
    assert [piece.is_continued for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert all(piece.messages[-1].text.endswith(". ") for piece in pieces[:-1])
    assert [[each.seq for each in piece.turns] for piece in (cut[0], cut[-1])] == [[1], [3]]
    assert [each.text for each in cut[-1].before] == ["a fine book"]


@given(
    texts=st.lists(st.text("a \n.。é", max_size=60), min_size=1, max_size=6),
    room=st.integers(1, 50),
)
def test_splitting_loses_nothing_but_white_space(texts, room):
    """This holds for any texts and limits."""
    said = make_turn(1, "x")
    messages = tuple(make_message("user", text) for text in texts if text)
    whole = [replace(said, messages=messages)]

    cut = cut_of(whole, max_characters=room)

    assert all(len("".join(each.text for each in piece.messages)) <= room for piece in cut)
    assert "".join("".join(each.text.split()) for piece in cut for each in piece.messages) == "".join(
        "".join(text.split()) for text in texts
    )


def test_parts_of_a_turn_keep_a_minimum_size_after_bad_answers():
    """Half a sentence cannot be understood."""
    cut = cut_of([make_turn(1, "x" * 12_000)], bad_answer_count=30)

    assert {len(piece.messages[0].text) for piece in cut} == {1_000, 2}


@pytest.mark.acceptance("I15")
def test_a_chunk_contains_turns_of_one_day():
    """Otherwise "tomorrow" would have several meanings in a chunk."""
    turns = [make_turn(1, "a"), make_turn(2, "b"), make_turn(3, "c", at=NOON + timedelta(days=1))]

    cut = cut_of(turns, zone=load_time_zone("Europe/Berlin"))

    assert [[each.seq for each in piece.turns] for piece in cut] == [[1, 2], [3]]
    assert cut[1].said_at == NOON + timedelta(days=1)


@pytest.mark.acceptance("I15")
@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("UTC", [[1, 2, 3], [4, 5]]),
        ("Europe/Berlin", [[1, 2], [3, 4], [5]]),
        ("Asia/Tokyo", [[1], [2, 3], [4, 5]]),
    ],
)
def test_a_day_ends_at_midnight_in_the_time_zone(zone, days):
    """This includes the start of summer time in Berlin, a day of 23 hours."""
    times = ["28T14:30", "28T22:30", "28T23:30", "29T21:30", "29T22:30"]
    turns = [make_turn(seq, "hi", at=datetime.fromisoformat(f"2026-03-{at}+00:00")) for seq, at in enumerate(times, 1)]

    cut = cut_of(turns, zone=load_time_zone(zone))

    assert [[each.seq for each in piece.turns] for piece in cut] == days


def test_a_chunk_includes_the_preceding_answer_as_context():
    """A reply such as "yes, the second one" needs the answer before it, which is shortened."""
    turns = [make_turn(1, "which?", "a" * 2000 + " this or that?"), make_turn(2, "the second")]

    first, second = cut_of(turns, max_turns=1)

    assert first.before == ()
    assert [each.role for each in second.before] == ["assistant"]
    assert second.before[0].text.endswith("this or that?")
    assert len(second.before[0].text) == MAX_CONTEXT_CHARACTERS


def test_the_context_of_the_first_chunk_comes_from_the_caller():
    """The answer before the watermark is context as well."""
    [only] = cut_of([make_turn(2, "yes")], preceding=[make_turn(1, "hm", "Tea?")])

    assert [each.text for each in only.before] == ["Tea?"]


def test_the_context_ends_with_an_answer():
    """A message of the user's belongs to its own chunk and is learned once."""
    unanswered = make_turn(1, "hm")
    unanswered = replace(unanswered, messages=unanswered.messages[:1])
    [only] = cut_of([make_turn(2, "yes")], preceding=[unanswered])

    assert only.before == ()


def test_the_turn_behind_a_chunk_shows_what_is_taken_back():
    """Nothing is shown across a gap."""
    turns = [make_turn(seq, f"said {seq}") for seq in (1, 2, 3, 4, 5, 7)]
    chunks = cut_of(turns, max_turns=1)

    assert [each.text for each in chunks[0].after if each.role == "user"] == ["said 2"]
    assert (chunks[4].after, chunks[5].before, chunks[5].after) == ((), (), ())


def test_the_halves_of_a_chunk_hold_each_turn_once():
    """The second one is a reply to the last answer of the first; a single turn has no halves."""
    [chunk] = cut_of([make_turn(seq, f"turn {seq}", f"answer {seq}") for seq in (1, 2, 3)])
    halves = chunk.halve()
    assert halves is not None
    first, second = halves

    assert [turn.seq for turn in first.turns] == [1]
    assert [turn.seq for turn in second.turns] == [2, 3]
    assert [each.text for each in second.before] == ["answer 1"]
    assert first.halve() is None
