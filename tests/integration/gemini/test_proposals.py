"""The question for proposals, as Gemini gets and answers it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


async def test_gemini_is_asked_for_proposals_in_the_agreed_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client takes the schema, which is sent with the question."""
    with FakeGemini() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        async with open_memory({}, home=tmp_path, model="gemini-3.5-flash") as gaia:
            agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
            await gaia.conversation(agent, user_id="ada", channel="cli").send("hello")
            proposal = {"user": "ada", "text": "Ada writes early", "because": "1 turn"}
            server.add("agent", json.dumps({"proposals": [proposal]}))
            found = await gaia.memory.proposals(gaia.scope("ada"))
        [asked] = [each for each in server.requests_of("agent") if "<USAGE>" in each.contents]

    assert [(each.text, each.key) for each in found.proposals] == [("Ada writes early", None)]
    assert "proposals" in json.dumps(asked.body["generationConfig"])
