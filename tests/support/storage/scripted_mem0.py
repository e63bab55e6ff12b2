"""mem0 providers that answer from scripts, registered in mem0's factories as `scripted`.

mem0 creates providers by the path of their class, so the model name in the configuration selects the script:
`memory: {llm: {provider: scripted, model: NAME}}`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from mem0.configs.embeddings.base import BaseEmbedderConfig
from mem0.embeddings.base import EmbeddingBase
from mem0.llms.base import LLMBase
from mem0.utils.factory import EmbedderFactory, LlmFactory

from gaia_memory.testing import bag_of_words

__all__ = ["DIMENSIONS", "NO_DECISIONS", "Mem0Script", "configuration", "register"]

PROVIDER = "scripted"
DIMENSIONS = 64

Kind = Literal["extractor", "profiler", "reconciler"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NO_DECISIONS = '{"decisions": []}'
Answer = str | None | BaseException | Callable[[str], "Answer"]
"""The model's text, an error that it raises, or a function from the prompt to either."""


@dataclass
class Mem0Script:
    """The answers of the extractor, the profiler and the reconciler, and the requests to them and to the embedder.

    A reconciler without a script decides nothing.

    `created_objects` names each object that mem0 made of them. While `embedder_error` is set, the embedder raises it.
    `before_embedding` is called in the embedder's worker thread.
    """

    answers: dict[Kind, deque[Answer]] = field(default_factory=lambda: {kind: deque() for kind in KINDS})
    prompts: dict[Kind, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    embedded: list[str] = field(default_factory=list)
    created_objects: list[str] = field(default_factory=list)
    embedder_error: BaseException | None = None
    before_embedding: Callable[[], None] = lambda: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, prompt: str) -> str | None:
        """Return the next answer for a prompt of this kind."""
        kind: Kind = "profiler" if "<FACTS>" in prompt else "reconciler" if "<NEW_FACTS>" in prompt else "extractor"
        with self.lock:
            self.prompts[kind].append(prompt)
            queue = self.answers[kind]
            empty = NO_DECISIONS if kind == "reconciler" else AssertionError(f"the script of the {kind} ran out")
            answer: Answer = queue.popleft() if queue else empty
        while callable(answer):
            answer = answer(prompt)
        if isinstance(answer, BaseException):
            raise answer
        return answer


_SCRIPTS: dict[str, Mem0Script] = {}


class ScriptedMem0Llm(LLMBase):
    """A mem0 language model that answers from the script named in its configuration."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._script = _SCRIPTS[str(self.config.model)]
        self._script.created_objects.append("llm")

    def generate_response(self, messages: Sequence[dict[str, str]], *args: Any, **kwargs: Any) -> Any:
        """Return the next answer; the prompt is all messages joined."""
        return self._script.answer("\n\n".join(message["content"] for message in messages))


class ScriptedMem0Embedder(EmbeddingBase):
    """A mem0 embedder that hashes words."""

    def __init__(self, config: BaseEmbedderConfig | None = None) -> None:
        super().__init__(config)
        self.config.embedding_dims = DIMENSIONS
        self._script = _SCRIPTS[str(self.config.model)]
        self._script.created_objects.append("embedder")

    def embed(self, text: str, memory_action: Any = None) -> list[float]:
        """Return the vector of one text."""
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: list[str], memory_action: Any = None) -> list[list[float]]:
        """Return one vector per text."""
        self._script.embedded.extend(texts)
        self._script.before_embedding()
        if self._script.embedder_error is not None:
            raise self._script.embedder_error
        return [list(bag_of_words(text, DIMENSIONS)) for text in texts]


def register(name: str, script: Mem0Script) -> None:
    """Register `script` for configurations with the model `name`."""
    _SCRIPTS[name] = script
    LlmFactory.register_provider(PROVIDER, f"{__name__}.{ScriptedMem0Llm.__name__}")
    EmbedderFactory.provider_to_class[PROVIDER] = f"{__name__}.{ScriptedMem0Embedder.__name__}"


def configuration(name: str) -> dict[str, Any]:
    """Return the memory section that uses the script `name`."""
    return {
        "llm": {"provider": PROVIDER, "model": name},
        "embedder": {"provider": PROVIDER, "model": name},
    }
