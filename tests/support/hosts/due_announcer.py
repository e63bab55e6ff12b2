"""A process that announces what becomes due, until it is told to end or kills itself: `python due_announcer.py …`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

from gaia_memory import open_memory
from gaia_memory.reminders import announcer
from gaia_memory.reminders.announcer import Announcement, Announcer

LEASE = timedelta(seconds=2)


async def announce(home: Path, log: Path, kill_point: str, kill_at: int) -> None:
    """Write a line for each announcement; die at the `kill_at`-th before it ("claimed") or after it ("written")."""
    announcer.POLL_SECONDS = 0.05
    count = 0

    def write(announcement: Announcement) -> None:
        nonlocal count
        count += 1
        if (kill_point, kill_at) == ("claimed", count):
            os.kill(os.getpid(), signal.SIGKILL)
        fact = announcement.fact
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{announcement.id} {fact.scope.user} {fact.due_at}\n")
        if (kill_point, kill_at) == ("written", count):
            os.kill(os.getpid(), signal.SIGKILL)

    async with open_memory(home=home, model="offline") as gaia:
        telling: Announcer = gaia.memory.announcer(write, lease=LEASE)
        if kill_point == "recorded":
            while count < kill_at:
                await telling.announce_due()
                await asyncio.sleep(announcer.POLL_SECONDS)
            os.kill(os.getpid(), signal.SIGKILL)
        await telling.run()


if __name__ == "__main__":
    asyncio.run(announce(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
