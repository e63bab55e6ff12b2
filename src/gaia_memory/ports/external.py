"""Ports to the outside: the host and the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from gaia_memory.model_calls import PLAIN_ANSWER, AnswerOptions
from gaia_memory.models import (
    Chunk,
    EventPosition,
    ExtractedFact,
    Scope,
    SessionKey,
    TranscriptSlice,
    Vector,
)

MISSING_AGENT_MODEL = "memory uses the agent's own model, and the agent has not run in this process"
MISSING_AGENT_MODEL_REMEDY = (
    "run the sweep in the process of the agent, or set memory.llm to a provider such as {provider: gemini}"
)


class Transcript(Protocol):
    """The host's record of its conversations."""

    clear_method: Literal["delete", "keep"]
    """What "auto" means for this host's sessions: deleting is safe only if every turn goes through our Runner."""
    is_complete: bool
    """Whether all of the host's sessions are visible, so that one that stays missing was deleted."""

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return the sessions that changed at `since` or later (None: all), each with the time of its last change."""

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return the conversation after an event, as turns numbered from `turns_before` + 1.

        It contains user and model text only: no thoughts, partials, calls, responses, commands, private turns, rewound
        events or events of other branches. None when there is no such session.
        """

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear the part that was read; False, without a change, when there are newer events."""


class AnswerCheck(Protocol):
    """Decides which facts of an answer about one chunk are kept."""

    def __call__(self, facts: Sequence[ExtractedFact], *, prompt: str) -> list[ExtractedFact]:
        """Return the facts to keep; `prompt` is the text of the question without the conversation.

        Raises:
            BadAnswerError: the question has to be asked again, for the reason in the message.
        """


class Extractor(Protocol):
    """Asks a model for the facts of a part of a conversation."""

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the facts of a chunk that `check` keeps; an empty list only if there is nothing to learn.

        Raises:
            ModelUnavailableError: the model did not answer.
            ContextSizeError: the question does not fit into the model's context.
            BadAnswerError: its answer is blank, blocked, cut off or malformed, or `check` refused it.
        """


EmbeddingPurpose = Literal["add", "write", "search"]
"""What a vector is for: a fact, one that a caller is writing now, or a question."""


class Embedder(Protocol):
    """Converts texts into vectors."""

    @property
    def identity(self) -> str:
        """Provider, model and dimensions, as `provider/model/dimensions`: vectors of two identities never mix."""

    async def embed(self, texts: Sequence[str], *, purpose: EmbeddingPurpose) -> list[Vector]:
        """Return one vector for each text.

        Raises:
            ModelError: the embedder failed.
        """


class LanguageModel(Protocol):
    """Answers one prompt with text."""

    @property
    def identity(self) -> str:
        """Provider and model, as `provider/model`."""

    @property
    def is_offline(self) -> bool:
        """Whether there is no model to ask."""
        ...

    async def complete(self, prompt: str, *, system: str, options: AnswerOptions = PLAIN_ANSWER) -> str:
        """Return the whole answer, in the form of `options` as far as the model's server allows.

        Raises:
            ModelUnavailableError: the model did not answer.
            BadAnswerError: its answer is blank, blocked or cut off.
        """


class AgentModel(Protocol):
    """The model of a host's agent, which `memory.llm: {provider: agent}` lets memory use."""

    @property
    def name(self) -> str:
        """The name of the model."""

    @property
    def is_offline(self) -> bool:
        """Whether it is this package's offline model, which cannot answer memory's questions."""

    async def complete(self, prompt: str, *, system: str, options: AnswerOptions) -> str:
        """Return the whole answer, in the form of `options`.

        Raises whatever the model raises, and `ModelError` for an answer that is blocked, cut off or an error.
        """


class Reranker(Protocol):
    """Rates how well texts answer a question."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, higher is better, on the reranker's own scale.

        Raises:
            ModelError: the reranker failed.
        """


class ProjectsProvider(Protocol):
    """A hook for hosts that know the user's projects."""

    async def recent(self, scope: Scope) -> Sequence[str]:
        """Return one line for each project, newest first."""
