"""A process killed while learning loses nothing: each turn becomes one fact, and its session is cleared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kill.kill_harness import Installation
from support.kill.kill_steps import CLEARING_STEPS, FOLLOWING_STEPS, LEARNING_STEPS, KillPoint

MakeSite = Callable[..., Installation]
FULL = 3000
"""Operations on a store in the slow tier: Chroma rewrites its index every thousand by default."""

slow = (pytest.mark.slow, pytest.mark.timeout(900))
tiers = pytest.mark.parametrize("full", [False, pytest.param(True, marks=slow)], ids=["some", "all"])


@pytest.mark.slow
@tiers
def test_a_kill_at_each_step_loses_and_duplicates_nothing(site: MakeSite, full: bool) -> None:
    """The next process continues where the previous one was killed, and is killed itself."""
    for number in range(4 if full else 1):
        here = site(seed=number)
        for step in (*FOLLOWING_STEPS[:2], *LEARNING_STEPS, *CLEARING_STEPS, *FOLLOWING_STEPS[2:]):
            # A store that is opened late follows everything in one go.
            nth = here.rng.randint(1, 3) if full and step not in FOLLOWING_STEPS else 1
            if full and here.kill_count == len(FOLLOWING_STEPS[:2]):
                here.run(here.new_messages(1), here.new_bulk_facts(FULL))
            worker = here.run(
                here.new_messages(3 if full else 1),
                here.new_bulk_facts(300 if full else 60),
                kill_point=KillPoint(step, nth),
            )
            here.check()

            assert worker.was_killed, f"{step} was not reached {nth} times"
        seen = here.finish()
        here.check_plain_mem0(seen)

        assert here.kill_count == len(LEARNING_STEPS) + len(CLEARING_STEPS) + len(FOLLOWING_STEPS)
        assert not full or len(here.added) >= FULL


@pytest.mark.slow
@tiers
def test_a_kill_at_any_moment_loses_and_duplicates_nothing(site: MakeSite, full: bool) -> None:
    """This includes opening, chatting, adding facts, and writing the store."""
    here = site(seed=7)
    here.run(here.new_messages(2), here.new_bulk_facts(FULL if full else 200))
    for number in range(70 if full else 4):
        since, longest = ("working", 0.8) if number % 3 else ("begun", 1.5)
        here.run(
            here.new_messages(2),
            here.new_bulk_facts(400),
            kill_after=here.rng.uniform(0.0, longest),
            kill_timer_event=since,
        )
        here.check()
    seen = here.finish()
    here.check_plain_mem0(seen)

    assert here.kill_count >= (55 if full else 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_kill_during_the_first_start_does_not_prevent_the_next_start(site: MakeSite, kind: str) -> None:
    """Half-created tables, ours or ADK's, do not block it."""
    for number in range(6):
        here = site(kind=kind, seed=number)
        for _ in range(2):
            here.run(here.new_messages(1), kill_after=here.rng.uniform(0.0, 0.7), kill_timer_event="begun")
            if here.has_databases:
                here.check()
        here.run(here.new_messages(1))
        here.finish()


@tiers
def test_a_kill_by_the_model_server_loses_and_duplicates_nothing(site: MakeSite, full: bool) -> None:
    """The server kills the process on a request, and after its answer."""
    here = site(seed=3, embedder={"provider": "gemini", "embedding_dims": 64})
    here.run(here.new_messages(1))
    moments = [(kind, when) for kind in ("extractor", "embedder") for when in ("asked", "answered")]
    for number in range(8 if full else 2):
        kind, when = moments[number % 4 if full else number * 3]
        worker = here.start(here.new_messages(2), here.new_bulk_facts(20))
        here.gemini.kill_on_request(kind, here.rng.randint(1, 2), when, worker.process.kill)
        here.wait_for_workers(worker)
        here.check()

        assert worker.was_killed
    here.finish()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=slow)])
def test_a_kill_while_the_window_is_learned_loses_and_duplicates_nothing(site: MakeSite, kind: str) -> None:
    """The turns go on meanwhile; the next process learns the rest and clears the session."""
    steps = [step for step in LEARNING_STEPS if step != "embedded"]
    for step in steps:
        here = site(kind=kind, window_turns=1)
        worker = here.run(here.new_messages(1, 8), kill_point=KillPoint(step), is_learning=False)
        seen = here.check()

        assert worker.was_killed, f"{step} was not reached"
        assert bool(seen.birds) == (step == "committed")
        here.finish()
