"""What happens in a story in which people talk while others learn, and who goes on when."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from gaia_memory.sessions.clearing.clear import ClearMode
from support.stepping import LEARNING, Choose, Stop

Kind = Literal["ours", "database", "sqlite", "memory"]
KINDS: tuple[Kind, ...] = ("ours", "database", "sqlite", "memory")
"""Our Conversation, and somebody else's Runner over each of ADK's session services."""

MODES: tuple[ClearMode, ...] = ("auto", "delete", "rewind", "keep")
FORGET, RESET = "/forget yes", "/reset"

Move = tuple[Literal["say", "sweep", "forget", "stray"], int, str]
"""What somebody does through which engine, with a command that is said; what is stray is said past memory."""


@dataclass(frozen=True)
class Story:
    """Who does what, all at once: each line is one actor's."""

    kind: Kind
    mode: ClearMode
    lines: tuple[tuple[Move, ...], ...]
    others: tuple[Move, ...] = ()
    """What somebody else says meanwhile, in another session."""


def any_story(chance: random.Random) -> Story:
    """Return a story of people who talk, reset and forget while others sweep."""
    kind, mode = chance.choice(KINDS), chance.choice(MODES)
    # A command holds nothing in memory: it may find its session deleted, where somebody asks for that.
    may_command = (kind, mode) != ("memory", "delete")
    forgets, resets = may_command and chance.random() < 0.25, may_command and chance.random() < 0.25
    lines: list[tuple[Move, ...]] = []
    for _ in range(chance.choice((1, 1, 2))):
        says: list[Move] = [("say", chance.randrange(2), "") for _ in range(chance.randrange(1, 4))]
        if resets and chance.random() < 0.7:
            says.insert(chance.randrange(len(says) + 1), ("say", chance.randrange(2), RESET))
        if forgets:
            place = chance.randrange(len(says) + 1)
            says.insert(place, chance.choice((("say", 0, FORGET), ("say", 1, FORGET), ("forget", 1, ""))))
        lines.append(tuple(says))
    sweeps = [chance.randrange(1, 3) for _ in range(chance.choice((1, 1, 2)))]
    lines += [tuple(("sweep", chance.randrange(2), "") for _ in range(times)) for times in sweeps]
    others: list[Move] = [("say", chance.randrange(2), "") for _ in range(chance.choice((0, 0, 2)))]
    return Story(kind, mode, tuple(lines), tuple(others))


def at_random(chance: random.Random) -> Choose:
    """Return who goes on: mostly whoever went last, so that some come far, and mostly others where learning stands.

    In most stories nobody says anything more until learning stands behind a step that is drawn for the story: the last
    steps would hardly ever be met otherwise.
    """
    last = ""
    awaited = chance.choice(("", *LEARNING))

    def choose(standing: list[Stop]) -> Stop:
        nonlocal last, awaited
        if any(stop.is_behind(awaited) for stop in standing):
            awaited = ""
        able = [stop for stop in standing if not awaited or stop.step != "sent"] or standing
        again = [stop for stop in able if stop.actor == last]
        others = [stop for stop in able if not stop.is_behind(*LEARNING)]
        pool = others if len(others) < len(able) and chance.random() < 0.7 else again
        stop = chance.choice(pool if pool and chance.random() < 0.6 else able)
        last = stop.actor
        return stop

    return choose


class Staying:
    """Lets `actor` go on to its `nth` stop behind a step, then `until` to its end or while it can, then everybody.

    Without a step any is meant. With `back` it is `actor` who goes on after so many stops of `until`.
    """

    def __init__(self, actor: str, step: str, *, until: str, nth: int = 1, back: int = -1) -> None:
        self.is_there = False
        self.is_back = False
        self._actor, self._step, self._until, self._nth, self._back = actor, step, until, nth, back
        self._waits = 0

    def __call__(self, standing: list[Stop]) -> Stop:
        """Return who goes on."""
        of = {stop.actor: stop for stop in standing}
        if not self.is_there and self._actor in of:
            self._nth -= not self._step or of[self._actor].is_behind(self._step)
            self.is_there = self._nth == 0
        if not self.is_there or self.is_back or self._until not in of:
            return of.get(self._actor) or standing[0]
        is_waiting = of[self._until].step in _WAITS
        self._back -= not is_waiting
        self.is_back = self._back == 0
        self._waits = self._waits + 1 if is_waiting else 0
        return of[self._until] if self._waits < _PATIENCE else of.get(self._actor) or standing[0]


_WAITS, _PATIENCE = ("held", "turn begun"), 5
"""Behind these somebody stands again and again who waits, and looks so often before others go on."""
