"""How long pages of a person with 10,000 facts take over HTTP: `python tests/benchmarks/server_pages.py`."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gaia_memory import NewFact, open_memory
from support.servers.memory_server import ADA, http_client

FACTS = 10_000
_OFFLINE = {"provider": "offline"}
ROUTES = ("facts?limit=100", "facts?limit=100&q=tea+96", "facts?offset=9900&limit=100", "stats", "timeline", "status")


async def measure(facts: int = FACTS, rounds: int = 40) -> dict[str, tuple[float, float]]:
    """Return median and 95th percentile of each route, and those of `Memory.browse` as `browse`.

    They are milliseconds of the processor, all threads together, which a busy machine hardly changes.
    """
    settings = {"home": tempfile.mkdtemp(), "memory": {"llm": _OFFLINE, "embedder": _OFFLINE}}
    async with open_memory(settings) as gaia:
        memory, scope = gaia.memory, gaia.scope("ada")
        new = [
            NewFact(f"Fact {number} is about tea and {number % 97}", category=f"c{number % 7}")
            for number in range(facts)
        ]
        await memory.add(scope, new)
        await memory.settled()
        async with http_client(gaia) as client:

            async def ask(route: str) -> None:
                assert (await client.get(f"{ADA}/{route}")).status_code == 200

            found = {route: [await _milliseconds(ask(route)) for _ in range(rounds)] for route in ROUTES}
        found["browse"] = [await _milliseconds(memory.browse(scope, limit=100)) for _ in range(rounds)]
    return {name: (statistics.median(each), statistics.quantiles(each, n=20)[-1]) for name, each in found.items()}


async def _milliseconds(work: object) -> float:
    begun = time.process_time()
    await work  # type: ignore[misc]
    return (time.process_time() - begun) * 1000


if __name__ == "__main__":
    for name, (median, p95) in asyncio.run(measure()).items():
        print(f"{name:30} {median:7.1f} ms median {p95:7.1f} ms p95")  # noqa: T201
