"""A PostgreSQL server that is unavailable for a while, or lost at any point: nothing is lost or duplicated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.adk.conversation import APOLOGY
from gaia_memory.errors import MemoryUnavailable
from support.databases import POSTGRES_URL, memory_url
from support.harness import Sut, facts
from support.servers.tcp_proxy import LossPoint, TcpProxy

Make = Callable[..., Awaitable[Sut]]

both_losses = pytest.mark.parametrize("what", ["question", "answer"])


@asynccontextmanager
async def served(
    make: Make, folder: Path, *, sessions: str = "", background_sweep: str = "true", **scripts: Any
) -> AsyncIterator[tuple[Sut, TcpProxy]]:
    """Open a system whose memory, and by default its sessions, are on a server behind a proxy."""
    async with memory_url("postgresql", folder) as url:
        with TcpProxy(POSTGRES_URL.host or "127.0.0.1", POSTGRES_URL.port or 5432) as wire:
            address = url.set(host="127.0.0.1", port=wire.port).render_as_string(hide_password=False)
            lines = [
                f"sessions: {{database_url: '{sessions or address}', background_sweep: {background_sweep}}}",
                f"memory: {{database_url: '{address}'}}",
            ]
            sut = await make("\n".join(lines), **scripts)
            yield sut, wire
            await sut.close()


def numbered(count: int = 100) -> list[Any]:
    """Return an extractor's answers, each with a different fact, to show how often a conversation was learned."""
    return [facts(f"fact {number}") for number in range(count)]


@pytest.mark.acceptance("G09")
async def test_while_the_memory_database_is_unavailable_turns_are_answered_and_learned_later(
    make: Make, tmp_path: Path
) -> None:
    """Writes are refused, messages are learned once it is back, and no restart is needed."""
    sessions = f"sqlite:///{tmp_path / 'sessions.db'}"
    # A scheduled sweep may learn between the reconnection and the sweep that is counted.
    scripts: dict[str, Any] = {"main": ["a", "b", "c"], "extractor": numbered(), "background_sweep": "false"}
    async with served(make, tmp_path, sessions=sessions, **scripts) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await sut.chat("u", "cli", "a fact from before")
        assert (await sut.sweep_after_idle()).consolidated == 1
        wire.disconnect()

        assert await sut.chat("u", "cli", "a fact while it is away") == ["b"]
        assert await sut.chat("u", "cli", "and again") == ["c"]
        for refused in (memory.remember(scope, "x"), memory.forget(scope), memory.recall(scope, "fact")):
            with pytest.raises(MemoryUnavailable, match="does not answer"):
                await refused
        [said] = await sut.chat("u", "cli", "/remember I like teal")
        assert "does not answer" in said
        status = await memory.status(scope)
        assert (status.state, "does not answer" in status.reason) == ("degraded", True)

        wire.reconnect()
        assert (await memory.remember(scope, "x")).text == "x"
        # The first sweep counts what was said. Sessions have the time of the machine: it may be quiet by then.
        reports = [await sut.sweep(), await sut.sweep_after_idle()]
        assert sum(report.consolidated for report in reports) == 1
        assert [word in sut.EXT[-1] for word in ("while it is away", "and again", "teal")] == [True, True, False]
        assert await sut.texts("u") == ["fact 0", "x", "fact 1"]
        assert (await memory.status(scope)).state == "ok"
        assert (await sut.sweep_after_idle()).consolidated == 0


async def test_with_sessions_on_the_same_server_its_outage_causes_an_apology(make: Make, tmp_path: Path) -> None:
    """The user gets it at once, nothing is half-stored, and the next message finds everything unchanged."""
    async with served(make, tmp_path, main=["a", "b", "c"], extractor=numbered()) as (sut, wire):
        await sut.chat("u", "cli", "a fact from before")
        wire.disconnect()

        assert await sut.chat("u", "cli", "a fact while it is away") == [APOLOGY]

        wire.reconnect()
        assert await sut.chat("u", "cli", "a fact from after") == ["b"]
        assert (await sut.sweep_after_idle()).consolidated == 1
        assert ["while it is away" in sut.EXT[-1], "from after" in sut.EXT[-1]] == [False, True]
        assert await sut.texts("u") == ["fact 0"]


@both_losses
async def test_a_fact_whose_commit_is_interrupted_is_never_duplicated(
    make: Make, tmp_path: Path, what: LossPoint
) -> None:
    """It is not acknowledged, whether or not the server stored it; remembered again, it exists once."""
    async with served(make, tmp_path) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await memory.remember(scope, "the first")
        wire.drop_at(what, pattern=b"COMMIT", armed_by=b"allergic to nuts")
        with pytest.raises(MemoryUnavailable):
            await memory.remember(scope, "allergic to nuts")

        assert wire.loss_count == 1
        assert [fact.text for fact in await memory.facts(scope)] == ["the first", "allergic to nuts"][
            : 2 if what == "answer" else 1
        ]
        await memory.remember(scope, "allergic to nuts")
        assert await sut.texts("u") == ["the first", "allergic to nuts"]


@both_losses
async def test_a_forget_whose_commit_is_interrupted_is_complete_or_not_done(
    make: Make, tmp_path: Path, what: LossPoint
) -> None:
    """If done, earlier messages are never learned; if not, everything can still be forgotten."""
    sessions = f"sqlite:///{tmp_path / 'sessions.db'}"
    async with served(make, tmp_path, sessions=sessions, extractor=numbered()) as (sut, wire):
        memory, scope = sut.gaia.memory, sut.scope("u")
        await memory.remember(scope, "ZEBRA")
        await sut.chat("u", "cli", "talk of before")
        wire.drop_at(what, pattern=b"COMMIT", armed_by=b"INSERT INTO gaia_erasures")
        with pytest.raises(MemoryUnavailable):
            await memory.forget(scope)

        assert wire.loss_count == 1
        assert (await memory.forget(scope)).count == (1 if what == "question" else 0)
        await sut.sweep_after_idle()
        assert await sut.fact_rows("u") == []
        assert sut.EXT == []


async def _cut_at(make: Make, folder: Path, what: LossPoint, at: int) -> bool:
    """Learn and clear a conversation, losing the server at request `at`; return False if there was no such request."""
    answers = [f"reply {number}" for number in range(10)]
    async with served(make, folder, main=answers, extractor=numbered()) as (sut, wire):
        await sut.chat("u", "cli", "a fact said first")
        wire.drop_at(what, request_number=at)
        try:
            await sut.sweep_after_idle()
        except MemoryUnavailable:
            assert wire.loss_count
        was_lost = bool(wire.loss_count)
        wire.drop_at("question", request_number=10**9)
        for _ in range(3):
            # A lease that could not be given back runs out.
            await sut.sweep_after_idle()

        assert len(await sut.texts("u")) == 1
        assert await sut.session("u", "cli") is None
        [reply] = await sut.chat("u", "cli", "a fact said second")
        assert reply in answers
        await sut.sweep_after_idle()
        assert len(await sut.texts("u")) == 2
        assert ["a fact said first" in sut.EXT[-1], "a fact said second" in sut.EXT[-1]] == [False, True]
    return was_lost


@pytest.mark.slow
@pytest.mark.parametrize("what", ["answer", "question"])
@pytest.mark.parametrize(
    "points", [range(5, 100, 40), pytest.param(range(1, 1000), marks=[pytest.mark.slow, pytest.mark.timeout(1_800)])]
)
async def test_losing_the_server_at_any_point_learns_a_conversation_once(
    make: Make, tmp_path: Path, what: LossPoint, points: range
) -> None:
    """At its claim, read, commit or clear: all connections are cut, and a sweep later all is well."""
    for at in points:
        folder = tmp_path / str(at)
        folder.mkdir()
        if not await _cut_at(make, folder, what, at):
            assert at > 10
            return
