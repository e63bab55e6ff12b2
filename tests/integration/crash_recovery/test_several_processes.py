"""Several processes learn from one database, and are killed: each conversation is learned once, whichever survive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.databases import on_each_database
from support.kill.kill_harness import Installation
from support.kill.kill_steps import CLEARING_STEPS, FOLLOWING_STEPS, LEARNING_STEPS, KillPoint

MakeSite = Callable[..., Installation]
slow = (pytest.mark.slow, pytest.mark.timeout(900))
STEPS = (*LEARNING_STEPS, *CLEARING_STEPS, *FOLLOWING_STEPS[2:])


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=slow)])
@on_each_database
def test_killing_one_or_both_of_two_processes_on_one_home_loses_nothing(site: MakeSite, kind: str, rounds: int) -> None:
    """One kills itself at a step; every other time the second one is killed at some moment, too."""
    here = site(kind=kind, seed=rounds)
    for number in range(rounds):
        chance = here.rng
        stop = KillPoint(chance.choice(STEPS), chance.randint(1, 2))
        moment = chance.uniform(0.0, 1.0) if number % 2 else None
        one = here.start(here.new_messages(2, prefix="one"), here.new_bulk_facts(100), kill_point=stop)
        two = here.start(here.new_messages(2, prefix="two"), here.new_bulk_facts(100), kill_after=moment)
        here.wait_for_workers(one, two)
        here.check()
    seen = here.finish()
    here.check_plain_mem0(seen)

    assert here.kill_count >= rounds // 2
    assert len(here.sent) >= rounds * 2


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=slow)])
def test_a_store_on_a_server_is_taken_over_from_a_killed_process(site: MakeSite, rounds: int) -> None:
    """PostgreSQL and a Chroma server, one home per process: the lease of a dead process is not waited for."""
    here = site(kind="postgresql", on_chroma_server=True, seed=rounds)
    homes = [here.folder / "home1", here.folder / "home2"]
    for number in range(rounds):
        stop = KillPoint(FOLLOWING_STEPS[2 + number % 2])
        one = here.start(here.new_messages(1, prefix="one"), here.new_bulk_facts(200), kill_point=stop, home=homes[0])
        two = here.start(here.new_messages(1, prefix="two"), here.new_bulk_facts(200), kill_point=stop, home=homes[1])
        here.wait_for_workers(one, two)
        here.check()

        assert one.was_killed or two.was_killed, "one of them has the store"
    here.finish(home=homes[0])


@pytest.mark.slow
@pytest.mark.parametrize(("conversations", "rounds"), [(12, 1), pytest.param(200, 6, marks=slow)])
def test_randomly_killing_four_processes_on_one_server_database_loses_nothing(
    site: MakeSite, conversations: int, rounds: int
) -> None:
    """Each has its own home, as on separate machines; killed processes are restarted."""
    here = site(kind="postgresql", seed=conversations)
    here.gemini.delay_seconds = 0.05
    homes = [here.folder / f"home{number}" for number in range(4)]
    fillers = [
        here.start(here.new_messages(conversations // 4, prefix=home.name), home=home, is_learning=False)
        for home in homes
    ]
    here.wait_for_workers(*fillers)
    assert len(here.sent) == len(here.read_databases().pending) == conversations

    for _ in range(rounds):
        moments = [here.rng.uniform(0.0, 1.0) for _ in homes]
        workers = [
            here.start((), here.new_bulk_facts(50), home=home, kill_after=moment)
            for home, moment in zip(homes, moments, strict=True)
        ]
        here.wait_for_workers(*workers)
        here.check()
    seen = here.finish(home=homes[0])
    here.check_plain_mem0(seen, homes[0])

    assert here.kill_count >= rounds
