"""Turns that the replay window drops are learned in the background, and the conversation is not cleared."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory.errors import ModelUnavailableError
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedExtractor
from support.database_matrix import make
from support.harness import ALL, Sut, facts
from support.host_matrix import wait_until
from support.hosts.extractor_input import new_messages_in
from support.plugin_host import set_extractor

__all__ = ["make"]

Make = Callable[..., Awaitable[Sut]]

BOAT = "my boat is called Zephyr"
WINDOW = "sessions: {window_turns: 3}"


def learn_words(prompt: str) -> str:
    """Answer with one fact per new message of the user."""
    return facts(*(f"said {text}" for role, text in new_messages_in(prompt) if role == "user"))


async def chat(sut: Sut, *texts: str) -> None:
    for text in texts:
        await sut.chat("u", "cli", text)


async def settle(sut: Sut) -> None:
    """Wait until nothing is learned in the background."""
    await wait_until(lambda: not sut.gaia._engine._sweeper._window_tasks)


def said(sut: Sut) -> list[str]:
    """Return what the extractor was asked to learn, in order."""
    return [text for prompt in sut.EXT for role, text in new_messages_in(prompt) if role == "user"]


@pytest.mark.acceptance("W14")
async def test_turns_are_learned_once_more_than_the_window_shows_are_unlearned(make: Make) -> None:
    """The session stays as it is, and the sweep at idle learns only the rest."""
    sut = await make(WINDOW, extractor=[learn_words] * 9)
    await chat(sut, BOAT, "tea2", "tea3")
    await settle(sut)
    within_window = len(sut.EXT)
    await chat(sut, "tea4", "tea5", "tea6", "tea7")
    await settle(sut)
    texts, session = await sut.texts("u"), await sut.session("u", "cli")

    assert within_window == 0
    assert texts[0] == f"said {BOAT}"
    assert session is not None
    assert len(session.events) == 14
    assert "Zephyr" not in ALL(sut.REQ[-1])

    report = await sut.sweep_after_idle()

    assert (report.consolidated, report.failed) == (1, 0)
    assert said(sut) == [BOAT, "tea2", "tea3", "tea4", "tea5", "tea6", "tea7"]
    assert await sut.session("u", "cli") is None


@contextmanager
def held_extractor() -> Iterator[tuple[Callable[[str], str], threading.Event]]:
    """Yield an extractor that waits until the event is set."""
    released = threading.Event()

    def extractor(prompt: str) -> str:
        released.wait(30)
        return learn_words(prompt)

    try:
        yield extractor, released
    finally:
        released.set()


async def test_turns_go_on_while_earlier_ones_are_learned(make: Make) -> None:
    """Later turns are not learned by the same request, nor by another one meanwhile; a reset waits for it."""
    with held_extractor() as (extractor, released):
        sut = await make(WINDOW, extractor=[extractor, learn_words])
        await chat(sut, BOAT, "tea2", "tea3", "tea4")
        await wait_until(lambda: len(sut.EXT) == 1)
        await chat(sut, "tea5", "tea6", "tea7", "tea8", "tea9")
        asked = len(sut.EXT)
        reset = asyncio.create_task(sut.chat("u", "cli", "/reset"))
        await asyncio.sleep(0.05)

        assert not reset.done()

        released.set()
        await reset

    assert asked == 1
    assert said(sut) == [BOAT, *(f"tea{number}" for number in range(2, 10))]
    assert len(await sut.texts("u")) == 9
    assert await sut.session("u", "cli") is None


async def test_a_turn_that_begins_before_the_messages_are_read_is_left_for_later(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its message is in the session, its answer is not yet."""
    claimed, answering = asyncio.Event(), asyncio.Event()
    learning: list[asyncio.Task[Any]] = []

    async def answer_when_learned(_: object) -> str:
        answering.set()
        await learning[0]
        return "ok"

    sut = await make(WINDOW, main=["ok", "ok", answer_when_learned], extractor=[learn_words] * 2)
    await chat(sut, BOAT, "tea2")
    engine = sut.gaia._engine
    claim = engine.conversations.claim

    async def claim_and_wait(*args: Any, **kwargs: Any) -> Any:
        row = await claim(*args, **kwargs)
        claimed.set()
        await answering.wait()
        return row

    with monkeypatch.context() as patch:
        patch.setattr(engine.conversations, "claim", claim_and_wait)
        key = SessionKey(sut.gaia.config.app, "u", "u:cli")
        learning.append(asyncio.create_task(engine.consolidate(key, clear=False)))
        await claimed.wait()
        await chat(sut, "tea3")
    learned_meanwhile = said(sut)
    await sut.sweep_after_idle()

    assert learned_meanwhile == [BOAT, "tea2"]
    assert said(sut) == [BOAT, "tea2", "tea3"]
    assert [len(new_messages_in(prompt)) for prompt in sut.EXT] == [4, 2]


@pytest.mark.parametrize(
    "settings",
    ["memory: {auto_ingest: false}", "sessions: {background_sweep: false, window_turns: 1}"],
    ids=["auto_ingest", "background_sweep"],
)
async def test_nothing_is_learned_in_the_background_when_that_is_off(make: Make, settings: str) -> None:
    """Both settings switch off all learning that nobody asked for."""
    sut = await make(settings if "window" in settings else f"{settings}\nsessions: {{window_turns: 1}}")
    await chat(sut, BOAT, "tea2", "tea3")
    await settle(sut)

    assert sut.EXT == []


async def test_private_turns_are_not_learned(make: Make) -> None:
    """They count as turns of the window all the same."""
    sut = await make(WINDOW, extractor=[learn_words] * 3)
    await sut.chat("u", "cli", "the PIN is 9817", private=True)
    await chat(sut, BOAT, "tea3", "tea4", "tea5")
    await settle(sut)

    assert "said tea3" in await sut.texts("u")
    assert "9817" not in "".join(sut.EXT)


async def test_the_turns_that_are_left_for_later_show_what_they_take_back(make: Make) -> None:
    """They stand apart from what is learned."""
    sut = await make("sessions: {window_turns: 10}", extractor=[learn_words] * 9)
    await chat(sut, *(f"tea{number}" for number in range(1, 10)), "That's wrong: no tea.")
    await settle(sut)
    later, _, new = sut.EXT[0].partition("## New Messages")

    assert "That's wrong: no tea." in later
    assert "That's wrong: no tea." not in new
    assert said(sut) == [f"tea{number}" for number in range(1, 10)]


async def test_a_private_turn_that_is_left_for_later_is_not_shown(make: Make) -> None:
    """Nobody learns from it, and no question contains it."""
    sut = await make("sessions: {window_turns: 10}", extractor=[learn_words] * 9)
    await chat(sut, *(f"tea{number}" for number in range(1, 10)), "/private the code is 9817")
    await settle(sut)

    assert "tea8" in said(sut)
    assert "9817" not in "".join(sut.EXT)


async def test_a_failing_model_is_asked_less_and_less_and_not_while_it_is_away(make: Make) -> None:
    """Each failure doubles the number of unlearned turns at which the conversation is tried again."""
    away = ModelUnavailableError("down")
    sut = await make("sessions: {window_turns: 1}")
    failing = ScriptedExtractor(default=away)
    set_extractor(sut.gaia._engine, failing)
    tried_at = []
    for number in range(1, 15):
        before = len(failing.chunks)
        await chat(sut, f"tea{number}")
        await settle(sut)
        tried_at += [number] * (len(failing.chunks) - before)

    assert tried_at == [2, 3, 5]
    assert sut.gaia._engine.circuit_breaker.current_outage() is not None

    sut.clock.advance(timedelta(minutes=1))
    set_extractor(sut.gaia._engine, ScriptedExtractor(default=[BOAT]))
    await chat(sut, "t15")
    await settle(sut)

    assert await sut.texts("u") == [BOAT]
