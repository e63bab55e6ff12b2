"""The models: one small question each, of the kind that memory or an agent asks, unless `--no-model` is given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.config.api_keys import can_reach_gemini
from gaia_memory.engine_probe import SAMPLE_STATEMENT, EngineProbe, ModelProbe
from gaia_memory.errors import BadAnswerError, ConfigError, ModelError
from gaia_memory.model_calls import time_limit
from gaia_memory.outage import classify_error

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_request import LlmRequest


MODEL_TIMEOUT_SECONDS = 60.0
"""How long to wait for an answer: a server of one's own may have to load the model first."""

OFFLINE_NAME, AUTO_NAME, AGENT_NAME = "offline", "auto", "agent"
EMBEDDER_PART = "embedder"

_LATE_MESSAGE = "{} gives no answer in time"
_NOT_ASKED = "not asked (--no-model)"
_MODEL_HINT = "check the network, the key and the model's name; start a server of your own, or wait until it is idle"
_LARGER_MODEL_HINT = "choose a larger model: small ones do not follow the question"
_TOOLS_HINT = "choose a model with tools, and start a server of your own with them (llama.cpp: `--jinja`)"


def check_memory_models(context: CheckContext) -> list[Finding]:
    """Ask the model that learns and the embedder, and compare its vectors with the stored ones."""
    if not context.config.memory.enabled:
        return skip("memory is off (`memory.enabled`)")
    return asyncio.run(_check_memory_models(context))


async def _check_memory_models(context: CheckContext) -> list[Finding]:
    stored = context.summary.embedder if context.summary is not None else None
    probe = await EngineProbe.open(context.config, context.scratch, stored_embedder=stored)
    try:
        await probe.check_providers()
        findings = await _check_language_model(probe, context)
        embedder = await _check_embedder(probe, context)
        embedder += _compare_vectors(probe.embedder.name, stored) if embedder[0].state != "fail" else []
        return findings + [replace(finding, part=EMBEDDER_PART) for finding in embedder]
    except ConfigError as error:
        return [Finding("fail", line, "correct gaia.yaml") for line in error.problems]
    finally:
        await probe.close()


async def _check_language_model(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    model = probe.language_model
    if model.provider == AGENT_NAME:
        return ok("the agent's own model learns where the agent runs; elsewhere, as in `gaia sweep`, they wait")
    if model.provider == OFFLINE_NAME:
        message = f"memory learns sentences as they were said: {probe.describe_model()}"
        return _warn_of_fallback(probe, context) or ok(message)
    sample: list[str] = []

    async def extract() -> None:
        sample.extend(await probe.extract_sample())

    if problem := await _ask(model, extract, context):
        return problem
    if not sample:
        return warn(f"{model.name} answers, but finds no fact in `{SAMPLE_STATEMENT}`", _LARGER_MODEL_HINT)
    return ok(f"{model.name} answers and learns ({probe.describe_model()})")


def _warn_of_fallback(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    fallback, model = probe.offline_fallback(context.config.model), context.config.model
    if fallback is None or _is_offline(model):
        return []
    message = f"memory works offline, although the agents' model is {model}: {fallback.reason}"
    return warn(message, f"put `llm: {fallback.llm_settings}` under `memory:`; {fallback.embedder_remedy}")


def _is_offline(name: str) -> bool:
    return name == OFFLINE_NAME or (name == AUTO_NAME and not can_reach_gemini(os.environ))


async def _check_embedder(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    if probe.embedder.provider == OFFLINE_NAME:
        return ok(f"{probe.embedder.name}, which needs no network")
    # The name is complete once the embedder has answered.
    return await _ask(probe.embedder, probe.ping_embedder, context) or ok(f"{probe.embedder.name} answers")


def _compare_vectors(embedder: str, stored: str | None) -> list[Finding]:
    """Return a finding if most facts carry vectors of another embedder."""
    # Before the first answer the model's name and the length of its vectors may not be known.
    is_same_provider = stored is not None and stored.partition("/")[0] == embedder.partition("/")[0]
    if stored in {None, embedder} or ("?" in embedder and is_same_provider):
        return []
    message = f"most facts carry vectors of {stored}, not of {embedder}: they are found by their words alone"
    return warn(message, "run `gaia memory reindex` to embed them again, or go back under memory.embedder")


async def _ask(model: ModelProbe, ping: Callable[[], Awaitable[None]], context: CheckContext) -> list[Finding]:
    """Return why a model cannot be used or was not asked; nothing if it answers."""
    if missing := model.missing_key:
        return fail(f"{model.name} needs {missing}", f"set {missing}")
    if not context.asks_models:
        return skip(f"{model.name}: {_NOT_ASKED}")
    try:
        async with time_limit(MODEL_TIMEOUT_SECONDS):
            await ping()
    except BadAnswerError as error:
        return warn(f"{model.name} gives a bad answer: {error}", _LARGER_MODEL_HINT)
    except (ModelError, TimeoutError) as error:
        return fail(str(error) or _LATE_MESSAGE.format(model.name), _MODEL_HINT)
    return []


def check_agent_model(context: CheckContext) -> list[Finding]:
    """Ask the model of `gaia chat` and `gaia.model`; an agent of the host may name another."""
    from gaia_memory.adk.models.model_factory import build_model, find_model_problem

    name = context.config.model
    if _is_offline(name):
        # Without ADK, which takes a second to load.
        return ok("the offline model, which needs no network")
    if problem := find_model_problem(name):
        return fail(*problem)
    model = build_model(name)
    if not context.asks_models:
        return skip(f"{model.model}: {_NOT_ASKED}")
    return asyncio.run(_ask_agent_model(model))


async def _ask_agent_model(model: BaseLlm) -> list[Finding]:
    """Ask the model to call a tool, which agents need to look facts up and to store them."""
    from gaia_memory.adk.models.model_factory import close_model

    has_called = False
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            async for answer in model.generate_content_async(_tool_request(model.model)):
                if answer.error_code:
                    return fail(f"{model.model} refuses ({answer.error_code})", _MODEL_HINT)
                has_called |= any(part.function_call for part in (answer.content and answer.content.parts) or ())
    except TimeoutError:
        return fail(_LATE_MESSAGE.format(model.model), _MODEL_HINT)
    except Exception as error:
        # A model of ADK's may raise anything, in words that may quote what it was sent.
        outage = classify_error(error)
        text = outage.describe(model.model) if outage else f"{model.model} does not answer ({type(error).__name__})"
        return fail(text, _TOOLS_HINT if outage and outage.status == 400 else _MODEL_HINT)
    finally:
        await close_model(model)
    if not has_called:
        return warn(f"{model.model} answers, but calls no tool: it may not look facts up or store them", _TOOLS_HINT)
    return ok(f"{model.model} answers and calls tools")


def _tool_request(model_name: str) -> LlmRequest:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    fact = types.Schema(type=types.Type.STRING, description="One sentence about the user.")
    parameters = types.Schema(type=types.Type.OBJECT, properties={"fact": fact}, required=["fact"])
    declaration = types.FunctionDeclaration(
        name="remember", description="Store a fact about the user.", parameters=parameters
    )
    prompt = "I like tea. Call the tool `remember` with that fact, and say nothing."
    return LlmRequest(
        model=model_name,
        contents=[types.UserContent(prompt)],
        config=types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])]),
    )
