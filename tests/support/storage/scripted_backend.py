"""Backends over real mem0 objects, with scripted providers in mem0's factories."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gaia_memory.backend.builder import Backend
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.models import Chunk, EventPosition, ExtractedFact, Message, SessionKey, Turn
from gaia_memory.testing import bag_of_words

PROVIDER = "scripted"
DIMENSIONS = 64
KEY = SessionKey("app", "itay", "s1")
SAID_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


class ProviderScript:
    """The next answers of the scripted providers, and their requests."""

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.prompts: list[list[dict[str, str]]] = []
        self.formats: list[Any] = []
        self.temperatures: list[float] = []
        self.texts: list[str] = []
        self.purposes: list[str] = []
        # Not of length 1, as with some real models.
        self.vector: Callable[[str], Any] = lambda text: [3.0 * value for value in bag_of_words(text, DIMENSIONS)]
        self.llm_gate, self.embedder_gate = threading.Event(), threading.Event()
        for gate in (self.llm_gate, self.embedder_gate):
            gate.set()

    @property
    def last_prompt(self) -> str:
        """All messages of the last prompt, joined."""
        return "\n".join(message["content"] for message in self.prompts[-1])


_scripts: dict[str, ProviderScript] = {}


class ScriptedMem0Llm:
    """A language model in mem0's interface; the name of the model selects its script."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.script = _scripts[config.model]

    def generate_response(self, messages: list[dict[str, str]], response_format: Any = None) -> Any:
        self.script.prompts.append(messages)
        self.script.formats.append(response_format)
        self.script.temperatures.append(self.config.temperature)
        self.script.llm_gate.wait(60)
        answer = self.script.answers.popleft()
        if isinstance(answer, BaseException):
            raise answer
        return answer


class ScriptedMem0Embedder:
    """An embedder in mem0's interface, without the optional `embed_batch`."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.script = _scripts[config.model]

    def embed(self, text: str, memory_action: str | None = None) -> Any:
        self.script.texts.append(text)
        self.script.purposes.append(str(memory_action))
        self.script.embedder_gate.wait(60)
        vector = self.script.vector(text)
        if isinstance(vector, BaseException):
            raise vector
        return vector


def register_scripted_providers(monkeypatch: Any, name: str) -> ProviderScript:
    """Register the scripted providers in mem0's factories and return the script of the model `name`."""
    from mem0.configs.llms.base import BaseLlmConfig
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    llm = ("support.storage.scripted_backend.ScriptedMem0Llm", BaseLlmConfig)
    monkeypatch.setitem(LlmFactory.provider_to_class, PROVIDER, llm)
    monkeypatch.setitem(
        EmbedderFactory.provider_to_class, PROVIDER, "support.storage.scripted_backend.ScriptedMem0Embedder"
    )
    monkeypatch.setitem(_scripts, name, ProviderScript())
    return _scripts[name]


def get_script(name: str) -> ProviderScript:
    """Return the script of the scripted providers of this model."""
    return _scripts[name]


def backend_config(home: Path, **memory: Any) -> GaiaConfig:
    """Return a configuration with these keys under `memory`."""
    return GaiaConfig(home=home, memory=memory)


def scripted_backend(home: Path, name: str, **memory: Any) -> Backend:
    """Return a backend whose model and embedder follow the script `name`."""
    provider = {"provider": PROVIDER, "model": name}
    return Backend(backend_config(home, llm=provider, embedder={**provider, "embedding_dims": DIMENSIONS}, **memory))


def keep_all(facts: Sequence[ExtractedFact], *, prompt: str) -> list[ExtractedFact]:
    """Check an answer as the port `AnswerCheck` does, and keep every fact."""
    return list(facts)


def make_chunk(*texts: str, said_at: datetime = SAID_AT, before: Iterable[str] = ()) -> Chunk:
    """Return a chunk in which a user says `texts`."""
    messages = tuple(make_message("user", text, said_at) for text in texts)
    turn = Turn(seq=1, messages=messages, end=EventPosition(said_at.timestamp(), "end"))
    return Chunk(key=KEY, turns=(turn,), before=tuple(make_message("user", text, said_at) for text in before))


def make_message(role: Any, text: str, at: datetime = SAID_AT, speaker: str = "user") -> Message:
    """Return a message."""
    return Message(role=role, text=text, said_at=at, event_id="e", speaker=speaker)
