"""What happens in a story in which people talk while others learn, and who goes on when."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from gaia_memory.sessions.clearing.clear import ClearMode
from support.concurrency.deterministic_scheduler import LEARNING_STEPS, Chooser, PausedActor

Kind = Literal["ours", "database", "sqlite", "memory"]
HOST_KINDS: tuple[Kind, ...] = ("ours", "database", "sqlite", "memory")
"""Our Conversation, and somebody else's Runner over each of ADK's session services."""

CLEAR_MODES: tuple[ClearMode, ...] = ("auto", "delete", "rewind", "keep")
FORGET_COMMAND, RESET_COMMAND = "/forget yes", "/reset"

Move = tuple[Literal["say", "sweep", "forget", "stray"], int, str]
"""What somebody does through which engine, with a command that is said; what is stray is said past memory."""


@dataclass(frozen=True)
class Scenario:
    """Who does what, all at once: each line is one actor's."""

    kind: Kind
    mode: ClearMode
    actor_moves: tuple[tuple[Move, ...], ...]
    other_session_moves: tuple[Move, ...] = ()
    """What somebody else says meanwhile, in another session."""


def random_scenario(rng: random.Random) -> Scenario:
    """Return a story of people who talk, reset and forget while others sweep."""
    kind, mode = rng.choice(HOST_KINDS), rng.choice(CLEAR_MODES)
    # A command holds nothing in memory: it may find its session deleted, where somebody asks for that.
    may_command = (kind, mode) != ("memory", "delete")
    forgets, resets = may_command and rng.random() < 0.25, may_command and rng.random() < 0.25
    lines: list[tuple[Move, ...]] = []
    for _ in range(rng.choice((1, 1, 2))):
        says: list[Move] = [("say", rng.randrange(2), "") for _ in range(rng.randrange(1, 4))]
        if resets and rng.random() < 0.7:
            says.insert(rng.randrange(len(says) + 1), ("say", rng.randrange(2), RESET_COMMAND))
        if forgets:
            place = rng.randrange(len(says) + 1)
            says.insert(place, rng.choice((("say", 0, FORGET_COMMAND), ("say", 1, FORGET_COMMAND), ("forget", 1, ""))))
        lines.append(tuple(says))
    sweeps = [rng.randrange(1, 3) for _ in range(rng.choice((1, 1, 2)))]
    lines += [tuple(("sweep", rng.randrange(2), "") for _ in range(times)) for times in sweeps]
    others: list[Move] = [("say", rng.randrange(2), "") for _ in range(rng.choice((0, 0, 2)))]
    return Scenario(kind, mode, tuple(lines), tuple(others))


def random_chooser(rng: random.Random) -> Chooser:
    """Return who goes on: mostly whoever went last, so that some come far, and mostly others where learning stands.

    In most stories nobody says anything more until learning stands behind a step that is drawn for the story: the last
    steps would hardly ever be met otherwise.
    """
    last = ""
    awaited = rng.choice(("", *LEARNING_STEPS))

    def choose(standing: list[PausedActor]) -> PausedActor:
        nonlocal last, awaited
        if any(stop.has_done(awaited) for stop in standing):
            awaited = ""
        able = [stop for stop in standing if not awaited or stop.step != "sent"] or standing
        again = [stop for stop in able if stop.actor == last]
        others = [stop for stop in able if not stop.has_done(*LEARNING_STEPS)]
        pool = others if len(others) < len(able) and rng.random() < 0.7 else again
        stop = rng.choice(pool if pool and rng.random() < 0.6 else able)
        last = stop.actor
        return stop

    return choose


class PinnedSchedule:
    """Lets `actor` go on to its `nth` stop behind a step, then `until` to its end or while it can, then everybody.

    Without a step any is meant. With `back` it is `actor` who goes on after so many stops of `until`.
    """

    def __init__(self, actor: str, step: str, *, until: str, nth: int = 1, back: int = -1) -> None:
        self.is_reached = False
        self.has_returned = False
        self._actor, self._step, self._until, self._nth, self._back = actor, step, until, nth, back
        self._waits = 0

    def __call__(self, standing: list[PausedActor]) -> PausedActor:
        """Return who goes on."""
        of = {stop.actor: stop for stop in standing}
        if not self.is_reached and self._actor in of:
            self._nth -= not self._step or of[self._actor].has_done(self._step)
            self.is_reached = self._nth == 0
        if not self.is_reached or self.has_returned or self._until not in of:
            return of.get(self._actor) or standing[0]
        is_waiting = of[self._until].step in _WAITING_STEPS
        self._back -= not is_waiting
        self.has_returned = self._back == 0
        self._waits = self._waits + 1 if is_waiting else 0
        return of[self._until] if self._waits < _MAX_WAITS else of.get(self._actor) or standing[0]


_WAITING_STEPS, _MAX_WAITS = ("held", "turn begun"), 5
"""Behind these somebody stands again and again who waits, and looks so often before others go on."""
