"""Two processes that share one home learn what leaves the window: each message once, with the agent's own model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

TURNS = 6
WINDOW = 2

CHATTER = """
import asyncio, json, sys
from google.adk.agents.llm_agent import LlmAgent
from gaia_memory import open_memory
from gaia_memory.testing import ScriptedLlm
from support.harness import facts
from support.hosts.extractor_input import new_messages_in

home, name, channel, turns, window = sys.argv[1:4] + [int(each) for each in sys.argv[4:]]
asked = []

def answer(request):
    text = "".join(part.text or "" for part in request.contents[-1].parts)
    if "## New Messages" not in text:
        return "- User owns boats" if "<FACTS>" in text else "Nice."
    said = [each for role, each in new_messages_in(text) if role == "user"]
    asked.extend(said)
    return facts(*said)

async def main():
    settings = {
        "sessions": {"window_turns": window, "coalesce_seconds": 0},
        "memory": {"llm": {"provider": "agent"}, "embedder": {"provider": "offline"}},
    }
    model = ScriptedLlm(default=answer)
    async with open_memory(settings, home=home) as gaia:
        conversation = gaia.conversation(LlmAgent(name="helper", model=model), user_id="ada", channel=channel)
        await gaia.sweep()
        replies = [
            (await conversation.send(f"My boat {name} has the mast {name}{turn}")).text for turn in range(turns)
        ]
        before_sweep = len(asked)
        print("talked", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await gaia.sweep(force=True)
        learned = [fact.text for fact in await gaia.memory.facts(gaia.scope("ada"))]
    report = {"replies": replies, "before_sweep": before_sweep, "asked": asked, "learned": learned}
    print(json.dumps(report), flush=True)

asyncio.run(main())
"""


async def start(home: Path, name: str, channel: str) -> asyncio.subprocess.Process:
    """Start a process that talks in a conversation and waits before its last sweep."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ("-c", CHATTER, str(home), name, channel, str(TURNS), str(WINDOW))
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, *words, env=environ, stdin=pipe, stdout=pipe)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [("cli", "cli"), ("cli", "phone")], ids=["one conversation", "two conversations"])
async def test_nothing_is_learned_twice_and_nothing_is_lost(tmp_path: Path, channels: tuple[str, str]) -> None:
    """Both begin to learn while they talk, and sweep at the same time in the end."""
    processes = [await start(tmp_path / "home", name, channel) for name, channel in zip("xy", channels, strict=True)]
    for process in processes:
        assert process.stdout is not None
        assert (await asyncio.wait_for(process.stdout.readline(), 120)).strip() == b"talked"
    ended = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
    reports = [json.loads(output.splitlines()[-1]) for output, _ in ended]

    said = {f"My boat {name} has the mast {name}{turn}" for name in "xy" for turn in range(TURNS)}
    asked = Counter(text for report in reports for text in report["asked"])
    assert [process.returncode for process in processes] == [0, 0]
    assert [report["replies"] for report in reports] == [["Nice."] * TURNS] * 2
    assert asked == Counter(said)
    assert set().union(*(report["learned"] for report in reports)) == said
    assert sum(report["before_sweep"] for report in reports) >= WINDOW
