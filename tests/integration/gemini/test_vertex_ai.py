"""Gemini on Vertex AI, through the real google-genai client with a service account, and through express mode."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import open_memory
from gaia_memory.testing import FakeClock
from support.servers import vertex_ai
from support.servers.fake_gemini import FakeGemini, facts

pytestmark = [
    # google-genai subclasses aiohttp's session, which aiohttp discourages.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    # ADK prefers the variable's new name, GOOGLE_GENAI_USE_ENTERPRISE; most projects still use this one.
    pytest.mark.filterwarnings("ignore:GOOGLE_GENAI_USE_VERTEXAI is deprecated:DeprecationWarning"),
]


@pytest.fixture
def vertex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    """Serve a project on Vertex AI and name it by Google's variables, without any key."""
    with FakeGemini() as server:
        for name, value in server.vertex_environment(tmp_path).items():
            monkeypatch.setenv(name, value)
        yield server


async def learn_one_conversation(home: Path, **memory: Any) -> str:
    """Have a conversation, learn it, begin another one and search; return the line that names the models."""
    clock = FakeClock()
    settings = {"home": str(home), "sessions": {"coalesce_seconds": 0}, "memory": memory}
    async with open_memory(settings, home=home, clock=clock) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        await gaia.conversation(agent, user_id="ada", channel="cli").send("My sister is called Noa")
        clock.advance(timedelta(hours=1))
        report = await gaia.sweep()
        assert (report.consolidated, report.failed) == (1, 0)
        await gaia.conversation(agent, user_id="ada", channel="web").send("Hi again")
        [hit, *_] = await gaia.memory.recall(gaia.scope("ada"), "sister")
        assert hit.fact.text == "User's sister is called Noa"
        return gaia.describe()


@pytest.mark.slow
async def test_project_and_location_are_enough_for_answers_facts_profiles_and_vectors(
    vertex: FakeGemini, tmp_path: Path
) -> None:
    """Nothing is configured but Google's variables, as for ADK alone."""
    vertex.add("extractor", facts("User's sister is called Noa"))
    vertex.add("profile", "- has a sister, Noa")
    line = await learn_one_conversation(tmp_path / "home")

    requests = {(request.kind, request.method, request.model) for request in vertex.requests}
    gemini = f"{vertex_ai.MODELS}/gemini-3.5-flash"
    assert requests == {
        ("agent", "generateContent", gemini),
        ("extractor", "generateContent", gemini),
        ("profile", "generateContent", gemini),
        ("embedder", "predict", f"{vertex_ai.MODELS}/gemini-embedding-001"),
    }
    assert all(len(request.texts) == 1 for request in vertex.requests_of("embedder"))
    assert "offline" not in line


async def test_a_key_without_a_project_is_express_mode(
    vertex: FakeGemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The requests carry the key, and no project in their path."""
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOOGLE_API_KEY", "no-real-key")
    vertex.add("extractor", facts("User's sister is called Noa"))
    vertex.add("profile", "- has a sister, Noa")
    await learn_one_conversation(tmp_path / "home")

    assert {request.model.rpartition("/")[0] for request in vertex.requests} == {"publishers/google/models"}
    assert {request.headers.get("x-goog-api-key") for request in vertex.requests} == {"no-real-key"}


async def test_the_configuration_may_name_project_and_location(
    vertex: FakeGemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mem0's keys of the provider `gemini` do, for learning; the agent and the embedder are offline here."""
    for name in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name)
    vertex.add("extractor", facts("User's sister is called Noa"))
    vertex.add("profile", "- has a sister, Noa")
    llm = {"provider": "gemini", "model": "models/gemini-2.5-flash", "vertexai": True, "project": "park"}
    await learn_one_conversation(tmp_path / "home", llm={**llm, "location": "us-east1"})

    model = "projects/park/locations/us-east1/publishers/google/models/gemini-2.5-flash"
    assert {(request.kind, request.model) for request in vertex.requests} == {("extractor", model), ("profile", model)}
