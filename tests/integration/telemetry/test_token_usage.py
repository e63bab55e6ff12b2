"""What memory's questions cost: as each server reports it, in the span and in the sums of the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory import memory_app, open_memory
from gaia_memory.cli.doctor.findings import CheckContext, Finding
from gaia_memory.cli.doctor.summary_checks import check_tokens
from gaia_memory.engine_probe import load_database_summary
from gaia_memory.models import TokenUsage
from gaia_memory.telemetry import token_usage
from gaia_memory.telemetry.token_usage import TokenMeter
from gaia_memory.testing import ScriptedLlm
from support.harness import facts
from support.servers import fake_openai
from support.servers.fake_gemini import FakeGemini, truncated
from support.servers.fake_ollama import CHAT_MODEL, FakeOllama
from support.servers.fake_openai import EMBEDDING_MODEL, FakeOpenAI
from support.servers.memory_server import admin_token, app_client
from support.tracing import SpanCollector, attributes, collect_spans

FOUND = facts("Likes tea")
OPENAI: dict[str, Any] = {
    "llm": {"provider": "openai", "model": fake_openai.CHAT_MODEL},
    "embedder": {"provider": "openai", "model": EMBEDDING_MODEL},
}
OLLAMA: dict[str, Any] = {
    "llm": {"provider": "ollama", "model": CHAT_MODEL},
    "embedder": {"provider": "ollama", "model": "nomic-embed-text"},
}
OFFLINE: dict[str, Any] = {"embedder": {"provider": "offline"}}

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@pytest.fixture
def seen() -> Iterator[SpanCollector]:
    with collect_spans() as found:
        yield found


async def learn(home: Path, memory: dict[str, Any], *, model: Any = "offline") -> Any:
    """Learn one message and return what `status` says of today."""
    settings = {"home": str(home), "sessions": {"coalesce_seconds": 0}, "memory": memory}
    async with open_memory(settings, model=model) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model)
        await gaia.conversation(agent, user_id="ada", channel="cli").send("I like tea")
        assert (await gaia.sweep(force=True)).consolidated == 1
        return (await gaia.memory.status(gaia.scope(user_id="ada"))).usage["today"]


def stored(home: Path) -> dict[str, TokenUsage]:
    """Return the sums in the database."""
    with sqlite3.connect(home / "memory.db") as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("SELECT * FROM gaia_token_sums")]
    assert {row.pop("day") for row in rows} == {datetime.now(UTC).date().isoformat()}
    return {row.pop("purpose"): TokenUsage(**row) for row in rows}


def span_usage(seen: SpanCollector, name: str) -> dict[str, Any]:
    """Return the attributes of a span that tell of tokens."""
    return {name: value for name, value in attributes(seen.only(name)).items() if "usage" in name}


async def test_gemini_reports_its_tokens_also_those_of_an_answer_that_was_cut(
    gemini: FakeGemini, tmp_path: Path, seen: SpanCollector
) -> None:
    """Thoughts are output; the second answer is usable."""
    gemini.add("extractor", truncated(FOUND[:20]), FOUND)

    learned = (await learn(tmp_path, OFFLINE))["learning"]

    asked = len(gemini.requests_of("extractor"))
    assert asked == 2
    assert learned == TokenUsage(input=14, cached=4, output=14, questions=2)
    assert stored(tmp_path) == {"learning": learned}
    assert span_usage(seen, "upsert_memory") == {
        "gen_ai.usage.input_tokens": 14,
        "gen_ai.usage.output_tokens": 14,
        "gen_ai.usage.cache_read.input_tokens": 4,
    }


async def test_an_openai_compatible_server_reports_tokens_of_answers_and_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: SpanCollector
) -> None:
    """The span of learning has both."""
    with FakeOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.add("extractor", FOUND)
        used = await learn(tmp_path, OPENAI)

    assert used == {
        "learning": TokenUsage(input=9, cached=5, output=4, questions=1),
        "embedding": TokenUsage(input=1, questions=1),
    }
    assert stored(tmp_path) == used
    assert span_usage(seen, "upsert_memory") == {
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 5,
    }


async def test_ollama_reports_its_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: SpanCollector) -> None:
    """It has no cache to tell of."""
    with FakeOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.address)
        server.add("extractor", FOUND)
        used = await learn(tmp_path, OLLAMA)

    assert used == {
        "learning": TokenUsage(input=11, output=6, questions=1),
        "embedding": TokenUsage(input=3, questions=1),
    }
    assert stored(tmp_path) == used
    assert span_usage(seen, "upsert_memory") == {"gen_ai.usage.input_tokens": 14, "gen_ai.usage.output_tokens": 6}


@pytest.mark.parametrize(
    ("total", "output"), [(127, 27), (120, 20)], ids=["thoughts beside the answer", "thoughts in it, as LiteLLM"]
)
async def test_the_agents_own_model_reports_its_tokens(
    tmp_path: Path, seen: SpanCollector, total: int, output: int
) -> None:
    """As ADK has them; each thought is counted once."""
    counts = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=100, candidates_token_count=20, thoughts_token_count=7, total_token_count=total
    )
    answer = LlmResponse(content=types.Content(role="model", parts=[types.Part(text=FOUND)]), usage_metadata=counts)
    model = ScriptedLlm("Noted.", answer)

    used = await learn(tmp_path, {**OFFLINE, "llm": {"provider": "agent"}}, model=model)

    assert used == {"learning": TokenUsage(input=100, output=output, questions=1)}
    assert span_usage(seen, "upsert_memory")["gen_ai.usage.output_tokens"] == output


async def test_what_no_client_reports_is_estimated_and_marked(tmp_path: Path, seen: SpanCollector) -> None:
    """The offline embedder costs nothing."""
    used = await learn(tmp_path, {**OFFLINE, "llm": {"provider": "agent"}}, model=ScriptedLlm("Noted.", FOUND))

    assert list(used) == ["learning"]
    learned = used["learning"]
    assert learned.input > 500
    assert learned.estimated == learned.input + learned.output
    assert span_usage(seen, "upsert_memory") == {
        "gen_ai.usage.input_tokens": learned.input,
        "gen_ai.usage.output_tokens": learned.output,
        "gaia.usage.estimated": True,
    }


async def test_rest_and_doctor_show_them(tmp_path: Path) -> None:
    """An estimate has a tilde."""

    async with open_memory({"home": str(tmp_path)}, model="offline") as gaia:
        day = datetime.now(UTC).date()
        sums = {(day, "learning"): TokenUsage(input=12_340, cached=3_100, output=410, questions=3)}
        sums[day, "profile"] = TokenUsage(input=90, output=9, estimated=99, questions=1)
        gaia._engine.backend.meter.add(sums)
        async with app_client(memory_app(gaia), await admin_token(gaia)) as client:
            answer = await client.get("/v1/apps/gaia/users/ada/status")
    summary = await load_database_summary(f"sqlite+aiosqlite:///{tmp_path / 'memory.db'}")
    context = CheckContext(None, asks_models=False, scratch=tmp_path, summary=summary)

    assert answer.json()["usage"]["today"]["learning"] == {
        "input": 12_340,
        "cached": 3_100,
        "output": 410,
        "estimated": 0,
        "questions": 3,
    }
    told = "learning 12,340 (3,100 cached) in, 410 out; profile ~90 in, ~9 out"
    assert check_tokens(context) == [Finding("ok", f"today: {told}"), Finding("ok", f"last 30 days: {told}")]


async def test_a_number_that_no_question_can_have_is_not_believed() -> None:
    """It could not be stored, and all sums with it."""
    meter = TokenMeter()
    with meter.question("learning"):
        token_usage.report_tokens(given=-5, got=10**19, cached=50)

    [usage] = meter.unsaved.values()
    assert (usage.input, usage.cached, usage.output) == (0, 0, token_usage.MAX_REPORTED_TOKENS)
