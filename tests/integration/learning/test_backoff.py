"""A conversation that fails for reasons other than the model is backed off too: reported, kept, never parked."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory.learning.circuit_breaker import PARK_AFTER_BAD_ANSWERS
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

SAID = "ZEBRA is the word"


class Broken:
    """Replaces a method by one that raises an error quoting the messages, until it is restored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: Exception) -> None:
        self.calls = 0
        self._error: Exception | None = error
        self._method = getattr(owner, name)
        monkeypatch.setattr(owner, name, self)

    async def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self._error is not None:
            raise self._error
        return await self._method(*arguments, **named)

    def mend(self) -> None:
        self._error = None


def session_service(sut: Sut) -> tuple[Any, str]:
    return sut.gaia.session_service, "get_session"


def facts_store(sut: Sut) -> tuple[Any, str]:
    return sut.gaia._engine.facts, "state"


def clearing(sut: Sut) -> tuple[Any, str]:
    return sut.gaia.session_service, "delete_session"


@pytest.mark.parametrize("part", [session_service, facts_store, clearing])
async def test_other_failures_are_counted_reported_and_retried_later(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    part: Callable[[Sut], tuple[Any, str]],
) -> None:
    """With growing pauses instead of at each sweep, without a limit, and without quoting the user."""
    caplog.set_level(logging.INFO)
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", SAID)
    broken = Broken(monkeypatch, *part(sut), OSError(f"away: {SAID}"))
    first = await sut.sweep_after_idle()
    status = await sut.gaia.memory.status(sut.scope("u"))
    calls = broken.calls
    at_once = await sut.sweep()
    [waiting] = status.pending

    assert (first.failed, at_once.failed, broken.calls) == (1, 0, calls)
    assert (status.state, waiting.attempts, waiting.parked) == ("degraded", 1, False)
    assert "broke off (OSError)" in status.reason
    assert 60 <= (waiting.retry_at or 0) - sut.clock.now().timestamp() <= 75

    for _ in range(PARK_AFTER_BAD_ANSWERS):
        sut.clock.advance(timedelta(hours=1))
        await sut.sweep()
    status = await sut.gaia.memory.status(sut.scope("u"))

    assert [(each.attempts, each.parked) for each in status.pending] == [(1 + PARK_AFTER_BAD_ANSWERS, False)]

    broken.mend()
    sut.clock.advance(timedelta(hours=1))
    await sut.sweep()

    assert await sut.session("u", "cli") is None
    assert await sut.texts("u") == ["F"]
    assert len(sut.EXT) == 1
    assert (await sut.gaia.memory.status(sut.scope("u"))).state == "ok"
    assert "ZEBRA" not in caplog.text + str(status)
