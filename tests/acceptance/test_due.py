"""What is due, seen from outside: shown before, silent after a reminder, back at the same time of day."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.memory import Memory
from gaia_memory.models import Scope
from gaia_memory.testing import FakeClock
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 23, 9, tzinfo=BERLIN)


async def due_times(memory: Memory, scope: Scope) -> list[tuple[str, datetime]]:
    return [(fact.text, fact.due_at) for fact in await memory.due(scope) if fact.due_at is not None]


def set_clock(sut: Sut, moment: datetime) -> FakeClock:
    """Move the clock of the system to a later moment."""
    sut.clock.advance(moment - sut.clock.now())
    return sut.clock


@pytest.mark.acceptance("W03")
async def test_after_a_reminder_a_fact_is_silent_until_it_is_due_and_then_shown_once_more(make: Make) -> None:
    """A reminder of the day before does not count for the time itself; one after it does."""
    sut = await make()
    memory, scope, clock = sut.gaia.memory, sut.scope("ada"), set_clock(sut, MONDAY)
    due_at = MONDAY + timedelta(days=2)
    fact = await memory.remember(scope, "Call Anna", due_at=due_at)
    shown = await due_times(memory, scope)
    reminded = await memory.update(scope, fact.id, reminded_at=clock.now())
    silenced = await due_times(memory, scope)
    set_clock(sut, due_at - timedelta(seconds=1))
    still_silenced = await due_times(memory, scope)
    set_clock(sut, due_at)
    back = await due_times(memory, scope)
    clock.advance(timedelta(days=3))
    overdue = await due_times(memory, scope)
    await memory.update(scope, fact.id, reminded_at=clock.now())

    assert (reminded.id, reminded.reminded_at, reminded.text) == (fact.id, MONDAY, "Call Anna")
    assert (silenced, still_silenced, await due_times(memory, scope)) == ([], [], [])
    assert shown == back == overdue == [("Call Anna", due_at)]
    assert (await memory.facts(scope))[0].id == fact.id, "what is done is not forgotten"


@pytest.mark.acceptance("W04")
async def test_a_weekly_fact_is_due_the_monday_after_over_a_change_of_clocks(make: Make) -> None:
    """On Sunday, 29 March, the clocks of Berlin go forward: nine o'clock stays nine o'clock."""
    sut = await make()
    memory, scope, clock = sut.gaia.memory, sut.scope("ada"), set_clock(sut, MONDAY - timedelta(days=1))
    fact = await memory.remember(scope, "Put out the bins", due_at=MONDAY, every="weekly")
    set_clock(sut, MONDAY + timedelta(days=1))
    missed = await due_times(memory, scope)
    updated = await memory.update(scope, fact.id, reminded_at=clock.now())
    following = await due_times(memory, scope)
    set_clock(sut, datetime(2026, 4, 14, 12, tzinfo=BERLIN))
    after_weeks = await due_times(memory, scope)
    again = await memory.update(scope, fact.id, reminded_at=clock.now())

    assert missed == [("Put out the bins", MONDAY)]
    assert following == [("Put out the bins", datetime(2026, 3, 30, 9, tzinfo=BERLIN))]
    assert following[0][1] - MONDAY == timedelta(days=7) - timedelta(hours=1)
    assert after_weeks == [("Put out the bins", datetime(2026, 4, 13, 9, tzinfo=BERLIN))]
    assert (updated.due_at, updated.due_zone, updated.every) == (following[0][1], "Europe/Berlin", "weekly")
    assert (again.due_at, again.reminded_at) == (datetime(2026, 4, 20, 9, tzinfo=BERLIN), None)


@pytest.mark.parametrize("runner", ["conversation", "plugin"])
async def test_a_note_is_due_in_the_time_zone_of_the_person(make: Make, runner: str) -> None:
    """That of the session, before that of the configuration; one that does not exist is refused, and nothing kept."""
    sut = await make("memory: {time_zone: Europe/Berlin}")
    for user, zone in (("ada", "Asia/Tokyo"), ("eve", "Mars/Base")):
        state = {"user:time_zone": zone}
        await sut.gaia.session_service.create_session(app_name="gaia", user_id=user, session_id="s", state=state)
    replies = {}
    for user in ("ada", "bob", "eve"):
        if runner == "conversation":
            [replies[user]] = await sut.chat(user, "cli", "/remember dentist on 27 March 2031 at 9")
        else:
            runner_of_user = sut.conversation(user, "cli")._runner
            events = await runner_of_user.run_debug(
                "/remember dentist on 27 March 2031 at 9", user_id=user, session_id="other", quiet=True
            )
            replies[user] = events[-1].content.parts[0].text
    due = {user: (await sut.gaia.memory.facts(sut.scope(user)))[0].due_at for user in ("ada", "bob")}

    assert due == {
        "ada": datetime(2031, 3, 27, 9, tzinfo=ZoneInfo("Asia/Tokyo")),
        "bob": datetime(2031, 3, 27, 9, tzinfo=BERLIN),
    }
    assert replies["ada"].endswith("Due Thu, 27 Mar 2031, 09:00")
    assert replies["eve"].startswith("Nothing was changed: user:time_zone is 'Mars/Base'")
    assert await sut.gaia.memory.facts(sut.scope("eve")) == []


async def test_what_is_due_within_a_week_or_overdue_is_listed_soonest_first(make: Make) -> None:
    """Not what is due in eight days, nor what another person has to do."""
    sut = await make()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    for text, days in (("In six days", 6), ("In eight days", 8), ("Tomorrow", 1)):
        await memory.remember(scope, text, due_at=now + timedelta(days=days))
    await memory.remember(sut.scope("bob"), "Bob's", due_at=now + timedelta(days=1))
    await memory.remember(scope, "Ada's secret", due_at=now + timedelta(days=1), sensitive=True)
    sut.clock.advance(timedelta(hours=30))

    assert [fact.text for fact in await memory.due(scope)] == ["Tomorrow", "In six days", "In eight days"]
    assert [fact.text for fact in await memory.due(scope, timedelta(days=5))] == ["Tomorrow", "In six days"]
    assert [fact.text for fact in await memory.due(scope, timedelta())] == ["Tomorrow"]
    assert "Ada's secret" in [fact.text for fact in await memory.due(scope, include_sensitive=True)]
    assert (await memory.due(sut.scope("eve"))) == []
    assert now.tzinfo is UTC
