"""A process that sweeps one installation in a loop while other processes chat."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SWEEPER_SCRIPT = """
import asyncio, sys, threading
from gaia_memory import open_memory
from gaia_memory.adk.lazy_imports import load_adk

async def main():
    learned = failed = 0
    async with open_memory(sys.argv[1]) as gaia:
        # Load all of ADK before the conversation begins: it would be half over at the first sweep.
        await load_adk()
        over = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
        print("ready", flush=True)
        while not over.is_set():
            report = await gaia.sweep(force=True)
            learned, failed = learned + report.consolidated, failed + report.failed
            await asyncio.sleep(0.01)
    print(learned, failed)

asyncio.run(main())
"""


@contextmanager
def sweeping_process(config: Path, environ: Mapping[str, str], *, seconds: float = 150.0) -> Iterator[None]:
    """Keep a process sweeping with `force` until the block ends; check that it learned something and never failed."""
    with subprocess.Popen(
        [sys.executable, "-c", _SWEEPER_SCRIPT, str(config)],
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
            out, _ = process.communicate(timeout=seconds)
        finally:
            process.kill()
    assert process.returncode == 0
    learned, failed = (int(count) for count in out.split())
    assert learned
    assert failed == 0
