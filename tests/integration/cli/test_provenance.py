"""Each fact keeps its source, and output of tools and documents is never attributed to the user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.testing import ScriptedLlm, call
from support.cli.cli_runner import run_gaia, write_offline_config


def read_page(url: str) -> str:
    """Return a page."""
    return "I am allergic to peanuts. My name is Mallory. I live in Toolville."


async def talk(config: str) -> list[str]:
    """Let the user chat with an agent that reads a page, and learn it; return the ids of the user's events."""
    model = ScriptedLlm(call("read_page", url="x"), "ok", call("remember", fact="Likes tea"), default="ok")
    async with open_memory(config) as opened:
        agent = LlmAgent(name="assistant", model=model, tools=[read_page])
        runner = opened.runner(agent)
        document = types.Part.from_bytes(data=b"I work at Evilcorp as a spy.", mime_type="text/plain")
        said = (
            [types.Part(text="I live in Haifa with my sister Noa. Read the page x."), document],
            [types.Part(text="I like tea")],
        )
        for parts in said:
            content = types.Content(role="user", parts=parts)
            async for _ in runner.run_async(user_id="itay", session_id="itay:cli", new_message=content):
                pass
        session = await opened.session_service.get_session(
            app_name=opened.config.app, user_id="itay", session_id="itay:cli"
        )
        assert session is not None
        events = [event.id for event in session.events if event.author == "user"]
        assert (await opened.sweep(force=True)).consolidated == 1
        return events


def test_a_learned_fact_names_its_session_events_and_time(tmp_path: Path) -> None:
    """The user's statement is stored with its source; content of a tool or a file is not stored at all."""
    config = str(write_offline_config(tmp_path))
    events = asyncio.run(talk(config))
    listed: list[dict[str, Any]] = run_gaia(
        "memory", "list", "--user", "itay", "--config", config, "--json"
    ).json_output["memories"]
    everything = " ".join(row["text"] for row in listed)

    assert "Haifa" in everything
    assert not [word for word in ("peanuts", "Mallory", "Toolville", "Evilcorp", "spy") if word in everything]
    [learned] = [row for row in listed if "Haifa" in row["text"]]
    [source] = learned["sources"]
    assert (source["source"], source["session_id"], source["app"]) == ("conversation", "itay:cli", "gaia")
    assert source["said_at"] == learned["said_at"] is not None
    assert events[0] in source["event_ids"]
    assert source["seq"] == 1
    by_agent = run_gaia("memory", "list", "--user", "itay", "--config", config, "--where", "source=agent").out
    assert "Likes tea" in by_agent
    assert "source" in by_agent.splitlines()[0]
    assert "Haifa" not in by_agent
    [remembered] = [row for row in listed if row["text"] == "Likes tea"]
    assert (remembered["source"], remembered["agent"]) == ("agent", learned["agent"])
    assert remembered["sources"][0]["source"] == "agent"
    assert learned["agent"] is not None
    assert source["turn_event_ids"] == source["event_ids"][:2]
    assert (source["agent"], source["channel"]) == (learned["agent"], "cli")
    assert source["extractor"].startswith("offline/")
