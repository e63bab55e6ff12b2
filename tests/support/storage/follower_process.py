"""A process with its own follower: `python -m support.storage.follower_process HOME FACTS`.

It prints `open` once it owns an open store. Then it writes that many facts in batches, prints the number after each,
and keeps following until it is killed or its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gaia_memory.models import Scope
from support.storage.follower import open_follower


async def main(home: Path, facts: int) -> None:
    """Follow, write, and wait for the end of the input."""
    async with open_follower(home) as memory:
        await memory.follower.settled(stall_seconds=60)
        sys.stdout.write("open\n")
        sys.stdout.flush()
        for start in range(0, facts, 100):
            await memory.add(Scope("gaia", "bulk"), *[f"bulk fact {n}" for n in range(start, start + 100)])
            memory.follower._waiters = 1
            sys.stdout.write(f"{start + 100}\n")
            sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
