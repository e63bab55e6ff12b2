"""The models: one tiny question each, unless `--no-model` is given."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.config.api_keys import missing_key_variable
from gaia_memory.engine_probe import EngineProbe
from gaia_memory.errors import BadAnswerError, ConfigError, ModelError
from gaia_memory.outage import classify_error

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm

MODEL_TIMEOUT_SECONDS = 20.0
"""How long to wait for an answer; a model that thinks takes some seconds for a word."""

OFFLINE_NAME, AUTO_NAME = "offline", "auto"
MEMORY_PART, EMBEDDER_PART, AGENT_PART = "memory's model", "embedder", "agents' model"

_PROMPT = "Answer with the single word: ready"
_NOT_ASKED = "not asked (--no-model)"
_DEFERRED_NOTE = "nothing is lost in the meantime"


async def check_memory_models(context: CheckContext) -> list[Finding]:
    """Ask the model that learns and the embedder, and compare its vectors with the stored ones."""
    if not context.config.memory.enabled:
        return skip(MEMORY_PART, "memory is off (`memory.enabled`)")
    stored = context.summary.embedder if context.summary is not None else None
    probe = await EngineProbe.open(context.config, context.scratch, stored_embedder=stored)
    try:
        await probe.check_providers()
        findings = await _check_language_model(probe, context)
        context.model_findings[probe.language_model.name] = findings[0]
        return findings + await _check_embedder(probe, context, stored)
    except ConfigError as error:
        return [Finding(MEMORY_PART, "fail", line, "correct gaia.yaml") for line in error.problems]
    finally:
        await probe.close()


async def _check_language_model(probe: EngineProbe, context: CheckContext) -> list[Finding]:
    model = probe.language_model
    if model.provider == OFFLINE_NAME:
        return ok(MEMORY_PART, f"offline rules replace a model: {probe.describe_model()}")
    if missing := missing_key_variable(model.provider, model.config, os.environ):
        return fail(MEMORY_PART, f"{model.name} needs a key", f"set {missing}")
    if not context.asks_models:
        return skip(MEMORY_PART, f"{model.name}: {_NOT_ASKED}")
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            await probe.ping_language_model()
    except BadAnswerError as error:
        return warn(MEMORY_PART, f"{model.name} gives a bad answer: {error}", "choose another under memory.llm")
    except (ModelError, TimeoutError) as error:
        remedy = f"check the network, the key and the model's name; {_DEFERRED_NOTE}"
        return fail(MEMORY_PART, _error_text(model.name, error), remedy)
    return ok(MEMORY_PART, f"{model.name} answers ({probe.describe_model()})")


async def _check_embedder(probe: EngineProbe, context: CheckContext, stored: str | None) -> list[Finding]:
    embedder = probe.embedder
    if missing := missing_key_variable(embedder.provider, embedder.config, os.environ):
        return fail(EMBEDDER_PART, f"{embedder.name} needs a key", f"set {missing}")
    if embedder.provider == OFFLINE_NAME:
        return [
            *ok(EMBEDDER_PART, f"{embedder.name}, which needs no network"),
            *_check_stored_vectors(embedder.name, stored),
        ]
    if not context.asks_models:
        return [
            *skip(EMBEDDER_PART, f"{embedder.name}: {_NOT_ASKED}"),
            *_check_stored_vectors(embedder.name, stored),
        ]
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            await probe.ping_embedder()
    except (ModelError, TimeoutError) as error:
        remedy = (
            f"check the network, the key and the model's name; facts are found by their words, and {_DEFERRED_NOTE}"
        )
        return fail(EMBEDDER_PART, _error_text(embedder.name, error), remedy)
    return [*ok(EMBEDDER_PART, f"{probe.embedder.name} answers"), *_check_stored_vectors(probe.embedder.name, stored)]


def _check_stored_vectors(identity: str, stored: str | None) -> list[Finding]:
    """Return a warning if the stored vectors cannot be compared with those of this embedder."""
    if stored is None or stored == identity:
        return []
    if "?" in identity and stored.partition("/")[0] == identity.partition("/")[0]:
        # Before the first answer the model's name and the length of its vectors are not known.
        return []
    message = f"most facts carry vectors of {stored}, and {identity} is configured: they are found by their words alone"
    alternative = f"go back to {stored.partition('/')[0]} under memory.embedder"
    return warn(EMBEDDER_PART, message, f"run `gaia memory reindex` to embed them again, or {alternative}")


async def check_agent_model(context: CheckContext) -> list[Finding]:
    """Ask the model of `gaia chat` and `gaia.model`; an agent of the host may name another."""
    from gaia_memory.adk.models.model_factory import build_model, close_model, has_gemini_key

    name = context.config.model
    if name == OFFLINE_NAME or (name == AUTO_NAME and not has_gemini_key()):
        # Without ADK, which takes a second to load.
        return ok(AGENT_PART, "the offline model, which needs no network")
    try:
        model = build_model(name)
    except ConfigError as error:
        return fail(AGENT_PART, "; ".join(error.problems), "correct `model` in gaia.yaml")
    previous = context.model_findings.get(f"gemini/{model.model}")
    if previous is not None:
        return [Finding(AGENT_PART, previous.state, f"{model.model}, the same as memory's", previous.remedy)]
    if not context.asks_models:
        return skip(AGENT_PART, f"{model.model}: {_NOT_ASKED}")
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            return await _ask_agent_model(model)
    except TimeoutError as error:
        return fail(AGENT_PART, _error_text(model.model, error), "check the network")
    finally:
        await close_model(model)


async def _ask_agent_model(model: BaseLlm) -> list[Finding]:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    content = types.Content(role="user", parts=[types.Part(text=_PROMPT)])
    request = LlmRequest(model=model.model, contents=[content], config=types.GenerateContentConfig())
    remedy = "check the network, the key and the model's name"
    try:
        async for answer in model.generate_content_async(request):
            if answer.error_code:
                return fail(AGENT_PART, f"{model.model} refuses ({answer.error_code})", remedy)
    except Exception as error:
        # A model of ADK's may raise anything, in words that may quote what it was sent.
        outage = classify_error(error)
        message = (
            f"{model.model} does not answer ({type(error).__name__})"
            if outage is None
            else outage.describe(model.model)
        )
        return fail(AGENT_PART, message, remedy)
    return ok(AGENT_PART, f"{model.model} answers")


def _error_text(identity: str, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"{identity} gives no answer within {MODEL_TIMEOUT_SECONDS:g} s"
    return str(error)
