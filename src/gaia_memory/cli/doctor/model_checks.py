"""The models: one tiny question each, unless nobody is to be asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.config.api_keys import missing_key_variable
from gaia_memory.errors import BadAnswerError, ConfigError, ModelError
from gaia_memory.outage import classify_error

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm

    from gaia_memory.engine import Engine

MODEL_TIMEOUT_SECONDS = 20.0
"""How long an answer is waited for; a model that thinks takes some seconds for a word."""

OFFLINE_NAME, AUTO_NAME = "offline", "auto"
MEMORY_PART, EMBEDDER_PART, AGENT_PART = "memory's model", "embedder", "agents' model"

_PROMPT = "Answer with the single word: ready"
_NOT_ASKED = "not asked, because of --no-model"
_DEFERRED_NOTE = "nothing is lost meanwhile"


async def check_memory_models(context: CheckContext) -> list[Finding]:
    """Ask the model that learns, then the embedder, and compare its vectors with those that are stored."""
    if not context.config.memory.enabled:
        return skip(MEMORY_PART, "memory is off (`memory.enabled`)")
    stored = context.summary.embedder if context.summary is not None else None
    engine = await unopened_engine(context.config, context.scratch, stored_embedder=stored)
    try:
        await engine.check()
        findings = await _check_language_model(engine, context)
        context.model_findings[engine.backend.language_model.identity] = findings[0]
        return findings + await _check_embedder(engine, context, stored)
    except ConfigError as error:
        return [Finding(MEMORY_PART, "fail", line, "correct gaia.yaml") for line in error.problems]
    finally:
        await engine.backend.close(grace=0.1)


async def _check_language_model(engine: Engine, context: CheckContext) -> list[Finding]:
    provider = engine.backend.llm_provider.name
    identity = engine.backend.language_model.identity
    if provider == OFFLINE_NAME:
        return ok(MEMORY_PART, f"offline rules stand in for one: {engine.backend.describe()}")
    if missing := missing_key_variable(provider, engine.backend.llm_provider.config, os.environ):
        return fail(MEMORY_PART, f"{identity} needs a key", f"set {missing}")
    if not context.asks_models:
        return skip(MEMORY_PART, f"{identity}: {_NOT_ASKED}")
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            await engine.backend.language_model.complete(_PROMPT, system="You are asked whether you are there.")
    except BadAnswerError as error:
        return warn(MEMORY_PART, f"{identity} answers, and not as asked: {error}", "choose another under memory.llm")
    except (ModelError, TimeoutError) as error:
        return fail(
            MEMORY_PART,
            _error_text(identity, error),
            f"check the network, the key and the model's name; {_DEFERRED_NOTE}",
        )
    return ok(MEMORY_PART, f"{identity} answers ({engine.backend.describe()})")


async def _check_embedder(engine: Engine, context: CheckContext, stored: str | None) -> list[Finding]:
    embedder, provider = engine.backend.embedder, engine.backend.embedder_provider.name
    if missing := missing_key_variable(provider, engine.backend.embedder_provider.config, os.environ):
        return fail(EMBEDDER_PART, f"{embedder.identity} needs a key", f"set {missing}")
    if not context.asks_models and provider != OFFLINE_NAME:
        return [
            *skip(EMBEDDER_PART, f"{embedder.identity}: {_NOT_ASKED}"),
            *_check_stored_vectors(embedder.identity, stored),
        ]
    if provider == OFFLINE_NAME:
        return [
            *ok(EMBEDDER_PART, f"{embedder.identity}, which asks nobody"),
            *_check_stored_vectors(embedder.identity, stored),
        ]
    try:
        async with asyncio.timeout(MODEL_TIMEOUT_SECONDS):
            await embedder.embed(["ready"], purpose="search")
    except (ModelError, TimeoutError) as error:
        remedy = (
            f"check the network, the key and the model's name; facts are found by their words, and {_DEFERRED_NOTE}"
        )
        return fail(EMBEDDER_PART, _error_text(embedder.identity, error), remedy)
    return [*ok(EMBEDDER_PART, f"{embedder.identity} answers"), *_check_stored_vectors(embedder.identity, stored)]


def _check_stored_vectors(identity: str, stored: str | None) -> list[Finding]:
    """Return that what is stored cannot be compared with what this embedder gives."""
    if stored is None or stored == identity:
        return []
    if "?" in identity and stored.partition("/")[0] == identity.partition("/")[0]:
        # Nobody was asked, so the model's name and the length of its vectors are not known.
        return []
    message = f"most facts carry vectors of {stored}, and {identity} is configured: they are found by their words alone"
    alternative = f"go back to {stored.partition('/')[0]} under memory.embedder"
    return warn(
        EMBEDDER_PART, message, f"run `gaia memory reindex` to embed them anew, or {alternative}, if that was not meant"
    )


async def check_agent_model(context: CheckContext) -> list[Finding]:
    """Ask the model that `gaia chat` and `gaia.model` give to agents; an agent of a host's own may name another."""
    from gaia_memory.adk.models.model_factory import build_model, close_model, has_gemini_key

    name = context.config.model
    if name == OFFLINE_NAME or (name == AUTO_NAME and not has_gemini_key()):
        # Said without ADK, which takes a second to load.
        return ok(AGENT_PART, "the offline stand-in, which asks nobody")
    try:
        model = build_model(name)
    except ConfigError as error:
        return fail(AGENT_PART, "; ".join(error.problems), "correct `model` in gaia.yaml")
    previous = context.model_findings.get(f"gemini/{model.model}")
    if previous is not None:
        return [Finding(AGENT_PART, previous.state, f"{model.model}, as memory's", previous.remedy)]
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
