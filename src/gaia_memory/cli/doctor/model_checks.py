"""The models: one small question each, of the kind that memory or an agent asks, unless `--no-model` is given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.config.api_keys import can_reach_gemini, is_own_server
from gaia_memory.engine_probe import SAMPLE_STATEMENTS, SAMPLE_WORDS, EngineProbe, ModelProbe
from gaia_memory.errors import BadAnswerError, ConfigError, ContextSizeError, ModelError
from gaia_memory.model_calls import time_limit
from gaia_memory.models import TokenPurpose, TokenUsage
from gaia_memory.outage import classify_error

if TYPE_CHECKING:
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_request import LlmRequest

MODEL_TIMEOUT_SECONDS = 20.0
OWN_SERVER_TIMEOUT_SECONDS = 60.0
"""How long to wait for an answer; a model that thinks takes some seconds for a word, and a server of one's own may have
to load the model first."""

OFFLINE_NAME, AUTO_NAME, AGENT_NAME = "offline", "auto", "agent"
EMBEDDER_PART = "embedder"

_TOOL_PROMPT = "I like tea. Call the tool `remember` with that fact, and say nothing."
_NOT_ASKED = "not asked (--no-model)"
_MODEL_HINT = "check the network, the key and the model's name"
_BUSY_HINT = "the server is busy or slow: ask again when it is idle, or choose a smaller model"
_SERVER_HINT = "start the server, or correct its address"
_LARGER_MODEL_HINT = "choose a larger model: small ones do not follow the question"
_TOOLS_HINT = (
    "choose a model with tools, and start the server with them; llama.cpp needs `--jinja` and a template of the model "
    "that knows tools"
)


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
    sample: list[str] = []

    async def extract() -> None:
        sample.extend(await probe.extract_sample())

    problem = await _ask(model, extract, context, consequence="")
    if problem:
        return problem
    if not sample:
        return warn(f"{model.name} answers, but finds no fact in `{SAMPLE_STATEMENTS[-1]}`", _LARGER_MODEL_HINT)
    if not any(word in " ".join(sample).casefold() for word in SAMPLE_WORDS):
        return warn(f"{model.name} answers with facts that nobody stated", _LARGER_MODEL_HINT)
    return ok(f"{model.name} answers and learns ({probe.describe_model()})")


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
    if missing := model.missing_key:
        return fail(f"{model.name} needs {'a project' if 'PROJECT' in missing else 'a key'}", f"set {missing}")
    if not context.asks_models:
        return skip(f"{model.name}: {_NOT_ASKED}")
    is_own = is_own_server(model.provider, os.environ, configured=model.config.get("openai_base_url"))
    seconds = _timeout_seconds(is_own)
    try:
        async with time_limit(seconds):
            await ping()
    except BadAnswerError as error:
        return warn(f"{model.name} gives a bad answer: {error}", "choose another model")
    except ContextSizeError as error:
        return fail(f"{model.name} cannot learn: {error}", "give it a larger context")
    except (ModelError, TimeoutError) as error:
        hint = _hint(error, is_own_server=is_own)
        return fail(_error_text(model.name, error, seconds), f"{hint}; {consequence}nothing is lost in the meantime")
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


def check_tokens(context: CheckContext) -> list[Finding]:
    """Show what memory's questions took; those of this report and of the agents are not counted."""
    if context.summary is None:
        return skip(context.unread_reason)
    found = {time.replace("_", " "): used for time, used in context.summary.usage.items() if used}
    return [Finding("ok", f"{time}: {_list_tokens(used)}") for time, used in found.items()] or ok("none in 30 days")


def _list_tokens(used: Mapping[TokenPurpose, TokenUsage]) -> str:
    """Return the tokens by purpose; `~` marks what is estimated at least in part."""
    lines = []
    for purpose, each in sorted(used.items()):
        mark, cached = "~" if each.estimated else "", f" ({each.cached:,} cached)" if each.cached else ""
        lines.append(f"{purpose} {mark}{each.input:,}{cached} in, {mark}{each.output:,} out")
    return "; ".join(lines)


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
    previous = context.model_findings.get(f"gemini/{model.model}")
    if previous is not None and previous.state != "ok":
        return [Finding(previous.state, f"{model.model}, the same as memory's", previous.remedy)]
    if not context.asks_models:
        return skip(f"{model.model}: {_NOT_ASKED}")
    return asyncio.run(_ask_agent_model(model))


async def _ask_agent_model(model: BaseLlm) -> list[Finding]:
    """Ask the model to call a tool, which agents need to look facts up and to store them."""
    from gaia_memory.adk.models.model_factory import close_model

    is_own = type(model).__name__ == "OpenAIWithTimeLimit" and is_own_server("openai", os.environ)
    seconds = _timeout_seconds(is_own)
    has_called = False
    try:
        async with asyncio.timeout(seconds):
            async for answer in model.generate_content_async(_tool_request(model.model)):
                if answer.error_code:
                    return fail(f"{model.model} refuses ({answer.error_code})", _MODEL_HINT)
                has_called |= any(part.function_call for part in (answer.content and answer.content.parts) or ())
    except TimeoutError as error:
        return fail(_error_text(model.model, error, seconds), _BUSY_HINT if is_own else "check the network")
    except Exception as error:
        # A model of ADK's may raise anything, in words that may quote what it was sent.
        outage = classify_error(error)
        message = f"{model.model} does not answer ({type(error).__name__})"
        hint = _TOOLS_HINT if outage and outage.status == 400 and is_own else None
        return fail(outage.describe(model.model) if outage else message, hint or _hint(error, is_own_server=is_own))
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
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])])
    content = types.Content(role="user", parts=[types.Part(text=_TOOL_PROMPT)])
    return LlmRequest(model=model_name, contents=[content], config=config)


def _timeout_seconds(is_own_server: bool) -> float:
    return OWN_SERVER_TIMEOUT_SECONDS if is_own_server else MODEL_TIMEOUT_SECONDS


def _hint(error: Exception, *, is_own_server: bool) -> str:
    """Return what to do about a model that does not answer: a server of one's own is rather busy than away."""
    outage = classify_error(error)
    if not is_own_server:
        return _MODEL_HINT
    if isinstance(error, TimeoutError) or (outage is not None and outage.kind == "late"):
        return _BUSY_HINT
    return _SERVER_HINT if outage is not None and outage.kind == "unreachable" else _MODEL_HINT


def _error_text(identity: str, error: Exception, seconds: float) -> str:
    return f"{identity} gives no answer within {seconds:g} s" if isinstance(error, TimeoutError) else str(error)
