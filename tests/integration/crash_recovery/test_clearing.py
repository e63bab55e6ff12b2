"""Kills around a clear or between two chunks of a long conversation: nothing is cleared before it is learned."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kill.kill_harness import BIRD_PATTERN, Installation
from support.kill.kill_steps import CLEARING_STEPS, KillPoint

MakeSite = Callable[..., Installation]
slow = (pytest.mark.slow, pytest.mark.timeout(900))
LONG = 5_000
"""Characters of a turn of which two fill a piece."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clear", "rounds"),
    [
        ("rewind", 1),
        pytest.param("delete", 2, marks=slow),
        pytest.param("rewind", 2, marks=slow),
        pytest.param("keep", 2, marks=slow),
    ],
)
def test_a_kill_around_a_clear_loses_and_duplicates_nothing(site: MakeSite, clear: str, rounds: int) -> None:
    """The user continues in the same sessions, whatever became of them."""
    here = site(clear=clear)
    for number in range(rounds):
        for step in CLEARING_STEPS if clear != "keep" else ("written", "committed"):
            worker = here.run(here.new_messages(2 + number % 2), kill_point=KillPoint(step, 1 + number % 2))
            here.check()

            assert worker.was_killed
    seen = here.finish(keeps_sessions=clear == "keep")

    assert clear == "delete" or seen.events, "rewound and kept talk stays with its host"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clear", "rounds"),
    [
        ("delete", 1),
        pytest.param("delete", 2, marks=slow),
        pytest.param("rewind", 2, marks=slow),
    ],
)
def test_a_kill_between_two_chunks_repeats_no_chunk_and_leaves_the_rest_pending(
    site: MakeSite, clear: str, rounds: int
) -> None:
    """Each chunk is learned by itself; `status` reports the conversation until the last one is."""
    here = site(clear=clear)
    for _ in range(rounds):
        says = here.new_messages(1, 6, length=LONG)
        here.run(says, kill_point=KillPoint("committed"))
        first = here.check()
        here.run(kill_point=KillPoint("committed"))
        second = here.check()
        birds = [BIRD_PATTERN.findall(text)[0] for _, _, text in says]

        assert [len(seen.birds.keys() & here.sent) for seen in (first, second)] == [
            len(here.sent) - 4,
            len(here.sent) - 2,
        ]
        assert first.pending == second.pending == {f"{says[0][0]}:{says[0][1]}"}

        seen = here.finish()

        assert seen.pending == set()
        assert {here.gemini.bird_counts[bird] for bird in birds} == {1}


@pytest.mark.slow
def test_a_kill_during_a_chunks_extraction_repeats_only_that_chunk(site: MakeSite) -> None:
    """Committed chunks stay committed."""
    here = site()
    says = here.new_messages(1, 6, length=LONG)
    here.run(says, kill_point=KillPoint("extractor answered", 2))
    here.finish()
    asked = [here.gemini.bird_counts[BIRD_PATTERN.findall(text)[0]] for _, _, text in says]

    assert asked == [1, 1, 2, 2, 1, 1]
