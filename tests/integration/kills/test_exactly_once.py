"""A process that is killed while it learns costs nothing: each turn becomes one fact, and its session is cleared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.kill_steps import CLEARING, FOLLOWING, LEARNING, Stop
from support.kills import Site

MakeSite = Callable[..., Site]
FULL = 3000
"""Operations on a store in the slow tier: Chroma rewrites its index every thousand by default."""

slow = (pytest.mark.slow, pytest.mark.timeout(900))
tiers = pytest.mark.parametrize("full", [False, pytest.param(True, marks=slow)], ids=["some", "all"])


@tiers
def test_killed_at_each_step_it_loses_nothing_and_doubles_nothing(site: MakeSite, full: bool) -> None:
    """The next process goes on where that one was killed, and is killed itself."""
    for number in range(4 if full else 1):
        here = site(seed=number)
        stores = set()
        for step in (*FOLLOWING[:2], *LEARNING, *CLEARING, *FOLLOWING[2:]):
            # A store that is opened late follows everything in one go.
            nth = here.chance.randint(1, 3) if full and step not in FOLLOWING else 1
            if full and here.kills == len(FOLLOWING[:2]):
                here.run((), here.bulk(FULL))
            worker = here.run(here.talk(3 if full else 1), here.bulk(300 if full else 60), stop=Stop(step, nth))
            stores.add(here.check().store)

            assert worker.was_killed, f"{step} was not reached {nth} times"
        seen = here.finish()
        here.check_plain_mem0(seen)

        assert len(stores) <= 3, "a store that is whole is begun anew"
        assert here.kills == len(LEARNING) + len(CLEARING) + len(FOLLOWING)
        assert not full or len(here.added) >= FULL


@tiers
def test_killed_at_any_moment_it_loses_nothing_and_doubles_nothing(site: MakeSite, full: bool) -> None:
    """Also while it opens, talks, adds facts, or writes its store."""
    here = site(seed=7)
    here.run(here.talk(2), here.bulk(FULL if full else 200))
    for number in range(70 if full else 4):
        since, longest = ("working", 0.8) if number % 3 else ("begun", 1.5)
        here.run(here.talk(2), here.bulk(400), kill_after=here.chance.uniform(0.0, longest), since=since)
        here.check()
    seen = here.finish()
    here.check_plain_mem0(seen)

    assert here.kills >= (55 if full else 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_at_its_first_start_it_starts_again(site: MakeSite, kind: str) -> None:
    """Neither our tables nor ADK's, half made, keep anybody from going on."""
    for number in range(6):
        here = site(kind=kind, seed=number)
        for _ in range(2):
            here.run(here.talk(1), kill_after=here.chance.uniform(0.0, 0.7), since="begun")
            if here.is_made:
                here.check()
        here.run(here.talk(1))
        here.finish()


@tiers
def test_killed_by_whom_it_asks_it_loses_nothing_and_doubles_nothing(site: MakeSite, full: bool) -> None:
    """The model's server kills it when it is asked, and when it has answered."""
    here = site(seed=3, embedder={"provider": "gemini", "embedding_dims": 64})
    here.run(here.talk(1))
    moments = [(kind, when) for kind in ("extractor", "embedder") for when in ("asked", "answered")]
    for number in range(8 if full else 2):
        kind, when = moments[number % 4 if full else number * 3]
        worker = here.start(here.talk(2), here.bulk(20))
        here.gemini.strike(kind, here.chance.randint(1, 2), when, worker.process.kill)
        here.follow(worker)
        here.check()

        assert worker.was_killed
    here.finish()
