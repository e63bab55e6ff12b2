"""/memory history, and the way back that /forget offers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from gaia_memory.models import Fact, PastFact, Scope
from support.cli.slash_commands import ListMemory, run_command
from support.factories import make_fact

MARCH, MAY = datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass
class MovedMemory(ListMemory):
    """Somebody who moved from Oslo to Berlin, and likes tea."""

    def __post_init__(self) -> None:
        self.texts = ["Likes tea", "Lives in Berlin"]
        self.ids = ["1", "2"]
        super().__post_init__()

    async def history(self, scope: Scope, fact_id: str) -> list[PastFact]:
        if fact_id != "2":
            return await super().history(scope, fact_id)
        before = PastFact(id="3", text="Lives in Oslo", first_said_at=MARCH, said_at=MARCH, ended_at=MAY)
        return [
            replace(before, ended_by="2", why="replaced", actor="rule:home"),
            PastFact(id="2", text="Lives in Berlin", first_said_at=MAY, said_at=MAY),
        ]

    async def restore(self, scope: Scope, fact_id: str, *, actor: str) -> Fact:
        assert (fact_id, actor) == ("2", "person")
        self.texts[1] = "Lives in Oslo"
        return make_fact("3", "Lives in Oslo", scope=scope)


async def test_history_tells_when_a_fact_was_true() -> None:
    """Oldest first, by the row of the list."""
    reply = await run_command("/memory history 2", MovedMemory())

    assert reply.text.splitlines()[1:] == [
        "- Lives in Oslo (2026-03-01 to 2026-05-01, replaced)",
        "- Lives in Berlin (since 2026-05-01)",
    ]


@pytest.mark.parametrize(("row", "words"), [("1", "replaced nothing"), ("9", "no such row")])
async def test_without_a_history_that_is_said(row: str, words: str) -> None:
    """A fact that replaced nothing, and a row that is none."""
    assert words in (await run_command(f"/memory history {row}", MovedMemory())).text


async def test_history_alone_is_a_word_to_search_for() -> None:
    """Somebody may study history."""
    assert "studies history" in (await run_command("/memory history", ListMemory(["studies history"]))).text


async def test_forget_offers_the_way_back_first() -> None:
    """Nothing is forgotten then."""
    memory = MovedMemory()
    preview = await run_command("/forget 2", memory)
    assert "It replaced: Lives in Oslo. To go back to that instead, send /forget 2 back." in preview.text

    reply = await run_command("/forget 2 back", memory)
    assert "I remember again: Lives in Oslo" in reply.text
    assert (memory.texts, memory.forget_count) == (["Likes tea", "Lives in Oslo"], 0)


async def test_back_without_an_offer_is_a_word_to_look_for() -> None:
    """What to forget may have that word."""
    memory = MovedMemory()
    memory.texts.append("Has a bad back")

    assert "Has a bad back" in (await run_command("/forget bad back", memory)).text
    assert "back." not in (await run_command("/forget tea", memory)).text
