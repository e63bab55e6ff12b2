"""`memory.llm: {provider: agent}`: memory learns and distils with the agent's own model object."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.workflow import Workflow
from google.genai import types

from gaia_memory import open_memory
from gaia_memory.errors import ConfigError
from gaia_memory.testing import ScriptedLlm
from support.plugin_host import SCOPE, build_agent, open_plugin_host
from support.servers import fake_gemini

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

AGENT_LEARNS = {"llm": {"provider": "agent"}, "embedder": {"provider": "offline"}}
FACT = "User's sister is called Noa"
EXTRACTION = json.dumps({"memory": [{"id": "0", "text": FACT, "attributed_to": "user"}]})
PROFILE = "- has a sister, Noa"


class RefusedError(Exception):
    """A client's error with the status of a request that the server does not accept."""

    status_code = 400


def answer(request: LlmRequest) -> str:
    """Answer the extraction, the profile and the user, each by the form of its question."""
    text = str(request.contents[-1].parts)
    if "## New Messages" in text:
        return EXTRACTION
    return PROFILE if "<FACTS>" in text else "Nice."


def scripted(default: Any = answer) -> ScriptedLlm:
    return ScriptedLlm(default=default, model="big-model")


def extraction_requests(model: ScriptedLlm) -> list[LlmRequest]:
    return [request for request in model.requests if "## New Messages" in str(request.contents)]


@asynccontextmanager
async def opened(home: Path, *, model: str = "auto", **memory: Any) -> AsyncIterator[Gaia]:
    settings = {"home": str(home), "sessions": {"coalesce_seconds": 0}, "memory": AGENT_LEARNS | memory}
    async with open_memory(settings, home=home, model=model) as gaia:
        yield gaia


async def send(gaia: Gaia, model: Any, text: str = "My sister is called Noa", channel: str = "cli") -> str:
    agent = LlmAgent(name="assistant", model=model, instruction="Help.")
    return (await gaia.conversation(agent, user_id="ada", channel=channel).send(text)).text


async def fact_texts(gaia: Gaia) -> list[str]:
    return [fact.text for fact in await gaia.memory.facts(gaia.scope("ada"))]


async def test_the_agents_model_extracts_facts_and_writes_the_profile(tmp_path: Path) -> None:
    """It is asked for JSON of a schema, without tools, and its name is in no configuration."""
    model = scripted()
    async with opened(tmp_path) as gaia:
        await send(gaia, model)
        report = await gaia.sweep(force=True)
        texts = await fact_texts(gaia)
        await send(gaia, model, "Hi again", channel="web")
        line = gaia.describe()

    [extraction] = extraction_requests(model)
    assert report.consolidated == 1
    assert texts == [FACT]
    assert extraction.config.response_mime_type == "application/json"
    assert extraction.config.response_schema["required"] == ["memory"]
    assert extraction.model == "big-model"
    assert not extraction.config.tools
    assert PROFILE in str(model.requests[-1].config.system_instruction)
    assert "the agent's own model" in line


@pytest.mark.parametrize(("llm", "tokens", "facts"), [({"max_tokens": 500}, 500, 3), ({}, None, 27)])
async def test_the_tokens_of_an_answer_can_be_bounded(
    tmp_path: Path, llm: dict[str, int], tokens: int | None, facts: int
) -> None:
    """Some models end an answer earlier than memory expects: both the request and the schema get the setting."""
    model = scripted()
    async with opened(tmp_path, llm={"provider": "agent", **llm}) as gaia:
        await send(gaia, model)
        await gaia.sweep(force=True)

    [extraction] = extraction_requests(model)
    assert extraction.config.max_output_tokens == tokens
    assert extraction.config.response_schema["properties"]["memory"]["maxItems"] == facts


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", ["workflow", "sequence"])
async def test_the_first_model_below_a_root_without_one_is_used(tmp_path: Path, kind: str) -> None:
    """In a foreign Runner, whose Workflow shows its agents only when they run."""
    model = scripted(lambda request: f"```json\n{EXTRACTION}\n```" if "## New Messages" in str(request) else "ok")
    first, second = build_agent(model, "first"), build_agent(scripted("ok"), "second")
    root: Any = Workflow(name="root", edges=[("START", first), (first, second)])
    if kind == "sequence":
        root = SequentialAgent(name="root", sub_agents=[first, second])
    async with open_plugin_host(tmp_path, root, config={"memory": AGENT_LEARNS}) as host:
        await host.run_turn("My sister is called Noa")
        engine = await host.engine()
        report = await engine.sweep(force=True)
        facts = [fact.text for fact in await engine.memory.facts(SCOPE)]

    assert (report.consolidated, facts) == (1, [FACT])


async def test_adks_gemini_is_asked_through_its_own_client(gemini: FakeGemini, tmp_path: Path) -> None:
    """The request has JSON mode and a schema, as it has with the provider `gemini`."""
    gemini.add("extractor", fake_gemini.facts(FACT))
    async with opened(tmp_path, model="gemini-2.5-pro") as gaia:
        await send(gaia, gaia.model)
        await gaia.sweep(force=True)
        texts = await fact_texts(gaia)

    [request] = gemini.requests_of("extractor")
    assert texts == [FACT]
    assert request.model == "models/gemini-2.5-pro"
    assert request.body["generationConfig"]["responseMimeType"] == "application/json"
    assert request.body["generationConfig"]["responseSchema"]["required"] == ["memory"]


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        ("response_schema", [(True, True), (False, True), (False, True)]),
        ("response_mime_type", [(True, True), (False, True), (False, False), (False, False)]),
    ],
)
async def test_a_model_that_refuses_a_form_of_answer_is_asked_without_it(
    refused: str, asked: list[tuple[bool, bool]], tmp_path: Path
) -> None:
    """First with a schema, then in JSON mode, then without; what was refused once is never sent again."""

    def refuse(request: LlmRequest) -> Any:
        if getattr(request.config, refused):
            raise RefusedError("this is not enabled for this model")
        return answer(request)

    model = scripted(refuse)
    async with opened(tmp_path) as gaia:
        for channel in ("cli", "web"):
            await send(gaia, model, channel=channel)
        report = await gaia.sweep(force=True)

    configs = [request.config for request in extraction_requests(model)]
    assert report.consolidated == 2
    assert [(bool(each.response_schema), bool(each.response_mime_type)) for each in configs] == asked


CUT = LlmResponse(
    content=types.Content(role="model", parts=[types.Part(text=EXTRACTION[:20])]),
    finish_reason=types.FinishReason.MAX_TOKENS,
)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("I cannot do that.", "the answer is no JSON"),
        (CUT, "the model's answer was cut"),
        (LlmResponse(error_code="SAFETY"), "blocked|no answer (SAFETY)"),
        (LlmResponse(error_code="503", error_message="My sister is called Noa"), "the error 503"),
        (ConnectionError("refused"), "the agent's model big-model could not be reached"),
    ],
    ids=["prose", "cut", "blocked", "error code", "unreachable"],
)
async def test_a_failing_model_keeps_the_conversation(tmp_path: Path, bad: Any, reason: str) -> None:
    """It is tried again later, with the reason in the status, as with every other provider."""
    model = scripted(lambda request: bad if "## New Messages" in str(request.contents) else "ok")
    async with opened(tmp_path) as gaia:
        await send(gaia, model)
        report = await gaia.sweep(force=True)
        status = await gaia.memory.status(gaia.scope("ada"))

    [waiting] = status.pending
    assert (report.consolidated, report.failed) == (0, 1)
    assert waiting.attempts == 1
    assert any(part in (waiting.reason or "") for part in reason.split("|"))
    assert "Noa" not in (waiting.reason or "")


async def test_an_agent_on_the_offline_model_learns_by_the_offline_rules(tmp_path: Path) -> None:
    """That model cannot answer memory's questions itself."""
    async with opened(tmp_path) as gaia:
        await send(gaia, gaia.model)
        report = await gaia.sweep(force=True)
        texts = await fact_texts(gaia)

    assert report.consolidated == 1
    assert ["Noa" in text for text in texts] == [True]


async def test_a_process_without_the_agent_leaves_its_conversations_waiting(tmp_path: Path) -> None:
    """Nothing has failed: no attempt is counted, and the agent's own process learns them at once."""
    model = scripted()
    async with opened(tmp_path) as gaia:
        await send(gaia, model)
    async with opened(tmp_path) as gaia:
        report = await gaia.sweep(force=True)
        status = await gaia.memory.status(gaia.scope("ada"))
        await send(gaia, model, channel="web")
        learned = await gaia.sweep(force=True)
        after = await gaia.memory.status(gaia.scope("ada"))

    [waiting] = status.pending
    assert (report.consolidated, report.failed, report.skipped, report.without_model) == (0, 0, 1, 1)
    assert (waiting.attempts, waiting.retry_at) == (0, None)
    assert (status.state, status.reason) == (
        "degraded",
        "1 conversation waits for the agent's own model, which this process does not have",
    )
    assert "set memory.llm to a provider such as {provider: gemini}" in status.remedy
    assert (learned.consolidated, learned.without_model, after.state) == (2, 0, "ok")


@pytest.mark.parametrize(
    ("memory", "problem"),
    [
        ({"llm": {"provider": "agent", "model": "m"}}, "memory.llm.model: not a key of the provider 'agent'"),
        ({"embedder": {"provider": "agent"}}, "memory.embedder.provider: 'agent' is not a provider"),
        ({"llm": {"provider": "agent", "max_tokens": "few"}}, "memory.llm.max_tokens: 'few' is not a whole number"),
    ],
)
async def test_a_setting_that_the_agents_model_cannot_have_is_refused(
    tmp_path: Path, memory: dict[str, Any], problem: str
) -> None:
    """The agent's model is configured where the agent is, and it makes no vectors."""
    with pytest.raises(ConfigError, match=problem):
        async with opened(tmp_path, **memory):
            pass
