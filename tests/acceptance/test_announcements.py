"""What becomes due is announced: at its minute, once, by one of all processes, also when they are killed."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.models import Fact
from gaia_memory.reminders.announcer import Announcement
from gaia_memory.testing import FakeClock
from support.checkout import TESTS
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]
OpenSut = Callable[..., Awaitable[Sut]]

PROCESS = TESTS / "support" / "hosts" / "due_announcer.py"
ZONES = ("Europe/Berlin", "Asia/Tokyo", "America/New_York", "Asia/Kathmandu")
PEOPLE = tuple(f"person {number}" for number in range(10))
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
MOST_SECONDS = 120
"""How long the processes of a test may take: on a busy machine one takes seconds to start."""


class Announcements:
    """Two announcers that share one clock, and what they told: user, local time and id."""

    def __init__(self, sut: Sut) -> None:
        self.clock: FakeClock = sut.clock
        self.told: list[tuple[str, datetime]] = []
        self.ids: list[str] = []
        self.facts: list[Fact] = []
        self.failures = 0
        self._announcers = [sut.gaia.memory.announcer(self._tell) for _ in range(2)]

    async def _tell(self, announcement: Announcement) -> None:
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the messenger is down")
        self.told.append((announcement.fact.text, self.clock.now()))
        self.ids.append(announcement.id)
        self.facts.append(announcement.fact)

    async def at(self, moment: datetime) -> list[str]:
        """Return what both announce at a later moment."""
        self.clock.advance(moment - self.clock.now())
        before = len(self.told)
        await asyncio.gather(*(each.announce_due() for each in self._announcers))
        return [text for text, _ in self.told[before:]]


@pytest.mark.acceptance("W21")
async def test_what_ten_people_in_four_zones_wait_for_is_announced_once_at_its_minute(opened: OpenSut) -> None:
    """Two announcers look every minute for two hours."""
    sut = await opened()
    memory, start = sut.gaia.memory, datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    due: dict[str, datetime] = {}
    for number, person in enumerate(PEOPLE):
        due_at = (start + (11 * number + 1) * MINUTE).astimezone(ZoneInfo(ZONES[number % 4]))
        await memory.remember(sut.scope(person), f"{person}'s task", due_at=due_at)
        due[f"{person}'s task"] = due_at
    for minutes in range(120):
        await announcements.at(start + minutes * MINUTE)

    assert dict(announcements.told) == due
    assert len(announcements.told) == len(PEOPLE) == len(set(announcements.ids))


async def test_a_recurring_fact_is_announced_each_time_without_a_reminder(opened: OpenSut) -> None:
    """At nine in Berlin, before and after the clocks go forward; the pause of two days is announced once."""
    sut = await opened()
    first = datetime(2026, 3, 27, 9, tzinfo=BERLIN)
    announcements = Announcements(sut)
    await announcements.at(first - DAY)
    fact = await sut.gaia.memory.remember(sut.scope("ada"), "Stretch", due_at=first, every="daily")
    told = [
        await announcements.at(moment)
        for moment in (
            first - MINUTE, first, first + HOUR,
            datetime(2026, 3, 28, 9, tzinfo=BERLIN),
            datetime(2026, 3, 29, 8, 59, tzinfo=BERLIN), datetime(2026, 3, 29, 9, tzinfo=BERLIN),
            datetime(2026, 4, 1, 9, tzinfo=BERLIN), datetime(2026, 4, 1, 10, tzinfo=BERLIN),
        )
    ]  # fmt: skip

    assert [len(each) for each in told] == [0, 1, 0, 1, 0, 1, 1, 0]
    assert [each.due_at for each in announcements.facts][-2:] == [
        datetime(2026, 3, 29, 9, tzinfo=BERLIN),
        datetime(2026, 4, 1, 9, tzinfo=BERLIN),
    ]
    assert {each.id for each in announcements.facts} == {fact.id}
    assert [each.due_at for each in await sut.gaia.memory.due(sut.scope("ada"))] == [announcements.facts[-1].due_at]


async def test_a_series_that_has_ended_is_not_looked_at_again(opened: OpenSut, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many they are, with a reminder or without one: the facts of others are announced."""
    monkeypatch.setattr("gaia_memory.reminders.announcer._BATCH_FACTS", 2)
    sut = await opened()
    memory, scope, start = sut.gaia.memory, sut.scope("ada"), datetime(2026, 3, 2, 12, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    texts = [f"pill {number}" for number in range(5)]
    pills = await memory.add(scope, [NewFact(text, due_at=start + HOUR, every="FREQ=DAILY;COUNT=2") for text in texts])
    async with asyncio.timeout(60):
        told = [await announcements.at(start + days * DAY + HOUR) for days in range(3)]
        for pill in pills:
            await memory.update(scope, pill.id, reminded_at=sut.clock.now())
        await memory.remember(sut.scope("bob"), "Call Bob", due_at=sut.clock.now() + HOUR)
        after = await announcements.at(sut.clock.now() + HOUR)

    assert [sorted(each) for each in told] == [texts, texts, []]
    assert after == ["Call Bob"]


async def test_what_is_due_on_a_day_is_announced_at_nine_there(make: Make) -> None:
    """Not at midnight; and not once the person was reminded of it that day."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    day = datetime(2026, 3, 27, tzinfo=BERLIN)
    announcements = Announcements(sut)
    await announcements.at(day - DAY)
    await memory.remember(scope, "Call Anna", due_at=day, due_all_day=True)
    told = await memory.remember(scope, "Call Bob", due_at=day, due_all_day=True)
    silent = [await announcements.at(moment) for moment in (day, day + 8 * HOUR + 59 * MINUTE)]
    await memory.update(scope, told.id, reminded_at=sut.clock.now())

    assert silent == [[], []]
    assert await announcements.at(day + 9 * HOUR) == ["Call Anna"]
    assert await announcements.at(day + 10 * HOUR) == []


async def test_what_became_due_while_nobody_announced_is_announced_late_but_not_after_a_week(make: Make) -> None:
    """An import of old dates announces nothing; neither does a reminder that was given, or a date that moved."""
    sut = await make()
    memory, scope, start = sut.gaia.memory, sut.scope("ada"), datetime(2026, 3, 2, 12, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    await memory.remember(scope, "Old", due_at=start + HOUR)
    await memory.remember(scope, "Yearly", due_at=start + HOUR, every="yearly")
    done = await memory.remember(scope, "Done", due_at=start + 3 * DAY)
    reminded_before = await memory.remember(scope, "Reminded before", due_at=start + 3 * DAY)
    moved = await memory.remember(scope, "Moved", due_at=start + 3 * DAY)
    await memory.update(scope, reminded_before.id, reminded_at=sut.clock.now())
    sut.clock.advance(5 * DAY)
    await memory.update(scope, done.id, reminded_at=sut.clock.now())
    await memory.update(scope, moved.id, due_at=start + 20 * DAY)

    assert await announcements.at(start + 9 * DAY) == ["Reminded before"]
    assert await announcements.at(start + 20 * DAY) == ["Moved"]
    assert await announcements.at(start + 366 * DAY) == ["Yearly"]


async def test_a_callback_that_fails_is_called_again_and_keeps_nobody_waiting(make: Make) -> None:
    """With the same id."""
    sut = await make()
    start = datetime(2026, 3, 2, 12, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    for text in ("Call Anna", "Call Bob"):
        await sut.gaia.memory.remember(sut.scope("ada"), text, due_at=start + MINUTE)
    announcements.failures = 1

    assert len(await announcements.at(start + MINUTE)) == 1
    assert len(await announcements.at(start + MINUTE * 1.5)) == 0
    assert len(await announcements.at(start + 3 * MINUTE)) == 1
    assert sorted(text for text, _ in announcements.told) == ["Call Anna", "Call Bob"]


async def test_a_backlog_is_claimed_at_once_and_what_changes_meanwhile_is_not_told(opened: OpenSut) -> None:
    """A slow callback ends before the claims of the others do; what it forgets is announced to nobody."""
    sut = await opened()
    memory, start = sut.gaia.memory, datetime(2026, 3, 2, 12, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    for number in range(6):
        await memory.remember(sut.scope(f"person {number % 2}"), f"task {number}", due_at=start + number * MINUTE)
    scope, told = sut.scope("person 1"), []

    async def tell(announcement: Announcement) -> None:
        told.append(announcement.fact.text)
        sut.clock.advance(timedelta(seconds=3))
        if len(told) == 1:
            await memory.forget(scope, fact_id=(await memory.facts(scope))[0].id)
        assert await other.announce_due() == 0

    other = memory.announcer(lambda announcement: told.append(f"{announcement.fact.text} again"))
    sut.clock.advance(HOUR)
    counts = [await memory.announcer(tell).announce_due() for _ in range(2)]

    assert told == [f"task {number}" for number in (0, 2, 3, 4, 5)]
    assert counts == [5, 0]


async def test_forgetting_removes_announcements_and_a_merge_moves_them(make: Make) -> None:
    """No row about a forgotten fact stays; what was announced under one id is not announced under the other."""
    sut = await make()
    memory, start = sut.gaia.memory, datetime(2026, 3, 2, 12, tzinfo=UTC)
    announcements = Announcements(sut)
    await announcements.at(start)
    facts = [
        await memory.remember(sut.scope(user), f"{user}'s", due_at=start + MINUTE) for user in ("ada", "bob", "eve")
    ]
    await memory.remember(sut.scope("eva"), "hello")
    told = await announcements.at(start + MINUTE)
    await memory.forget(facts[0].scope, fact_id=facts[0].id)
    await memory.forget(facts[1].scope)
    await memory.merge(facts[2].scope, sut.scope("eva"))
    async with memory.stores.database.read_transaction() as tx:
        rows = (await tx.exec_driver_sql("SELECT fact_id, partition FROM gaia_announcements")).all()

    assert sorted(told) == ["ada's", "bob's", "eve's"]
    assert [tuple(row) for row in rows] == [(facts[2].id, sut.scope("eva").partition)]
    assert await announcements.at(start + HOUR) == []


async def test_the_callback_of_a_host_is_called_until_memory_closes(make: Make) -> None:
    """`gaia.on_due`; another app's facts are announced by its own host."""
    sut = await make()
    gaia, told = sut.gaia, asyncio.Queue[Announcement]()
    other = gaia.memory.live.config.app + "x"
    await gaia.memory.remember(sut.scope("ada"), "Ada's", due_at=sut.clock.now())
    await gaia.memory.remember(type(sut.scope("ada"))(other, "ada"), "Of another app", due_at=sut.clock.now())
    gaia.on_due(told.put)
    announcement = await asyncio.wait_for(told.get(), timeout=60)

    assert (announcement.fact.text, announcement.fact.scope) == ("Ada's", sut.scope("ada"))
    assert told.empty()


async def _start(home: Path, log: Path, point: str = "never", at: int = 0) -> asyncio.subprocess.Process:
    command = (sys.executable, str(PROCESS), str(home), str(log), point, str(at))
    return await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)


async def _remember_for_all(home: Path) -> set[str]:
    """Store a task for each person, due within seconds; return the ids of their announcements."""
    ids = set()
    async with open_memory(home=home, model="offline") as gaia:
        now = datetime.now(UTC)
        for number, person in enumerate(PEOPLE):
            due_at = (now + timedelta(seconds=2 + number / 3)).astimezone(ZoneInfo(ZONES[number % 4]))
            fact = await gaia.memory.remember(gaia.scope(person), f"{person}'s task", due_at=due_at)
            assert fact.due_at is not None
            ids.add(f"{fact.id}@{fact.due_at.isoformat()}")
    return ids


async def _wait_for(log: Path, count: int) -> list[str]:
    """Wait until so many different announcements are logged; return the ids of all lines."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        text = await asyncio.to_thread(lambda: log.read_text(encoding="utf-8") if log.exists() else "")
        found = [line.split(" ")[0] for line in text.splitlines()]
        if len(set(found)) >= count:
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(f"only {len(set(found))} of {count} were announced")


@pytest.mark.slow
@pytest.mark.acceptance("W21")
async def test_two_processes_that_are_killed_announce_each_task_once(tmp_path: Path) -> None:
    """One dies before its second announcement, one after it recorded some, and others go on.

    The first two run one after the other: beside each other, one may announce everything before the other has started.
    """
    log, home = tmp_path / "log", tmp_path / "home"
    ids = await _remember_for_all(home)
    ended = [await (await _start(home, log, point, 2)).wait() for point in ("claimed", "recorded")]
    second = [await _start(home, log, "claimed", 1), await _start(home, log)]
    try:
        announced = await _wait_for(log, len(ids))
        await asyncio.sleep(3)
        announced = await _wait_for(log, len(ids))
    finally:
        for process in second:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()

    assert ended == [-signal.SIGKILL, -signal.SIGKILL]
    assert set(announced) == ids
    assert Counter(announced).most_common(1)[0][1] == 1


@pytest.mark.slow
async def test_a_process_killed_between_announcing_and_recording_repeats_one_announcement(tmp_path: Path) -> None:
    """With the same id, so that a host can tell; a lost one would be worse."""
    log, home = tmp_path / "log", tmp_path / "home"
    ids = await _remember_for_all(home)
    assert await (await _start(home, log, "written", 3)).wait() == -signal.SIGKILL
    other = await _start(home, log)
    try:
        announced = await _wait_for(log, len(ids))
        await asyncio.sleep(3)
        announced = await _wait_for(log, len(ids))
    finally:
        other.send_signal(signal.SIGKILL)
        await other.wait()

    assert set(announced) == ids
    assert sorted(Counter(announced).values()) == [1] * 9 + [2]
    assert Counter(announced)[announced[2]] == 2
