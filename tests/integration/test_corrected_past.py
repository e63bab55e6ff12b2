"""A correction that reaches into the past, and a fact that was never true, on each database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact, Scope, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import InvalidInputError
from gaia_memory.testing import FakeClock
from support.databases import empty_postgres_url

ADA = Scope("gaia", "ada")
HAIFA, OSLO = "Lives in Haifa", "Lives in Oslo"


def day(number: int, month: int = 3) -> datetime:
    """Return noon of a day of 2026."""
    return datetime(2026, month, number, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
async def gaia(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Gaia]:
    """Yield memory on a new database, on 1 February."""
    memory: dict[str, Any] = {"vector_store": {"provider": "none"}}
    if request.param == "postgresql":
        url = await empty_postgres_url(request.config, tmp_path)
        memory["database_url"] = url.render_as_string(hide_password=False)
    clock = FakeClock(day(1, month=2))
    async with open_memory({"memory": memory}, home=tmp_path, model="offline", clock=clock) as opened:
        yield opened


def move_to(gaia: Gaia, moment: datetime) -> None:
    """Set the clock."""
    assert isinstance(gaia.memory.clock, FakeClock)
    gaia.memory.clock.advance(moment - gaia.memory.clock.now())


async def held(gaia: Gaia, as_of: datetime | None = None, known_at: datetime | None = None) -> list[str]:
    """Return what held at a time as known at another, by the list and by recall."""
    page = await gaia.memory.browse(ADA, as_of=as_of, known_at=known_at)
    texts = sorted(fact.text for fact in page.facts)
    hits = await gaia.memory.recall(ADA, "Lives where?", as_of=as_of, known_at=known_at, limit=50)
    assert sorted(hit.fact.text for hit in hits) == texts
    return texts


@pytest.mark.parametrize("said_again", [False, True])
async def test_a_correction_from_a_past_day_on_ends_the_old_value_there(gaia: Gaia, said_again: bool) -> None:
    """Until it was corrected the old one was known, also if it was said after that day; `restore` brings it back."""
    known = await gaia.memory.remember(ADA, HAIFA)
    move_to(gaia, day(3))
    if said_again:
        await gaia.memory.remember(ADA, HAIFA)
    move_to(gaia, day(10))
    fact = await gaia.memory.update(ADA, known.id, text=OSLO, valid_from=day(1))

    assert (fact.id, fact.valid_from) == (known.id, day(1))
    assert await held(gaia) == await held(gaia, day(5)) == await held(gaia, day(2)) == [OSLO]
    assert await held(gaia, day(20, month=2)) == [HAIFA]
    assert await held(gaia, day(5), known_at=day(9)) == await held(gaia, known_at=day(9)) == [HAIFA]
    assert (await gaia.memory.history(ADA, known.id))[0].ended_at == day(1)

    move_to(gaia, day(12))
    assert (await gaia.memory.restore(ADA, known.id)).text == HAIFA
    assert await held(gaia) == [HAIFA]
    assert await held(gaia, day(5), known_at=day(11)) == [OSLO]


async def test_it_ends_the_earlier_values_as_well(gaia: Gaia) -> None:
    """What the corrected fact had replaced on a later day ends on that day, too."""
    known = await gaia.memory.remember(ADA, HAIFA)
    move_to(gaia, day(5))
    await gaia.memory.update(ADA, known.id, text="Lives in Bonn")
    move_to(gaia, day(10))
    await gaia.memory.update(ADA, known.id, text=OSLO, valid_from=day(1))

    assert await held(gaia, day(3)) == await held(gaia, day(7)) == [OSLO]
    assert await held(gaia, day(3), known_at=day(9)) == [HAIFA]
    # A correction without a day counts from now on, whatever the day of the earlier one was.
    await gaia.memory.update(ADA, known.id, text=HAIFA)
    assert await held(gaia, day(7)) == [OSLO]
    assert await held(gaia) == [HAIFA]


async def test_what_was_never_true_answers_for_no_time(gaia: Gaia) -> None:
    """An earlier `known_at` and the history still show it; what is said later is true again from then on."""
    known = await gaia.memory.remember(ADA, HAIFA)
    [undated] = await gaia.memory.add(ADA, [NewFact("Lives on a boat")])
    move_to(gaia, day(10))
    for fact in (known, undated):
        await gaia.memory.retire(ADA, fact.id, why="A joke of 2024: my password is hunter2")

    assert await held(gaia) == await held(gaia, day(5)) == await held(gaia, day(1, month=1)) == []
    assert await held(gaia, day(5), known_at=day(9)) == [HAIFA, "Lives on a boat"]
    [period] = await gaia.memory.history(ADA, known.id)
    assert (period.text, period.why, period.actor, period.ended_at) == (HAIFA, "untrue", "host", day(10))
    assert str(period.note).startswith("A joke")
    assert "hunter2" not in str(period.note)
    assert (await gaia.memory.preview_profile(ADA)).fallback.bullets == ()

    # Elsewhere it is as untrue.
    await gaia.memory.import_(Scope("gaia", "bob"), await gaia.memory.export(ADA))
    assert (await gaia.memory.browse(Scope("gaia", "bob"), as_of=day(5))).facts == ()

    move_to(gaia, day(12))
    await gaia.memory.remember(ADA, HAIFA)
    assert await held(gaia) == [HAIFA]
    assert await held(gaia, day(11)) == []
    await gaia.memory.restore(ADA, undated.id)
    assert await held(gaia, day(5)) == ["Lives on a boat"]


@pytest.mark.parametrize("why", ["", " ", 5, "x" * 501])
async def test_a_retirement_without_a_short_reason_is_refused(gaia: Gaia, why: str) -> None:
    """And so is one of a fact that nobody knows; the message names the argument."""
    known = await gaia.memory.remember(ADA, HAIFA)
    with pytest.raises(InvalidInputError, match=r"^why .*500 characters"):
        await gaia.memory.retire(ADA, known.id, why=why)
    with pytest.raises(InvalidInputError, match=r"^fact_id is 'x': pass the id"):
        await gaia.memory.retire(ADA, "x", why="It was a joke")
    with pytest.raises(InvalidInputError, match=r"valid_from.*time zone"):
        await gaia.memory.update(ADA, known.id, text=OSLO, valid_from=datetime(2026, 3, 1))  # noqa: DTZ001

    assert await held(gaia) == [HAIFA]


async def test_a_wording_that_holds_only_later_is_refused_for_a_fact_that_holds_now(gaia: Gaia) -> None:
    """Else nothing would be true until then; one that is to come itself is corrected."""
    known = await gaia.memory.remember(ADA, HAIFA)
    with pytest.raises(InvalidInputError, match=r"valid_from .*remember what will be true"):
        await gaia.memory.update(ADA, known.id, text=OSLO, valid_from=day(1))
    to_come = await gaia.memory.remember(ADA, OSLO, valid_from=day(1))
    await gaia.memory.update(ADA, to_come.id, text="Lives in Bergen", valid_from=day(2))

    assert await held(gaia) == [HAIFA]
    assert await held(gaia, day(3)) == ["Lives in Bergen", HAIFA]


async def test_a_late_statement_is_not_ended_by_what_was_never_true(gaia: Gaia) -> None:
    """The slot of a key belongs to what is true."""
    move_to(gaia, day(5))
    joke = await gaia.memory.remember(ADA, OSLO, key="user/home")
    move_to(gaia, day(6))
    await gaia.memory.retire(ADA, joke.id, why="It was a joke")
    await gaia.memory.add(ADA, [NewFact(HAIFA, said_at=day(6) - timedelta(days=3), key="user/home")])

    assert await held(gaia) == [HAIFA]
