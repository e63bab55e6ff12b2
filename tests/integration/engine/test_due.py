"""Due dates: what is refused, what a correction or a repetition changes, and that nobody sees another person's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gaia_memory import open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import InvalidInputError
from gaia_memory.testing import FakeClock
from support.oracles.mutants import Mutant

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TOMORROW = NOW + timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
BORDER = Mutant(
    "gaia_memory.facts.due_facts",
    "DueFacts.due",
    "_DUE, values",
    'select(*FACT_COLUMNS).where(facts.c.due_at <= values["its_end"])',
)


@pytest.fixture
async def gaia(tmp_path: Path) -> AsyncIterator[Gaia]:
    """Open memory in an empty home."""
    async with open_memory(home=tmp_path, model="offline", clock=FakeClock(NOW)) as gaia:
        yield gaia


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"due_at": NOW - timedelta(minutes=1)}, "due_at 2026-03-02T11:59:00.* is in the past: pass a time to come"),
        ({"due_at": NOW - timedelta(days=2), "due_all_day": True}, "is in the past"),
        ({"due_at": NOW - timedelta(days=7), "every": "weekly"}, "is in the past: .* its next time"),
        ({"due_at": TOMORROW, "every": "hourly"}, "every is 'hourly': pass one of daily"),
        ({"due_at": TOMORROW, "due_zone": "Mars/Olympus"}, "due_zone is 'Mars/Olympus': pass the IANA name"),
        ({"due_at": TOMORROW.replace(tzinfo=None)}, "due_at is .* pass a time with a time zone"),
    ],
)
async def test_a_bad_due_date_is_refused_and_nothing_is_written(gaia, details, message):
    """Neither by `remember` nor by `update`."""
    memory, scope = gaia.memory, gaia.scope("ada")
    known = await memory.remember(scope, "Likes tea")
    with pytest.raises(InvalidInputError, match=message):
        await memory.remember(scope, "Call Anna", **details)
    with pytest.raises(InvalidInputError, match=message):
        await memory.update(scope, known.id, **details)

    assert await memory.facts(scope) == [known]


async def test_an_all_day_fact_may_be_due_today(gaia):
    """Its day began before now."""
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    await gaia.memory.remember(gaia.scope("ada"), "Call Anna", due_at=midnight, due_all_day=True)
    last_day = datetime(9999, 12, 31, tzinfo=UTC)
    await gaia.memory.remember(gaia.scope("ada"), "The end", due_at=last_day, due_all_day=True)

    assert [fact.due_all_day for fact in await gaia.memory.due(gaia.scope("ada"))] == [True]


@pytest.mark.parametrize("within", [7, timedelta(days=-1), timedelta.max, None])
async def test_a_window_that_is_none_is_refused(gaia, within):
    """The message names the range."""
    with pytest.raises(InvalidInputError, match=r"within is .*: pass a timedelta from 0 to 36,500 days"):
        await gaia.memory.due(gaia.scope("ada"), within)


async def test_a_merge_keeps_the_due_dates_of_both(gaia):
    """Also where both knew the fact, and only one of them when it is due."""
    memory, ada, eve = gaia.memory, gaia.scope("ada"), gaia.scope("eve")
    await memory.remember(eve, "Call Anna")
    await memory.remember(ada, "Call Anna", due_at=TOMORROW, due_zone="Asia/Tokyo", every="daily")
    await memory.remember(ada, "Call Bob", due_at=TOMORROW + timedelta(hours=1))
    await memory.merge(ada, eve)

    due = await memory.due(eve)
    assert [(fact.text, fact.due_zone, fact.every) for fact in due] == [
        ("Call Anna", "Asia/Tokyo", "daily"),
        ("Call Bob", None, None),
    ]


async def test_another_due_date_may_be_reminded_of_again(gaia):
    """By a correction, by the same words again; without a date, nothing is due any more."""
    memory, scope = gaia.memory, gaia.scope("ada")
    fact = await memory.remember(scope, "Call Anna", due_at=TOMORROW.astimezone(BERLIN), due_all_day=True)
    await memory.update(scope, fact.id, reminded_at=NOW)
    moved = await memory.update(scope, fact.id, due_at=TOMORROW + timedelta(hours=2))
    gaia.memory.clock.advance(timedelta(minutes=1))
    await memory.update(scope, fact.id, reminded_at=memory.clock.now())
    silenced = await memory.due(scope)
    repeated = await memory.remember(scope, "Call Anna", due_at=TOMORROW + timedelta(hours=3), every="daily")
    due = await memory.due(scope)
    cleared = await memory.update(scope, fact.id, due_at=None)

    assert (moved.reminded_at, moved.due_all_day) == (None, False)
    assert silenced == []
    assert [(each.id, each.due_at, each.every) for each in due] == [(repeated.id, repeated.due_at, "daily")]
    assert (cleared.due_at, cleared.due_zone, cleared.every, cleared.reminded_at) == (None, None, None, None)
    assert await memory.due(scope) == []


async def test_a_moved_date_keeps_its_zone_unless_it_brings_one(gaia):
    """A model gives an offset at best; the recurrence still follows the clocks of Berlin."""
    memory, scope = gaia.memory, gaia.scope("ada")
    first = datetime(2026, 3, 23, 9, tzinfo=BERLIN)
    fact = await memory.remember(scope, "Put out the bins", due_at=first, every="weekly")
    moved = await memory.update(scope, fact.id, due_at=first.astimezone(UTC) + timedelta(hours=1))
    reminded = await memory.update(scope, fact.id, reminded_at=first + timedelta(hours=2))
    with pytest.raises(InvalidInputError, match="due_zone is 'Mars/Olympus'"):
        await memory.update(scope, fact.id, due_zone="Mars/Olympus", reminded_at=first + timedelta(days=30))
    tokyo = await memory.update(scope, fact.id, due_at=first.astimezone(ZoneInfo("Asia/Tokyo")))

    assert (moved.due_zone, tokyo.due_zone) == ("Europe/Berlin", "Asia/Tokyo")
    assert reminded.due_at == datetime(2026, 3, 30, 10, tzinfo=BERLIN)


async def test_without_its_condition_another_person_would_see_what_is_due(gaia):
    """So the check of isolation would notice."""
    await gaia.memory.remember(gaia.scope("ada"), "Call Anna", due_at=TOMORROW)

    assert await gaia.memory.due(gaia.scope("bob")) == []
    with BORDER.applied():
        assert [fact.text for fact in await gaia.memory.due(gaia.scope("bob"))] == ["Call Anna"]
