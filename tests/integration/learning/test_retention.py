"""Cleared messages stay in the host's session for `sessions.retain_days`, and not a sweep longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from sqlalchemy import update

from gaia_memory.ledger.tables import conversations
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

REWOUND = "sessions: {clear: rewind, retain_days: 30}"


async def kept(sut: Sut) -> list[str]:
    """Return the texts in the session of itay, visible or not; none if the session does not exist."""
    session = await sut.session("itay", "cli")
    events = session.events if session is not None else []
    return [part.text for event in events if event.content for part in event.content.parts or [] if part.text]


async def learned_and_rewound(make: Make, text: str = REWOUND) -> Sut:
    sut = await make(text, extractor=[facts("User is Itay")] * 3)
    await sut.chat("itay", "cli", "I am Itay")
    await sut.sweep_after_idle()
    assert "I am Itay" in await kept(sut)
    return sut


async def test_messages_not_yet_learned_are_never_deleted(make: Make) -> None:
    """However long ago the session was cleared."""
    sut = await learned_and_rewound(make)
    sut.clock.advance(timedelta(days=31))
    await sut.chat("itay", "cli", "Itay is back")
    await sut.sweep()

    assert "Itay is back" in await kept(sut)
    assert len(sut.EXT) == 1


async def test_what_an_earlier_release_rewound_by_itself_is_not_deleted(make: Make) -> None:
    """Its ledger does not tell whether the setting asked for that."""
    sut = await learned_and_rewound(make)
    async with sut.gaia.engine.database.transaction() as tx:
        await tx.execute(update(conversations).values(is_purgeable=False))
    sut.clock.advance(timedelta(days=4000))
    await sut.sweep()

    assert "I am Itay" in await kept(sut)


@pytest.mark.parametrize(
    "sessions", ["{clear: rewind, retain_days: null}", "{clear: keep, retain_days: 1}"], ids=["for ever", "not cleared"]
)
async def test_messages_to_be_kept_are_not_deleted(make: Make, sessions: str) -> None:
    """Null means forever, and uncleared sessions are not affected by this setting."""
    sut = await learned_and_rewound(make, f"sessions: {sessions}")
    sut.clock.advance(timedelta(days=4000))
    await sut.sweep()

    assert "I am Itay" in await kept(sut)
