"""The models: one tiny question each, unless `--no-model` is given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.config.api_keys import can_reach_gemini, missing_key_variable
from gaia_memory.engine_probe import EngineProbe, ModelProbe
from gaia_memory.errors import BadAnswerError, ConfigError, ModelError
from gaia_memory.model_calls import time_limit
from gaia_memory.outage import classify_error

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm

MODEL_TIMEOUT_SECONDS = 20.0
"""How long to wait for an answer; a model that thinks takes some seconds for a word."""

OFFLINE_NAME, AUTO_NAME, AGENT_NAME = "offline", "auto", "agent"
EMBEDDER_PART = "embedder"

_PROMPT = "Answer with the single word: ready"
_NOT_ASKED = "not asked (--no-model)"
_MODEL_HINT = "check the network, the key and the model's name"


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
        context.model_findings[probe.language_model.name] = findings[0]
        return findings + await _check_embedder(probe, context, stored)
    except ConfigError as error:
        return [Finding("fail", line, "correct gaia.yaml") for line in error.problems]
    finally:
        await probe.close()


async def _check_language_model(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    model = probe.language_model
    if model.provider == AGENT_NAME:
        return ok(
            "the agent's own model learns, in each process that runs the agent; elsewhere, as in `gaia sweep`, "
            "conversations wait"
        )
    if model.provider == OFFLINE_NAME:
        return _offline_findings(probe, context)
    problem = await _ask(model, probe.ping_language_model, context, consequence="")
    return problem or ok(f"{model.name} answers ({probe.describe_model()})")


def _offline_findings(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    """Return a warning if `auto` chose the offline rules although the agents have a real model."""
    agent_model = _real_agent_model(context)
    fallback = probe.offline_fallback(agent_model)
    if fallback is None:
        return ok(f"offline rules replace a model: {probe.describe_model()}")
    setting = f"`llm: {fallback.llm_settings}` under `memory:` in gaia.yaml"
    if agent_model:
        message = f"offline rules learn from conversations, although the agents' model is {agent_model}"
        return warn(f"{message}: {fallback.reason}", f"put {setting}")
    return ok(
        f"offline rules replace a model: {probe.describe_model()}; for an agent with a model of its own, put {setting}"
    )


def _real_agent_model(context: CheckContext) -> str:
    """Return the configured model of the agents; empty if that is the offline one."""
    name = context.config.model
    return "" if _is_offline(name) else name


def _is_offline(name: str) -> bool:
    return name == OFFLINE_NAME or (name == AUTO_NAME and not can_reach_gemini(os.environ))


async def _check_embedder(probe: EngineProbe, context: CheckContext, stored: str | None) -> list[Finding]:
    embedder = probe.embedder
    if embedder.provider == OFFLINE_NAME:
        fallback = probe.offline_fallback(agent_model := _real_agent_model(context))
        findings = ok(f"{embedder.name}, which needs no network")
        if agent_model and fallback is not None and fallback.replaces_embedder:
            message = (
                f"the offline embedder finds facts by their words alone, although the agents' model is {agent_model}"
            )
            findings = warn(f"{message}: {fallback.reason}", fallback.embedder_remedy)
    else:
        consequence = "facts are found by their words, and "
        problem = await _ask(embedder, probe.ping_embedder, context, consequence=consequence)
        # The name is complete once the embedder has answered.
        findings = problem or ok(f"{probe.embedder.name} answers")
    if findings[0].state != "fail":
        findings += _check_stored_vectors(probe.embedder.name, stored)
    return [replace(finding, part=EMBEDDER_PART) for finding in findings]


async def _ask(
    model: ModelProbe, ping: Callable[[], Awaitable[None]], context: CheckContext, *, consequence: str
) -> list[Finding]:
    """Return why a model cannot be used or was not asked; nothing if it answers."""
    if missing := missing_key_variable(model.provider, model.config, os.environ):
        return fail(f"{model.name} needs {'a project' if 'PROJECT' in missing else 'a key'}", f"set {missing}")
    if not context.asks_models:
        return skip(f"{model.name}: {_NOT_ASKED}")
    try:
        async with time_limit(MODEL_TIMEOUT_SECONDS):
            await ping()
    except BadAnswerError as error:
        return warn(f"{model.name} gives a bad answer: {error}", "choose another model")
    except (ModelError, TimeoutError) as error:
        return fail(_error_text(model.name, error), f"{_MODEL_HINT}; {consequence}nothing is lost in the meantime")
    return []


def _check_stored_vectors(identity: str, stored: str | None) -> list[Finding]:
    """Return a warning if the stored vectors cannot be compared with those of this embedder."""
    if stored is None or stored == identity:
        return []
    if "?" in identity and stored.partition("/")[0] == identity.partition("/")[0]:
        # Before the first answer the model's name and the length of its vectors are not known.
        return []
    message = f"most facts carry vectors of {stored}, and {identity} is configured: they are found by their words alone"
    alternative = f"go back to {stored.partition('/')[0]} under memory.embedder"
    return warn(message, f"run `gaia memory reindex` to embed them again, or {alternative}")


def check_agent_model(context: CheckContext) -> list[Finding]:
    """Ask the model of `gaia chat` and `gaia.model`; an agent of the host may name another."""
    from gaia_memory.adk.models.model_factory import build_model

    name = context.config.model
    if _is_offline(name):
        # Without ADK, which takes a second to load.
        return ok("the offline model, which needs no network")
    try:
        model = build_model(name)
    except ConfigError as error:
        return fail("; ".join(error.problems), "correct `model` in gaia.yaml")
    previous = context.model_findings.get(f"gemini/{model.model}")
    if previous is not None:
        return [Finding(previous.state, f"{model.model}, the same as memory's", previous.remedy)]
    if not context.asks_models:
        return skip(f"{model.model}: {_NOT_ASKED}")
    return asyncio.run(_ask_agent_model(model))


async def _ask_agent_model(model: BaseLlm) -> list[Finding]:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    from gaia_memory.adk.models.model_factory import close_model

    content = types.Content(role="user", parts=[types.Part(text=_PROMPT)])
    request = LlmRequest(model=model.model, contents=[content], config=types.GenerateContentConfig())
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            async for answer in model.generate_content_async(request):
                if answer.error_code:
                    return fail(f"{model.model} refuses ({answer.error_code})", _MODEL_HINT)
    except TimeoutError as error:
        return fail(_error_text(model.model, error), "check the network")
    except Exception as error:
        # A model of ADK's may raise anything, in words that may quote what it was sent.
        outage = classify_error(error)
        message = f"{model.model} does not answer ({type(error).__name__})"
        return fail(outage.describe(model.model) if outage else message, _MODEL_HINT)
    finally:
        await close_model(model)
    return ok(f"{model.model} answers")


def _error_text(identity: str, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"{identity} gives no answer within {MODEL_TIMEOUT_SECONDS:g} s"
    return str(error)
