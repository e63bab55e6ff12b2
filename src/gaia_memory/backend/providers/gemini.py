"""mem0's parts for Gemini, with time-outs, retries and complete answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tenacity import Retrying

from gaia_memory import model_calls
from gaia_memory.backend.providers.resolve_provider import DEFAULT_GEMINI_EMBEDDER, GEMINI
from gaia_memory.config.api_keys import PLACEHOLDER_KEY, gemini_client_arguments
from gaia_memory.errors import BadAnswerError
from gaia_memory.model_calls import CallLimits, require_complete, retry_policy
from gaia_memory.telemetry.token_usage import report_gemini_tokens, report_tokens

if TYPE_CHECKING:
    from google.genai import Client, types

MAX_TOKENS = 8192
"""mem0's default of 2,000 cuts a long list of facts in the middle. Thoughts count, too."""

VERTEX_OPTIONS = ("vertexai", "project", "location")
"""mem0's keys for Gemini on Vertex AI."""

DEFAULT_DIMENSIONS = 768
_MAX_BATCH_TEXTS = 100
_COMPLETE_FINISH_REASONS = frozenset({"", "STOP", "FINISH_REASON_UNSPECIFIED"})


def create_client(*, limits: CallLimits, **vertex_options: Any) -> Client:
    """Return a Gemini client that asks once and gives up after the time-out of `limits`.

    `vertex_options` holds mem0's keys `vertexai`, `project` and `location`, as far as they are configured.
    `GOOGLE_GEMINI_BASE_URL` and `GOOGLE_VERTEX_BASE_URL` are honoured, as by any client.
    """
    from google import genai
    from google.genai import types

    no_retries = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(timeout=int(limits.timeout_seconds * 1000), retry_options=no_retries)
    return genai.Client(http_options=options, **gemini_client_arguments(os.environ, **vertex_options))


def gemini_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's Gemini model over a client with time-outs, retries and checked answers.

    mem0 itself reads only the first text part of an answer: a thought, half an answer, or nothing if it was blocked.
    """
    from mem0.utils.factory import LlmFactory

    client = create_client(
        limits=model_calls.LEARNING, **{name: config[name] for name in VERTEX_OPTIONS if name in config}
    )
    # mem0's constructor makes a client of its own, which on Vertex AI may look for credentials in the network.
    settings = {"max_tokens": MAX_TOKENS, **config, "vertexai": False, "api_key": PLACEHOLDER_KEY}
    llm: Any = LlmFactory.create(GEMINI, settings)
    llm.generate_response = partial(_with_schema, llm.generate_response)
    llm.client.close()
    llm.client = client
    llm.config.model = _model_name(client, llm.config.model)
    llm.client.models.generate_content = partial(_generate_completely, llm.client.models.generate_content)
    return llm


def _with_schema(
    generate: Callable[..., Any], messages: Sequence[Mapping[str, str]], response_format: Any = None, **arguments: Any
) -> Any:
    """Ask with a schema in the form that mem0's model takes."""
    if schema := (response_format or {}).get("json_schema"):
        response_format = {"type": "json_object", "schema": schema["schema"]}
    return generate(messages, response_format, **arguments)


def _model_name(client: Client, name: str) -> str:
    """Return a model's name in the form of the client: Vertex AI knows no `models/`."""
    return name.removeprefix("models/") if client.vertexai else name


def _generate_completely(generate: Callable[..., Any], *, config: Any, **arguments: Any) -> Any:
    """Return the answer with its whole text as one part, which is all that mem0 reads; tool calls stay unchanged."""
    from google.genai import types

    response = Retrying(**retry_policy(model_calls.LEARNING))(generate, config=config, **arguments)
    report_gemini_tokens(response.usage_metadata)
    if config.tools:
        return response
    content = types.Content(role="model", parts=[types.Part(text=answer_text(response))])
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content)])


def answer_text(response: types.GenerateContentResponse) -> str:
    """Return the whole text of an answer, without thoughts.

    Raises:
        BadAnswerError: the prompt or the answer was blocked, the answer was cut off, or there is no text.
    """
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        reason = getattr(feedback.block_reason, "name", feedback.block_reason)
        raise BadAnswerError(f"Gemini blocked the prompt ({reason})")
    if not response.candidates:
        raise BadAnswerError("Gemini gave no answer")
    candidate = response.candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    require_complete(candidate.finish_reason, text=text, complete_reasons=_COMPLETE_FINISH_REASONS)
    if not text.strip():
        raise BadAnswerError("Gemini's answer is blank")
    return text


def gemini_embedder(config: Mapping[str, Any]) -> Any:
    """Return mem0's Gemini embedder over a client with time-outs, retries and one vector for each text."""
    from mem0.utils.factory import EmbedderFactory

    client = create_client(limits=model_calls.EMBEDDING)
    settings = {"model": DEFAULT_GEMINI_EMBEDDER, **config, "api_key": PLACEHOLDER_KEY}
    embedder = EmbedderFactory.create(GEMINI, settings, None)
    embedder.client.close()
    embedder.client = client
    embedder.config.model = _model_name(client, embedder.config.model)
    batch_size = 1 if client.vertexai else _MAX_BATCH_TEXTS
    models = embedder.client.models
    models.embed_content = partial(_embed_separately, models.embed_content, batch_size)
    return embedder


def _embed_separately(
    embed: Callable[..., Any], batch_size: int, *, contents: str | Sequence[str], **arguments: Any
) -> types.EmbedContentResponse:
    """Send each text as a content of its own: `gemini-embedding-2` answers mem0's list of texts with a single vector.

    Raises:
        BadAnswerError: the number of vectors is not the number of texts.
    """
    from google.genai import types

    texts = [contents] if isinstance(contents, str) else contents
    separate = [types.Content(parts=[types.Part(text=text)]) for text in texts]
    vectors: list[types.ContentEmbedding] = []
    for start in range(0, len(texts), batch_size):
        retrying = Retrying(**retry_policy(model_calls.EMBEDDING))
        vectors += retrying(embed, contents=separate[start : start + batch_size], **arguments).embeddings or ()
    # Vertex AI alone counts them.
    report_tokens(given=int(sum(each.statistics.token_count or 0 for each in vectors if each.statistics)))
    if len(vectors) != len(texts):
        raise BadAnswerError(f"Gemini gave {len(vectors)} vectors for {len(texts)} texts ({arguments.get('model')})")
    return types.EmbedContentResponse(embeddings=vectors)
