"""The moves of a scenario in which users chat while engines learn, and the order of the actors."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from gaia_memory.sessions.clear import ClearMode
from support.concurrency.deterministic_scheduler import LEARNING_STEPS, Chooser, PausedActor

Kind = Literal["ours", "database", "sqlite", "memory"]
HOST_KINDS: tuple[Kind, ...] = ("ours", "database", "sqlite", "memory")
"""Our Conversation, and third-party Runners over each of ADK's session services."""

CLEAR_MODES: tuple[ClearMode, ...] = ("auto", "delete", "rewind", "keep")
FORGET_COMMAND, RESET_COMMAND = "/forget yes", "/reset"

Move = tuple[Literal["say", "sweep", "forget", "stray"], int, str]
"""A move, the number of the engine, and a command if there is one; a stray message bypasses memory."""


def is_cleared(kind: Kind, mode: ClearMode) -> bool:
    """Return whether a learned session of this host is cleared: "auto" leaves a third party's session as it is."""
    return mode in ("delete", "rewind") or (mode == "auto" and kind == "ours")


@dataclass(frozen=True)
class Scenario:
    """The moves of all actors, which run at once: one line per actor."""

    kind: Kind
    mode: ClearMode
    actor_moves: tuple[tuple[Move, ...], ...]
    other_session_moves: tuple[Move, ...] = ()
    """Moves of another user in another session."""


def random_scenario(rng: random.Random) -> Scenario:
    """Return a scenario of users who chat, reset and forget while sweeps run."""
    kind, mode = rng.choice(HOST_KINDS), rng.choice(CLEAR_MODES)
    # A command reserves nothing in memory, so it could find its session deleted there.
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
    """Return a chooser that mostly resumes the last actor, so that some get far, and others while learning is paused.

    In most stories no message follows until learning pauses after a step drawn for the story: otherwise a story would
    hardly ever reach the last steps.
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
    """Runs `actor` to its `nth` pause after a step, then `until` to its end or until it waits, then all.

    An empty step matches every step. With `back`, `actor` resumes after that many pauses of `until`.
    """

    def __init__(self, actor: str, step: str, *, until: str, nth: int = 1, back: int = -1) -> None:
        self.is_reached = False
        self.has_returned = False
        self._actor, self._step, self._until, self._nth, self._back = actor, step, until, nth, back
        self._waits = 0

    def __call__(self, standing: list[PausedActor]) -> PausedActor:
        """Return the actor to resume."""
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
"""An actor that waits pauses after these steps again and again: others resume after that many pauses."""
