"""Processes of several machines on one PostgreSQL database and one Chroma server: they chat, learn and are killed."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from support.kill.kill_harness import Installation

MakeSite = Callable[..., Installation]
Death = tuple[str, float | None]

AT_AN_ACKNOWLEDGEMENT: Death = ("added", 0.0)


def some_death(chance: random.Random) -> Death:
    """Return the event and the delay after which a process is killed; None lets it live."""
    return chance.choice(
        [
            AT_AN_ACKNOWLEDGEMENT,
            ("said", chance.uniform(0.0, 0.3)),
            ("working", chance.uniform(0.0, 1.0)),
            ("begun", chance.uniform(0.0, 1.5)),
            ("working", None),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "rounds"),
    [(2, 1), pytest.param(4, 12, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
def test_processes_on_shared_servers_keep_everything_once_whichever_are_killed(
    site: MakeSite, processes: int, rounds: int
) -> None:
    """They share conversations; one process per round is killed right after a `remember` was acknowledged to it.

    In the last round all live, and learn from the same conversations at the same time.
    """
    here = site(kind="postgresql", on_chroma_server=True, seed=processes)
    here.gemini.delay_seconds = 0.2
    homes = [here.folder / f"home{number}" for number in range(processes)]
    acknowledged = 0
    for number in range(rounds):
        workers = []
        for at, home in enumerate(homes):
            since, after = AT_AN_ACKNOWLEDGEMENT if at == number % processes else some_death(here.rng)
            says = here.new_messages(2, prefix=f"round{number}")
            workers.append(
                here.start(
                    says, here.new_bulk_facts(20), home=home, batch_size=1, kill_timer_event=since, kill_after=after
                )
            )
        here.wait_for_workers(*workers)
        here.check()

        assert workers[number % processes].was_killed
        assert acknowledged < len(here.added)
        acknowledged = len(here.added)
    here.wait_for_workers(*[here.start(here.new_messages(3, prefix="last"), home=home) for home in homes])
    here.check()
    seen = here.finish(home=homes[0])
    here.check_plain_mem0(seen, homes[0])

    assert here.kill_count >= rounds
    assert not any((home / "store").exists() for home in homes)
