"""mem0's Gemini parts, with time-outs, retries and answers that are read to their end."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tenacity import Retrying

from gaia_memory.backend.providers.provider_specs import DEFAULT_GEMINI_EMBEDDER, gemini_api_key
from gaia_memory.errors import BadAnswerError
from gaia_memory.outage import retry_policy

if TYPE_CHECKING:
    from google.genai import Client, types

T = TypeVar("T")

LLM_SECONDS = 60.0
EMBEDDER_SECONDS = 20.0
RETRY_WINDOW_SECONDS = 15.0
"""No try begins later after the first."""

MAX_ATTEMPTS = 3
FIRST_DELAY = 0.5
MAX_DELAY = 8.0
JITTER = 0.5
MAX_TOKENS = 8192
"""mem0's own 2,000 cut a long list of facts in the middle, and thinking counts too."""

FULL_DIMENSIONS = 3072
DEFAULT_DIMENSIONS = 768
_MAX_BATCH_TEXTS = 100
_COMPLETE_FINISH_REASONS = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})


def create_client(*, key: str | None, timeout_seconds: float, **vertex_options: Any) -> Client:
    """Return a Gemini client that asks once and gives up after `timeout_seconds`; see `with_retries`.

    `vertex_options` holds `vertexai`, `project` and `location`. `GOOGLE_GEMINI_BASE_URL` is honoured, as by any client.
    """
    from google import genai
    from google.genai import types

    no_retries = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(timeout=int(timeout_seconds * 1000), retry_options=no_retries)
    if vertex_options.get("vertexai"):
        return genai.Client(http_options=options, **vertex_options)
    return genai.Client(api_key=key or gemini_api_key(os.environ), http_options=options)


def with_retries(call: Callable[..., T]) -> Callable[..., T]:
    """Return a blocking call that is made again after what may pass: 408, 429, 5xx, a connection that breaks.

    A pause that Gemini names is kept, or, where it is longer than anybody waits, the failure raised at once. A
    time-out is not tried again: whoever waits has given up, and whoever does not comes back later.
    """

    def call_with_retries(*arguments: Any, **keywords: Any) -> T:
        policy = retry_policy(
            max_attempts=MAX_ATTEMPTS,
            initial_seconds=FIRST_DELAY,
            max_seconds=MAX_DELAY,
            jitter_seconds=JITTER,
            window_seconds=RETRY_WINDOW_SECONDS,
        )
        return Retrying(**policy)(call, *arguments, **keywords)

    return call_with_retries


def gemini_llm(config: Mapping[str, Any]) -> Any:
    """Return mem0's Gemini model over our client.

    mem0 takes the first text part of an answer and nothing else: a thought, half an answer, or a blank for a
    blocked one. This one joins the text and raises `BadAnswerError` for what is blocked, cut or blank.
    """
    from mem0.configs.llms.gemini import GeminiConfig
    from mem0.llms.gemini import GeminiLLM

    settings = GeminiConfig(**{"max_tokens": MAX_TOKENS, **config})
    settings.api_key = settings.api_key or gemini_api_key(os.environ)
    llm = GeminiLLM(settings)
    llm.client.close()
    llm.client = create_client(
        key=settings.api_key,
        timeout_seconds=LLM_SECONDS,
        vertexai=settings.vertexai,
        project=settings.project,
        location=settings.location,
    )
    llm.generate_response = with_retries(llm.generate_response)
    parse_tool_calls = llm._parse_response
    llm._parse_response = lambda response, tools: parse_tool_calls(response, tools) if tools else answer_text(response)
    return llm


def answer_text(response: types.GenerateContentResponse) -> str:
    """Return the whole text of an answer, without thoughts.

    Raises:
        BadAnswerError: the prompt or the answer was blocked, the answer was cut, or there is no text.
    """
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        raise BadAnswerError(f"Gemini blocked the prompt ({_enum_name(feedback.block_reason)})")
    if not response.candidates:
        raise BadAnswerError("Gemini gave no answer")
    candidate = response.candidates[0]
    reason = _enum_name(candidate.finish_reason) if candidate.finish_reason is not None else "STOP"
    if reason == "MAX_TOKENS":
        raise BadAnswerError("Gemini's answer was cut: raise `memory.llm.max_tokens` in gaia.yaml")
    if reason not in _COMPLETE_FINISH_REASONS:
        raise BadAnswerError(f"Gemini stopped before the end of its answer ({reason})")
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    if not text.strip():
        raise BadAnswerError("Gemini's answer is blank")
    return text


def _enum_name(reason: Any) -> str:
    return str(getattr(reason, "name", reason))


class GeminiEmbedder:
    """Gemini's embedder in the form mem0 uses: one vector a text, always of length 1.

    mem0's own sends a list of texts in a form that `gemini-embedding-2` answers with a single vector for all
    of them, and leaves vectors of fewer than 3,072 dimensions as they come, which is not of length 1.
    """

    def __init__(self, config: Any) -> None:
        """Take mem0's `BaseEmbedderConfig`."""
        self.config = config
        self.config.model = config.model or DEFAULT_GEMINI_EMBEDDER
        dimensions = config.embedding_dims or config.output_dimensionality or DEFAULT_DIMENSIONS
        self.config.embedding_dims = int(dimensions)
        self.client = create_client(key=config.api_key, timeout_seconds=EMBEDDER_SECONDS)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector a text, asking for up to 100 at once.

        Raises:
            BadAnswerError: there are more or fewer vectors than texts.
        """
        size = 1 if self.client.vertexai else _MAX_BATCH_TEXTS
        vectors: list[list[float]] = []
        for start in range(0, len(texts), size):
            vectors += self._embed_batch(texts[start : start + size])
        return vectors

    def _embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        from google.genai import types

        contents: list[Any] = [types.Content(parts=[types.Part(text=text.replace("\n", " "))]) for text in texts]
        embed_config = types.EmbedContentConfig(output_dimensionality=self.config.embedding_dims)
        embed = with_retries(self.client.models.embed_content)
        response = embed(model=self.config.model, contents=contents, config=embed_config)
        vectors = [list(embedding.values or ()) for embedding in response.embeddings or ()]
        if len(vectors) != len(texts):
            raise BadAnswerError(f"Gemini gave {len(vectors)} vectors for {len(texts)} texts ({self.config.model})")
        if self.config.embedding_dims >= FULL_DIMENSIONS:
            return vectors
        return [normalize(vector) for vector in vectors]


def normalize(vector: Sequence[float]) -> list[float]:
    """Return `vector` at length 1; one without any length as it is."""
    length = math.hypot(*vector)
    return [value / length for value in vector] if length else list(vector)
