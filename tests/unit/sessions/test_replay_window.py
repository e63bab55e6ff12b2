"""The replay window as a pure function over a view of events."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import strategies as st

from gaia_memory.errors import InvalidInputError
from gaia_memory.sessions.replay_window import (
    EventView,
    WindowSelection,
    WindowStart,
    dropped_turn_count,
    live_indices,
    select_window,
)
from support.property_testing import property_test


def said(invocation_id: str) -> EventView:
    return EventView(invocation_id=invocation_id, is_user_turn=True, answers_long_running=True)


def reply(invocation_id: str) -> EventView:
    return EventView(invocation_id=invocation_id)


def called(invocation_id: str, *ids: str, long_running: bool = False) -> EventView:
    given_ids = frozenset(ids)
    return EventView(
        invocation_id=invocation_id, calls=given_ids, long_running=given_ids if long_running else frozenset()
    )


def responded(invocation_id: str, *ids: str, settles: bool = False) -> EventView:
    return EventView(invocation_id=invocation_id, responses=frozenset(ids), answers_long_running=settles)


def talk(turns: int, *, first: int = 0) -> list[EventView]:
    return [event for n in range(first, first + turns) for event in (said(f"i{n}"), reply(f"i{n}"))]


def kept_turns(events: Sequence[EventView], outcome: WindowSelection) -> list[str]:
    return [events[place].invocation_id for place in outcome.indices if events[place].is_user_turn]


@pytest.mark.acceptance("S03")
def test_a_window_of_three_replays_the_last_three_turns_with_their_replies():
    """With `window_turns: 3`, the eleventh turn is replayed with the two turns before it."""
    events = [*talk(10), said("i10")]

    outcome = select_window(events, window_turns=3, current_invocation_id="i10")

    assert [events[place].invocation_id for place in outcome.indices] == ["i8", "i8", "i9", "i9", "i10"]
    assert outcome.start == WindowStart(index=16, turn_no=9)


@pytest.mark.acceptance("S07")
@pytest.mark.parametrize("window_turns", [0, -1])
def test_an_empty_window_is_refused_by_its_key(window_turns: int):
    """A window below one turn is an error that names the key."""
    with pytest.raises(InvalidInputError, match=r"sessions\.window_turns"):
        select_window(talk(2), window_turns=window_turns)


def test_cuts_are_made_at_multiples_of_the_step_only():
    """With a window of 30 the start moves every tenth turn, so that 21 to 30 turns are replayed."""
    left_out = [dropped_turn_count(last, 30) for last in range(1, 101)]

    assert {number for number in left_out if number % 10} == set()
    assert {last - gone for last, gone in enumerate(left_out, start=1) if gone} == set(range(21, 31))
    assert dropped_turn_count(30, 30) == 0


def test_a_partial_load_is_cut_at_the_same_turn_as_the_whole_conversation():
    """Turns keep their absolute numbers in a load that starts with turn 21."""
    events = talk(20, first=20)

    outcome = select_window(events, window_turns=30, base_turn_no=21)

    assert kept_turns(events, outcome) == [f"i{n}" for n in range(20, 40)]
    assert outcome.start is None
    assert kept_turns(talk(41), select_window(talk(41), window_turns=30)) == [f"i{n}" for n in range(20, 41)]


@pytest.mark.acceptance("S05")
def test_a_call_answered_within_the_window_keeps_its_turn():
    """A response that came turns later must be replayed with its call."""
    events = [
        *talk(1),
        said("i1"),
        called("i1", "c", long_running=True),
        responded("i1", "c"),
        *talk(2, first=2),
        responded("i1", "c", settles=True),
        reply("i1"),
    ]

    outcome = select_window(events, window_turns=1)

    assert kept_turns(events, outcome) == ["i1", "i3"]
    assert outcome.start == WindowStart(index=2, turn_no=2)


def test_an_unanswered_long_running_call_is_kept_until_it_is_answered():
    """Its turn is replayed only while the answer is missing."""
    waiting = [said("a"), called("a", "c", long_running=True), responded("a", "c"), *talk(5)]
    answered = [*waiting, responded("a", "c", settles=True), *talk(2, first=5)]

    assert kept_turns(waiting, select_window(waiting, window_turns=1)) == ["a", "i4"]
    assert kept_turns(answered, select_window(answered, window_turns=1)) == ["i6"]


def test_the_current_invocation_is_never_cut():
    """An invocation with several turns, such as a paused task, is replayed from its start."""
    events = [*talk(2), said("task"), reply("task"), said("task"), reply("task"), said("task")]

    assert kept_turns(events, select_window(events, window_turns=1, current_invocation_id="task")) == ["task"] * 3
    assert kept_turns(events, select_window(events, window_turns=1, current_invocation_id="other")) == ["task"]


def test_whole_invocations_are_kept_for_a_workflow():
    """If requested, the rest of an invocation in the window is replayed as well."""
    events = [*talk(1), said("flow"), reply("flow"), said("flow"), reply("flow")]

    assert kept_turns(events, select_window(events, window_turns=1, whole_invocations=True)) == ["flow", "flow"]


def test_a_rewind_to_an_unloaded_invocation_drops_everything_before_it():
    """Only events after the rewind are left."""
    events = [("b", None), ("c", None), ("r", "a"), ("d", None)]

    assert live_indices(events) == [3]


def test_nested_rewinds_are_resolved_as_adk_does():
    """A rewind that was itself rewound has no effect, nor has one to a later invocation."""
    events = [("a", None), ("b", None), ("r1", "a"), ("c", None), ("r2", "r1"), ("d", None), ("r3", "x"), ("x", None)]

    assert live_indices(events[:6]) == [0, 1, 5]
    assert live_indices([("a", None), ("r", "x"), ("x", None)]) == [0, 2]


@pytest.mark.parametrize(
    ("since", "is_short"),
    [
        ([], False),
        ([EventView(invocation_id="r", rewinds_to="i8"), *talk(3, first=20)], False),
        ([EventView(invocation_id="r", rewinds_to="i8")], True),
        ([EventView(invocation_id="r", rewinds_to="i5"), *talk(3, first=20)], True),
        ([EventView(invocation_id="r", rewinds_to="job"), *talk(3, first=20)], True),
        ([responded("job", "j", settles=True), *talk(3, first=20)], True),
        ([responded("i5", "old", settles=True)], True),
        ([said("x"), responded("i5", "old", settles=True), EventView(invocation_id="r", rewinds_to="x")], True),
        ([said("i5"), EventView(invocation_id="r", rewinds_to="i5"), *talk(3, first=20)], False),
        (
            [responded("i5", "i", settles=False), EventView(invocation_id="r", rewinds_to="i5"), *talk(3, first=20)],
            True,
        ),
    ],
)
def test_an_insufficient_partial_load_is_reported(since: list[EventView], is_short: bool):
    """A rewind or a response refers to events that are missing, or too few turns are left."""
    outcome = select_window([*talk(2, first=8), *since], window_turns=2, base_turn_no=10)

    assert outcome.is_incomplete == is_short


# What may happen in a turn, and between turns.
_SAY, _TOOL, _TOOLS, _START_JOB, _ANSWER_JOB, _SUMMARY, _REWIND = range(7)


@st.composite
def histories(draw: st.DrawFn) -> list[EventView]:
    """Generate histories of turns with tool calls, jobs answered later or never, summaries and rewinds."""
    events: list[EventView] = [reply("greeting")] if draw(st.booleans()) else []
    jobs: list[tuple[str, str]] = []
    invocations: list[str] = []
    for n, action in enumerate(draw(st.lists(st.integers(_SAY, _REWIND), max_size=30))):
        here = f"i{n}"
        if action == _ANSWER_JOB and jobs:
            job, owner = jobs.pop(draw(st.integers(0, len(jobs) - 1)))
            events += [responded(owner, job, settles=True), reply(owner)]
        elif action == _SUMMARY:
            events.append(EventView(invocation_id=here, is_compaction=True, answers_long_running=True))
        elif action == _REWIND and invocations:
            events.append(EventView(invocation_id=here, rewinds_to=draw(st.sampled_from(invocations))))
            live = {events[at].invocation_id for at in live_indices((e.invocation_id, e.rewinds_to) for e in events)}
            jobs = [(job, owner) for job, owner in jobs if owner in live]
        else:
            invocations.append(here)
            events += _turn(here, action, n)
            if action == _START_JOB:
                jobs.append((f"j{n}", here))
    return events


def _turn(here: str, action: int, n: int) -> list[EventView]:
    middle: dict[int, list[EventView]] = {
        _TOOL: [called(here, f"c{n}"), responded(here, f"c{n}")],
        _TOOLS: [called(here, f"c{n}", f"d{n}"), responded(here, f"d{n}"), responded(here, f"c{n}")],
        _START_JOB: [called(here, f"j{n}", long_running=True), responded(here, f"j{n}")],
    }
    return [said(here), *middle.get(action, []), reply(here)]


windows = st.integers(1, 12)


@property_test(histories(), st.lists(windows, min_size=1, max_size=3), st.data())
def test_a_partial_load_is_replayed_like_the_whole_conversation(
    history: list[EventView], sizes: list[int], data: st.DataObject
):
    """From the anchor, whatever others said since; a load that is not enough says so."""
    first, turn_no = 0, 0
    end = 0
    while end < len(history):
        end = min(len(history), end + data.draw(st.integers(1, 25)))
        window = data.draw(st.sampled_from(sizes))
        whole = select_window(history[:end], window_turns=window)
        part = select_window(history[first:end], window_turns=window, base_turn_no=turn_no)
        if part.is_incomplete:
            first, turn_no, part = 0, 0, whole

        assert [first + at for at in part.indices] == list(whole.indices)
        if part.start is not None:
            first, turn_no = first + part.start.index, part.start.turn_no


@property_test(st.lists(st.sampled_from([_SAY, _TOOL, _TOOLS]), max_size=60), st.integers(1, 6))
def test_a_partial_load_stays_short_in_a_long_conversation(actions: list[int], window: int):
    """It begins where the window does."""
    history: list[EventView] = []
    first, turn_no = 0, 0
    for n, action in enumerate(actions):
        history += _turn(f"i{n}", action, n)
        part = select_window(history[first:], window_turns=window, base_turn_no=turn_no)
        assert not part.is_incomplete
        assert len(history) - first <= 5 * (window + max(1, window // 3))
        if part.start is not None:
            first, turn_no = first + part.start.index, part.start.turn_no
