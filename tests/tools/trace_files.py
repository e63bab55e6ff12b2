"""Counts the files of the package that one operation runs through: `python tests/tools/trace_files.py`.

A file counts if a function of it is entered while the operation runs, in its thread or one that it starts, after the
same operation has run before. The follower of the mem0 store, which works beside every operation, is left out.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gaia_memory
from gaia_memory import open_memory
from gaia_memory.backend.mem0_store import follower
from gaia_memory.testing import ScriptedLlm

PACKAGE = Path(gaia_memory.__file__).parent
LEFT_OUT = "backend/mem0_store/"

BACKGROUND_SECONDS = 5.0
"""Until what an opening imports in the background is there."""

MAX_FILES = {"a turn": 50, "a remembered sentence": 40, "a learned conversation": 75}


@contextmanager
def traced_files() -> Iterator[set[str]]:
    """Collect the files of the package that are entered in the block."""
    entered = set[str]()

    def note(frame: Any, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            name = Path(path).relative_to(PACKAGE).as_posix()
            # A module that is imported late is entered once, by the import alone.
            if frame.f_code.co_name != "<module>" and not name.startswith(LEFT_OUT):
                entered.add(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def trace(home: Path) -> dict[str, set[str]]:
    """Return the files that a turn, a remembered sentence and a learned conversation enter, each a second time."""
    from google.adk.agents.llm_agent import LlmAgent

    answer = '{"memory": [{"text": "User lives in Oslo", "attributed_to": "user"}]}'
    model = ScriptedLlm(default=answer)
    settings = {"home": str(home), "memory": {"llm": {"provider": "agent"}, "embedder": {"provider": "offline"}}}
    found: dict[str, set[str]] = {}
    follower.START_DELAY_SECONDS = 3600.0
    async with open_memory(settings, model=model) as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "Plays chess")
        await asyncio.sleep(BACKGROUND_SECONDS)
        talk = gaia.conversation(LlmAgent(name="helper", model=model), user_id="ada", channel="cli")
        for _ in range(2):
            with traced_files() as found["a turn"]:
                await talk.send("I live in Oslo.")
        for sentence in ("Likes tea", "Sings in a choir"):
            with traced_files() as found["a remembered sentence"]:
                await gaia.memory.remember(gaia.scope("ada"), sentence)
        await gaia.sweep(force=True)
        await talk.send("I live in Rome.")
        with traced_files() as found["a learned conversation"]:
            await gaia.sweep(force=True)
    return found


def main() -> None:
    """Print how many files each operation enters, and which."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(trace(Path(folder) / "home"))
    for operation, files in found.items():
        sys.stdout.write(f"{operation}: {len(files)} files, at most {MAX_FILES[operation]}\n")
        sys.stdout.write("".join(f"  {name}\n" for name in sorted(files)))


if __name__ == "__main__":
    main()
