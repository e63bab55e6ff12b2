"""After a user is forgotten, no earlier message comes back, whether by channel, app, process or merge."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from support.database_matrix import make as make  # a fixture, on both databases
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]


@pytest.mark.acceptance("C12")
@pytest.mark.parametrize("scope", ["app_user", "user"])
async def test_messages_sent_before_the_forget_on_any_channel_are_never_extracted(make: Make, scope: str) -> None:
    """Messages that were never learned, wait on three channels or are private; later messages are learned on each."""
    sut = await make(f"memory: {{scope: {scope}}}", extractor=[facts(f"User likes {n}") for n in range(4)])
    for channel in ("cli", "telegram", "web"):
        await sut.chat("u", channel, f"my word on {channel} is ZEBRA")
    await sut.chat("other", "cli", "mine is QUAGGA")
    await sut.chat("u", "web", "/forget yes")
    for channel in ("cli", "telegram", "web"):
        await sut.chat("u", channel, f"I like rain on {channel}")
    await sut.sweep_after_idle()
    await sut.sweep_after_idle()

    assert len(sut.EXT) == 4
    assert not [prompt for prompt in sut.EXT if "ZEBRA" in prompt]
    for channel in ("cli", "telegram", "web"):
        assert len([prompt for prompt in sut.EXT if f"rain on {channel}" in prompt]) == 1
    assert len(await sut.texts("u")) == 3
    assert len(await sut.texts("other")) == 1


async def test_a_merge_restores_nothing_forgotten(make: Make) -> None:
    """Neither earlier messages of either id, nor their facts, nor an earlier export bring anything back."""
    sut = await make(extractor=[facts("User's word is ZEBRA"), facts("User likes rain")])
    memory, guest, ada = sut.gaia.memory, sut.scope("guest"), sut.scope("ada")
    await memory.add(ada, [NewFact("Lives in Haifa")])
    await sut.chat("guest", "cli", "my word is ZEBRA")
    await sut.sweep(force=True)
    data = await memory.export(guest)
    await memory.forget(guest)
    await memory.merge(guest, ada)
    await sut.chat("guest", "cli", "I like rain")
    await sut.sweep(force=True)
    await memory.merge(guest, ada)

    assert await sut.texts("ada") == ["Lives in Haifa", "User likes rain"]
    assert "ZEBRA" not in sut.EXT[1]
    assert await memory.import_(ada, data) == 0


async def test_another_engine_learning_during_the_forget_writes_nothing(make: Make, tmp_path: Path) -> None:
    """One engine waits for its model while another forgets: the answer is dropped and never asked for again."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        assert go_on.wait(60)
        return facts("User's word is ZEBRA")

    sut = await make(extractor=[slow])
    await sut.chat("u", "cli", "my word is ZEBRA")
    learning = asyncio.create_task(sut.sweep_after_idle())
    assert await asyncio.to_thread(asked.wait, 60)
    config = sut.gaia.config.model_dump(mode="json", exclude_unset=True) | {"model": "offline"}
    async with open_memory(config, home=sut.home) as second:
        await second.memory.forget(second.scope("u"))
        go_on.set()
        await learning
        await sut.sweep_after_idle()

        assert await second.memory.facts(second.scope("u")) == []
    assert len(sut.EXT) == 1
    assert await sut.texts("u") == []
