"""Messages are learned once, whatever happens to the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.platform import time as platform_time

from gaia_memory import open_memory
from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.engine import Engine
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm
from support.databases import memory_url, on_each_database
from support.plugin_host import build_agent, open_plugin_host, set_extractor
from support.wall_clock import YEAR_SECONDS, WallClock

IDLE = 30 * 60.0 + 1.0
HOUR = 3600.0
WAYS = ("keep", "delete", "rewind", "foreign keep", "foreign rewind")


def ways(*quick: str) -> Any:
    """Run a test with every way of clearing; those not named run in the slow tier."""
    return pytest.mark.parametrize(
        "way", [way if way in quick else pytest.param(way, marks=pytest.mark.slow) for way in WAYS]
    )


class Stage:
    """A conversation, ours or in a third-party Runner, with an extractor that counts its messages."""

    def __init__(self, say: Any, engine: Engine, clock: WallClock, extractor: ScriptedExtractor) -> None:
        self.say = say
        self.engine = engine
        self._clock = clock
        self.extractor = extractor
        set_extractor(engine, extractor)

    async def learn(self) -> int:
        """Let the idle time pass and sweep; return how many conversations were learned."""
        self._clock.shift(IDLE)
        return (await self.engine.sweep()).consolidated

    @property
    def learned(self) -> Counter[str]:
        """How often the extractor received each message of the user."""
        return _said(self.extractor)

    async def waits(self) -> bool:
        """Say whether a conversation is pending."""
        async with self.engine.database.read_transaction() as tx:
            return bool(await self.engine.ledger.pending(tx, user=None, app=None))


def _said(*extractors: ScriptedExtractor) -> Counter[str]:
    return Counter(
        message.text
        for extractor in extractors
        for chunk in extractor.chunks
        for message in chunk.messages
        if message.role == "user"
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[WallClock]:
    """Give a test control of this machine's clock."""
    with WallClock().installed(monkeypatch) as clock:
        yield clock


@asynccontextmanager
async def staged(
    way: str, folder: Path, clock: WallClock, *, kind: str = "sqlite", answers: Any = "ok", address: str = ""
) -> AsyncIterator[Stage]:
    """Open a stage whose sessions are cleared in one of the ways."""
    extractor, model = ScriptedExtractor(default=[]), ScriptedLlm(default=answers)
    clear = way.removeprefix("foreign ")
    folder.mkdir(exist_ok=True)
    async with AsyncExitStack() as stack:
        if not address:
            url = await stack.enter_async_context(memory_url(kind, folder))
            address = url.render_as_string(hide_password=False)
        if way.startswith("foreign"):
            config = {"memory": {"database_url": address}, "sessions": {"clear": clear}}
            host = await stack.enter_async_context(open_plugin_host(folder, build_agent(model), config=config))
            engine, say = await host.engine(), host.run_turn
        else:
            engine, say = await stack.enter_async_context(_ours(folder, model, address, clear))
        # Here only the test says when to look for what is due.
        await engine._sweep_scheduler.stop()
        yield Stage(say, engine, clock, extractor)


@asynccontextmanager
async def _ours(folder: Path, model: ScriptedLlm, address: str, clear: str) -> AsyncIterator[tuple[Engine, Any]]:
    settings = {
        "home": str(folder / "gaia"),
        "memory": {"database_url": address},
        "sessions": {"database_url": address.replace("memory.db", "s.db"), "clear": clear, "coalesce_seconds": 0},
    }
    async with open_memory(settings, model=model) as gaia:
        talk = gaia.conversation(build_agent(model), user_id="itay", channel="cli")
        yield gaia._engine, talk.send


@on_each_database
@ways("keep", "delete", "rewind", "foreign keep", "foreign rewind")
async def test_messages_sent_after_the_clock_was_set_back_are_learned_once(
    way: str, kind: str, tmp_path: Path, clock: WallClock
) -> None:
    """By an hour, between two turns; messages sent after it was corrected are learned once too."""
    async with staged(way, tmp_path, clock, kind=kind) as stage:
        await stage.say("first")
        assert await stage.learn() == 1
        clock.shift(-HOUR - IDLE)
        await stage.say("second, behind")
        await stage.say("third, behind")
        assert await stage.learn() == 1
        assert stage.learned == Counter(["first", "second, behind", "third, behind"])
        assert not await stage.waits()
        clock.shift(HOUR)
        await stage.say("fourth")
        assert await stage.learn() == 1
        assert await stage.learn() == 0

    assert stage.learned == Counter(["first", "second, behind", "third, behind", "fourth"])


@pytest.mark.parametrize("way", ["keep", "foreign rewind"])
async def test_the_model_reads_what_was_said_while_the_clock_was_behind_in_order(
    way: str, tmp_path: Path, clock: WallClock
) -> None:
    """Memory learns it with the time that the clock showed, and whoever ran the turn has the clock as before."""
    asked: list[list[str]] = []

    def answer(request: LlmRequest) -> str:
        texts = [part.text or "" for content in request.contents for part in content.parts or []]
        asked.append([without_notes(text) for text in texts])
        return "ok"

    async with staged(way, tmp_path, clock, answers=answer) as stage:
        await stage.say("first")
        clock.shift(-HOUR)
        said_at = clock.now_seconds()
        await stage.say("second")
        assert platform_time.get_time() < said_at + 60
        await stage.say("third")
        assert await stage.learn() >= 0
        await stage.learn()
        [second] = [
            message for chunk in stage.extractor.chunks for message in chunk.messages if message.text == "second"
        ]

    assert asked[-1] == ["first", "ok", "second", "ok", "third"]
    assert said_at < second.said_at.timestamp() < said_at + 60


@ways("rewind", "foreign keep")
async def test_a_clock_that_was_a_year_ahead_loses_nothing(way: str, tmp_path: Path, clock: WallClock) -> None:
    """Neither messages from then nor later ones, and nothing waits for that year to pass."""
    async with staged(way, tmp_path, clock) as stage:
        await stage.say("before")
        clock.shift(YEAR_SECONDS)
        await stage.say("a year ahead")
        clock.shift(-YEAR_SECONDS)
        assert await stage.learn() == 0
        assert await stage.learn() == 1
        assert not await stage.waits()
        for number in range(3):
            await stage.say(f"back {number}")
            assert await stage.learn() == 1
        assert await stage.learn() == 0

    assert stage.learned == Counter(["before", "a year ahead", "back 0", "back 1", "back 2"])


@pytest.mark.slow
@pytest.mark.parametrize(("clear", "kind"), [("keep", "postgresql"), ("delete", "sqlite")])
async def test_two_hosts_with_different_clocks_on_one_database_learn_everything_once(
    clear: str, kind: str, tmp_path: Path, clock: WallClock
) -> None:
    """One is ten minutes ahead; both chat in the same conversation, and both learn."""
    ahead = 600.0
    async with memory_url(kind, tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        async with (
            staged(clear, tmp_path / "one", clock, address=address) as one,
            staged(clear, tmp_path / "other", clock, address=address) as other,
        ):
            said = []
            for number in range(3):
                clock.shift(ahead)
                await one.say(f"ahead {number}")
                clock.shift(-ahead)
                await other.say(f"behind {number}")
                said += [f"ahead {number}", f"behind {number}"]
                if number == 1:
                    clock.shift(ahead)
                    assert await one.learn() == 1
                    clock.shift(-ahead)
                    await other.say("just behind what was learned")
                    said.append("just behind what was learned")
            await other.learn()
            await other.learn()
            assert await one.learn() == 0

    assert one.learned + other.learned == Counter(said)
