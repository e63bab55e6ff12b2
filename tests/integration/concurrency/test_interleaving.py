"""Turns, learning, clearing and forgetting, interleaved at every step: nothing is lost, duplicated or refused."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster

from gaia_memory.engine import Engine
from gaia_memory.sessions.clear import ClearMode
from support.concurrency.deterministic_scheduler import LEARNING_STEPS, DeterministicEventLoop
from support.concurrency.interleaving_harness import InterleavingHarness, open_harness
from support.concurrency.interleaving_scenarios import (
    CLEAR_MODES,
    HOST_KINDS,
    RESET_COMMAND,
    Kind,
    Move,
    PinnedSchedule,
    Scenario,
    is_cleared,
    random_chooser,
    random_scenario,
)
from support.databases import memory_url

Play = Callable[[Scenario, Any], None]
slow = (pytest.mark.slow, pytest.mark.timeout(7_200))
IN_MEMORY = Path("/dev/shm")
"""Where a file costs no wait for a disk."""


MEETINGS: dict[str, Move] = {
    "sweep": ("sweep", 1, ""),
    "forget": ("forget", 1, ""),
    "reset": ("say", 1, RESET_COMMAND),
    "say": ("say", 1, ""),
}
USUAL = (("ours", "auto", "forget"), ("database", "auto", "sweep"))


@contextmanager
def staged(kind: str) -> Iterator[tuple[InterleavingHarness, Play]]:
    """Open a harness in its own event loop, and yield it with a function that runs a scenario."""
    # The folder goes last: until the loop is closed, SQLite may still be removing its files.
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name,
        pytest.MonkeyPatch.context() as patch,
        asyncio.Runner(loop_factory=DeterministicEventLoop) as runner,
    ):
        folder = Path(name)
        patch.setattr(Engine, "start", lambda *_, **__: None)
        patch.setattr("gaia_memory.sessions.turn_presence._AcquireWait.next_poll_seconds", lambda _: 0.0)
        loop = runner.get_loop()
        assert isinstance(loop, DeterministicEventLoop)
        loop.stepper.instrument(patch)
        if kind == "sqlite":
            loop.stepper.run_sqlite_inline(patch)
        database = memory_url(kind, folder)
        url = runner.run(database.__aenter__())
        address = None if kind == "sqlite" else url.render_as_string(hide_password=False)
        opened = open_harness(folder, loop.stepper, address=address)
        made = runner.run(opened.__aenter__())
        try:
            yield made, lambda story, choose: runner.run(made.run(story, choose))
        finally:
            runner.run(opened.__aexit__(None, None, None))
            runner.run(database.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def sqlite() -> Iterator[tuple[InterleavingHarness, Play]]:
    """Yield a harness on SQLite files."""
    with staged("sqlite") as made:
        yield made


@pytest.fixture(autouse=True)
def allow_inline_sqlite(blockbuster: BlockBuster) -> None:
    """Allow SQLite to run in the event loop's thread."""
    blockbuster.deactivate()


def play_many(made: InterleavingHarness, play: Play, *, first: int, count: int) -> None:
    """Run that many scenarios; each failure names the one to repeat."""
    made.overlaps.clear()
    for number in range(first, first + count):
        chance = random.Random(number)
        story = random_scenario(chance)
        try:
            play(story, random_chooser(chance))
        except BaseException as error:
            error.add_note(f"story {number}: {story}\n" + "\n".join(made.stepper.trace))
            raise


@pytest.mark.slow
@pytest.mark.parametrize(("first", "count"), [(0, 6), pytest.param(1_000, 3_000, marks=slow)])
def test_in_random_interleavings_each_turn_is_answered_and_learned_once(
    sqlite: tuple[InterleavingHarness, Play], first: int, count: int
) -> None:
    """Users chat, reset and forget through two engines while both sweep; many turns hit each step of learning."""
    made, play = sqlite
    play_many(made, play, first=first, count=count)

    if count >= 1_000:
        assert [step for step in LEARNING_STEPS if made.overlaps[step, "sent"] < 3] == []


@pytest.mark.slow
@pytest.mark.parametrize(("first", "count"), [(5_000, 3), pytest.param(6_000, 300, marks=slow)])
def test_the_same_holds_on_a_server_database(first: int, count: int) -> None:
    """Sessions and memory on PostgreSQL, and another session service in a file or in memory."""
    with staged("postgresql") as (made, play):
        play_many(made, play, first=first, count=count)


@pytest.mark.parametrize("step", LEARNING_STEPS)
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        pytest.param(kind, mode, id=f"{kind}-{mode}", marks=() if mode == "auto" else slow)
        for kind in HOST_KINDS
        for mode in CLEAR_MODES
    ],
)
def test_a_turn_at_any_learning_step_is_answered_and_learned(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """It runs from start to end while a sweep is paused there, unless it has to wait for the sweep."""
    made, play = sqlite
    made.overlaps.clear()
    sweep, talk = (("sweep", 0, ""),), (("say", 1, ""),)
    play(Scenario(kind, mode, (sweep, talk)), PinnedSchedule("0 sweep", step, until="1 say"))

    assert (step, "sent") in made.overlaps or (step in LEARNING_STEPS[-3:] and not is_cleared(kind, mode))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "mode", "meets"),
    [
        pytest.param(kind, mode, move, id=f"{kind}-{mode}-{name}", marks=() if (kind, mode, name) in USUAL else slow)
        for kind in HOST_KINDS
        for mode in CLEAR_MODES
        for name, move in MEETINGS.items()
        if (kind, mode, move[2]) != ("memory", "delete", RESET_COMMAND)
    ],
)
def test_a_concurrent_operation_at_any_learning_step_loses_and_duplicates_nothing(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, meets: Move
) -> None:
    """Another sweep, a forget, a reset or a turn, after each step of a sweep, named or not."""
    _, play = sqlite
    at = 0
    is_there = True
    while is_there:
        at += 1
        choose = PinnedSchedule("0 sweep", "", until=f"1 {meets[0]}", nth=at)
        play(Scenario(kind, mode, ((("sweep", 0, ""),), (meets,))), choose)
        is_there = choose.is_reached

    assert at > 2 * len(LEARNING_STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "mode", "step"),
    [
        (kind, mode, step)
        for kind in HOST_KINDS
        for mode in CLEAR_MODES[:3]
        for step in LEARNING_STEPS[:-1]
        if step not in LEARNING_STEPS[-3:] or is_cleared(kind, mode)
    ],
)
def test_learning_that_resumes_at_any_step_of_a_turn_breaks_neither(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """A sweep pauses at a step, a turn at each of its own; then the sweep runs to its end, and then the turn."""
    _, play = sqlite
    at = 0
    is_back = True
    while is_back:
        at += 1
        choose = PinnedSchedule("0 sweep", step, until="1 say", back=at)
        play(Scenario(kind, mode, ((("sweep", 0, ""),), (("say", 1, ""),))), choose)
        is_back = choose.has_returned

    assert at > 3


@pytest.mark.parametrize("step", LEARNING_STEPS)
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(pytest.param(kind, mode) for kind, mode in (("ours", "delete"), ("database", "rewind"))),
        *(pytest.param(kind, mode, marks=slow) for kind, mode in (("sqlite", "delete"), ("sqlite", "rewind"))),
    ],
)
def test_messages_stored_without_memory_at_a_learning_step_are_kept_and_learned(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """A host without the plugin uses no ledger: the session itself is compared before it is cleared."""
    _, play = sqlite
    sweep, stray = (("sweep", 0, ""),), (("stray", 1, ""),)
    play(Scenario(kind, mode, (sweep, stray)), PinnedSchedule("0 sweep", step, until="1 stray"))
