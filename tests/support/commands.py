"""A memory in a list, for the tests of the commands' words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from gaia_memory.commands.command import Call, Reply, Reset
from gaia_memory.commands.registry import parse, run
from gaia_memory.models import Fact, Receipt, Scope, Status
from support.mind import KEY, SCOPE, fact


@dataclass
class ListMemory:
    """Keeps texts; raises `error` from every method while it is set."""

    texts: list[str] = field(default_factory=list)
    forgets: int = 0
    pending: bool = False
    error: Exception | None = None
    state: Status = field(default_factory=lambda: Status(state="ok"))

    async def status(self, scope: Scope) -> Status:
        self._check()
        return self.state

    async def remember(self, scope: Scope, text: str) -> Fact:
        self._check()
        self.texts.append(text)
        return fact(str(len(self.texts)), text, scope=scope)

    async def facts(self, scope: Scope) -> list[Fact]:
        self._check()
        return [fact(str(number), text, scope=scope) for number, text in enumerate(self.texts)]

    async def count(self, scope: Scope) -> int:
        self._check()
        return len(self.texts)

    async def forget(self, scope: Scope) -> Receipt:
        self._check()
        count = len(self.texts)
        self.texts.clear()
        self.forgets += 1
        return Receipt(count=count, pending=self.pending)

    def _check(self) -> None:
        if self.error is not None:
            raise self.error


async def typed(text: str, memory: ListMemory, *, enabled: bool = True, reset: Reset = "cleared") -> Reply:
    """Return the reply to a command as it is typed; a reset ends as `reset`."""
    parsed = parse(text)
    assert parsed is not None
    name, argument = parsed

    async def resetting() -> Reset:
        return reset

    call = Call(scope=SCOPE, key=KEY, argument=argument, memory=cast(Any, memory), enabled=enabled, reset=resetting)
    return await run(name, call)
