"""Turns, learning, clearing and forgetting, interleaved at every step: nothing is lost, doubled or refused."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster

from gaia_memory.engine import Engine
from gaia_memory.sessions.clearing.clear import ClearMode
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
    """Open a stage in an event loop of its own, and give what plays a story on it."""
    folder = Path(tempfile.mkdtemp(dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=DeterministicEventLoop) as runner:
        patch.setattr(Engine, "start", lambda *_, **__: None)
        patch.setattr("gaia_memory.sessions.turns.turn_presence._AcquireWait.next_poll_seconds", lambda _: 0.0)
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
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def sqlite() -> Iterator[tuple[InterleavingHarness, Play]]:
    """Give a stage on SQLite files."""
    with staged("sqlite") as made:
        yield made


@pytest.fixture(autouse=True)
def allow_inline_sqlite(blockbuster: BlockBuster) -> None:
    """SQLite answers in this thread here."""
    blockbuster.deactivate()


def play_many(made: InterleavingHarness, play: Play, *, first: int, count: int) -> None:
    """Play so many stories; each failure names the one to play again."""
    made.overlaps.clear()
    for number in range(first, first + count):
        chance = random.Random(number)
        story = random_scenario(chance)
        try:
            play(story, random_chooser(chance))
        except BaseException as error:
            error.add_note(f"story {number}: {story}\n" + "\n".join(made.stepper.trace))
            raise


@pytest.mark.parametrize(("first", "count"), [(0, 6), pytest.param(1_000, 3_000, marks=slow)])
def test_whatever_happens_at_once_each_turn_is_answered_and_learned_once(
    sqlite: tuple[InterleavingHarness, Play], first: int, count: int
) -> None:
    """People talk, reset and forget through two engines while both sweep; many came at each step of learning."""
    made, play = sqlite
    play_many(made, play, first=first, count=count)

    if count >= 1_000:
        assert [step for step in LEARNING_STEPS if made.overlaps[step, "sent"] < 3] == []


@pytest.mark.parametrize(("first", "count"), [(5_000, 3), pytest.param(6_000, 300, marks=slow)])
def test_so_it_is_on_a_server_database(first: int, count: int) -> None:
    """Sessions and memory on PostgreSQL, and one kind of sessions beside it in a file and in memory."""
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
def test_a_turn_that_comes_at_a_step_of_learning_is_answered_and_learned(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """From its first step to its last one while a sweep stands there, as far as it waits for nothing."""
    made, play = sqlite
    made.overlaps.clear()
    sweep, talk = (("sweep", 0, ""),), (("say", 1, ""),)
    play(Scenario(kind, mode, (sweep, talk)), PinnedSchedule("0 sweep", step, until="1 say"))

    assert (mode == "keep" and step in LEARNING_STEPS[-3:]) or (step, "sent") in made.overlaps


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
def test_whoever_comes_at_any_step_of_learning_finds_and_leaves_everything_right(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, meets: Move
) -> None:
    """Another sweep, a forgetting, a reset, a turn: once behind each step that a sweep takes, named or not."""
    _, play = sqlite
    at = 0
    is_there = True
    while is_there:
        at += 1
        choose = PinnedSchedule("0 sweep", "", until=f"1 {meets[0]}", nth=at)
        play(Scenario(kind, mode, ((("sweep", 0, ""),), (meets,))), choose)
        is_there = choose.is_reached

    assert at > 2 * len(LEARNING_STEPS)


@pytest.mark.parametrize(
    ("kind", "mode", "step"),
    [
        pytest.param(kind, mode, step, marks=() if (kind, mode, step) == ("database", "auto", "clearing") else slow)
        for kind in HOST_KINDS
        for mode in CLEAR_MODES[:3]
        for step in LEARNING_STEPS[:-1]
    ],
)
def test_learning_that_goes_on_at_any_step_of_a_turn_spoils_neither(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """A sweep comes to a step, then a turn to each of its own; then the sweep goes on to its end, and then the turn."""
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
def test_what_is_said_past_memory_at_a_step_of_learning_is_kept_until_it_is_learned(
    sqlite: tuple[InterleavingHarness, Play], kind: Kind, mode: ClearMode, step: str
) -> None:
    """A host without the plugin asks no ledger: the session itself is compared before it is cleared."""
    _, play = sqlite
    sweep, stray = (("sweep", 0, ""),), (("stray", 1, ""),)
    play(Scenario(kind, mode, (sweep, stray)), PinnedSchedule("0 sweep", step, until="1 stray"))
