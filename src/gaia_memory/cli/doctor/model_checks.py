"""The models: one tiny question each, unless nobody is to be asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.checks import Finding, Patient, fail, ok, skipped, warn
from gaia_memory.cli.unopened_home import unopened_engine
from gaia_memory.config.api_keys import missing_key
from gaia_memory.errors import BadAnswerError, ConfigError, ModelError
from gaia_memory.outage import outage_of

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm

    from gaia_memory.engine import Engine

MODEL_SECONDS = 20.0
"""How long an answer is waited for; a model that thinks takes some seconds for a word."""

OFFLINE, AUTO = "offline", "auto"
MEMORY, EMBEDDER, AGENT = "memory's model", "embedder", "agents' model"

_PROMPT = "Answer with the single word: ready"
_NOT_ASKED = "not asked, because of --no-model"
_LATER = "nothing is lost meanwhile"


async def memory_models(patient: Patient) -> list[Finding]:
    """Ask the model that learns, then the embedder, and compare its vectors with those that are stored."""
    if not patient.config.memory.enabled:
        return skipped(MEMORY, "memory is off (`memory.enabled`)")
    stored = patient.held.embedder if patient.held is not None else None
    engine = await unopened_engine(patient.config, patient.scratch, stored_embedder=stored)
    try:
        await engine.check()
        asked = await _memory_model(engine, patient)
        patient.answered[engine.backend.language_model.identity] = asked[0]
        return asked + await _embedder(engine, patient, stored)
    except ConfigError as error:
        return [Finding(MEMORY, "fail", line, "correct gaia.yaml") for line in error.problems]
    finally:
        await engine.backend.close(grace=0.1)


async def _memory_model(engine: Engine, patient: Patient) -> list[Finding]:
    provider = engine.backend.llm_provider.name
    identity = engine.backend.language_model.identity
    if provider == OFFLINE:
        return ok(MEMORY, f"offline rules stand in for one: {engine.backend.describe()}")
    if missing := missing_key(provider, engine.backend.llm_provider.config, os.environ):
        return fail(MEMORY, f"{identity} needs a key", f"set {missing}")
    if not patient.asks:
        return skipped(MEMORY, f"{identity}: {_NOT_ASKED}")
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            await engine.backend.language_model.complete(_PROMPT, system="You are asked whether you are there.")
    except BadAnswerError as error:
        return warn(MEMORY, f"{identity} answers, and not as asked: {error}", "choose another under memory.llm")
    except (ModelError, TimeoutError) as error:
        return fail(MEMORY, _said(identity, error), f"check the network, the key and the model's name; {_LATER}")
    return ok(MEMORY, f"{identity} answers ({engine.backend.describe()})")


async def _embedder(engine: Engine, patient: Patient, stored: str | None) -> list[Finding]:
    embedder, provider = engine.backend.embedder, engine.backend.embedder_provider.name
    if missing := missing_key(provider, engine.backend.embedder_provider.config, os.environ):
        return fail(EMBEDDER, f"{embedder.identity} needs a key", f"set {missing}")
    if not patient.asks and provider != OFFLINE:
        return [*skipped(EMBEDDER, f"{embedder.identity}: {_NOT_ASKED}"), *_other_vectors(embedder.identity, stored)]
    if provider == OFFLINE:
        return [*ok(EMBEDDER, f"{embedder.identity}, which asks nobody"), *_other_vectors(embedder.identity, stored)]
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            await embedder.embed(["ready"], purpose="search")
    except (ModelError, TimeoutError) as error:
        remedy = f"check the network, the key and the model's name; facts are found by their words, and {_LATER}"
        return fail(EMBEDDER, _said(embedder.identity, error), remedy)
    return [*ok(EMBEDDER, f"{embedder.identity} answers"), *_other_vectors(embedder.identity, stored)]


def _other_vectors(identity: str, stored: str | None) -> list[Finding]:
    """Return that what is stored cannot be compared with what this embedder gives."""
    if stored is None or stored == identity:
        return []
    if "?" in identity and stored.partition("/")[0] == identity.partition("/")[0]:
        # Nobody was asked, so the model's name and the length of its vectors are not known.
        return []
    says = f"most facts carry vectors of {stored}, and {identity} is configured: they are found by their words alone"
    back = f"go back to {stored.partition('/')[0]} under memory.embedder"
    return warn(EMBEDDER, says, f"run `gaia memory reindex` to embed them anew, or {back}, if that was not meant")


async def agents_model(patient: Patient) -> list[Finding]:
    """Ask the model that `gaia chat` and `gaia.model` give to agents; an agent of a host's own may name another."""
    from gaia_memory.adk.models.model_factory import build_model, close_model, has_gemini_key

    name = patient.config.model
    if name == OFFLINE or (name == AUTO and not has_gemini_key()):
        # Said without ADK, which takes a second to load.
        return ok(AGENT, "the offline stand-in, which asks nobody")
    try:
        model = build_model(name)
    except ConfigError as error:
        return fail(AGENT, "; ".join(error.problems), "correct `model` in gaia.yaml")
    same = patient.answered.get(f"gemini/{model.model}")
    if same is not None:
        return [Finding(AGENT, same.state, f"{model.model}, as memory's", same.remedy)]
    if not patient.asks:
        return skipped(AGENT, f"{model.model}: {_NOT_ASKED}")
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            return await _ask(model)
    except TimeoutError as error:
        return fail(AGENT, _said(model.model, error), "check the network")
    finally:
        await close_model(model)


async def _ask(model: BaseLlm) -> list[Finding]:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    content = types.Content(role="user", parts=[types.Part(text=_PROMPT)])
    request = LlmRequest(model=model.model, contents=[content], config=types.GenerateContentConfig())
    remedy = "check the network, the key and the model's name"
    try:
        async for answer in model.generate_content_async(request):
            if answer.error_code:
                return fail(AGENT, f"{model.model} refuses ({answer.error_code})", remedy)
    except Exception as error:
        # A model of ADK's may raise anything, in words that may quote what it was sent.
        outage = outage_of(error)
        says = f"{model.model} does not answer ({type(error).__name__})" if outage is None else outage.told(model.model)
        return fail(AGENT, says, remedy)
    return ok(AGENT, f"{model.model} answers")


def _said(identity: str, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"{identity} gives no answer within {MODEL_SECONDS:g} s"
    return str(error)
