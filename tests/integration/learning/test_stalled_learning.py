"""A conversation whose learning stands still ends as a failure, and the others are learned."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import pytest

from gaia_memory.learning import consolidate
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]


async def test_a_conversation_that_stands_still_is_stopped_and_reported(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its slot is free again, `status` says why, and it is learned once whatever held it is gone."""
    released = threading.Event()

    def extract(prompt: str) -> str:
        if "I am Noa" in prompt:
            released.wait(30)
        return facts("Is Noa" if "I am Noa" in prompt else "Is Eli")

    sut = await make(extractor=[extract] * 10)
    await sut.chat("noa", "cli", "I am Noa!")
    await sut.chat("eli", "cli", "I am Eli!")
    monkeypatch.setattr(consolidate, "STALL_SECONDS", 1.0)
    report = await sut.sweep(force=True)
    status = await sut.gaia.memory.status(sut.scope("noa"))

    assert (report.consolidated, report.failed) == (1, 1)
    assert await sut.texts("eli") == ["Is Eli"]
    assert status.state == "degraded"
    assert "learning it stood still for 1 seconds and was stopped" in status.reason

    monkeypatch.undo()
    released.set()
    assert (await sut.sweep(force=True)).consolidated == 1
    assert await sut.texts("noa") == ["Is Noa"]
