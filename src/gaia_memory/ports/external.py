"""What stands outside: the host, the models, the ways of searching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from gaia_memory.models import (
    Candidate,
    Chunk,
    EventPosition,
    ExtractedFact,
    Scope,
    SessionKey,
    TranscriptSlice,
    Turn,
    Vector,
)


class Transcript(Protocol):
    """What was said, as the host keeps it."""

    clear_method: Literal["delete", "rewind"]
    """How this host's sessions may be cleared: deleting is safe only where every turn is ours."""
    is_complete: bool
    """Whether the host's sessions are all here, so that one that stays missing was deleted."""

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return the sessions changed at `since` or later (None: all), with the time of each one's last change."""

    async def read(self, key: SessionKey, *, after: EventPosition | None, turns_before: int) -> TranscriptSlice | None:
        """Return what was said after a mark, as turns numbered from `turns_before` + 1.

        Only user and model text: no thoughts, partials, calls, responses, commands, private turns, rewound
        or other-branch events. None when there is no such session.
        """

    async def read_out_of_order(
        self, key: SessionKey, started_at: Mapping[str, float], *, after: EventPosition | None, turns_before: int
    ) -> Sequence[Turn] | None:
        """Return what was said in these invocations since each began, and reading after the mark misses.

        The same text as `read`, numbered in the same way. None when there is no such session.
        """

    async def clear(self, conversation: TranscriptSlice, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; False, and nothing changed, when somebody spoke since."""


class Extractor(Protocol):
    """Asks a model which facts a piece of talk holds."""

    async def extract(self, chunk: Chunk, *, instructions: str) -> list[ExtractedFact]:
        """Return the facts of a chunk; an empty list only for a well-formed "nothing to learn".

        Raises:
            ModelUnavailableError: the model could not be reached.
            BadAnswerError: its answer is blank, blocked, cut or of another form.
        """


class Embedder(Protocol):
    """Turns text into vectors."""

    @property
    def identity(self) -> str:
        """Provider, model and dimensions, as `provider/model/dimensions`: vectors of two identities never mix."""

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        """Return one vector a text.

        Raises:
            ModelError: it could not.
        """


class LanguageModel(Protocol):
    """Answers one prompt with text."""

    @property
    def identity(self) -> str:
        """Provider and model, as `provider/model`."""

    async def complete(self, prompt: str, *, system: str) -> str:
        """Return the whole answer.

        Raises:
            ModelUnavailableError: the model could not be reached.
            BadAnswerError: its answer is blank, blocked or cut.
        """


class Retriever(Protocol):
    """Finds candidates for a query, in one way."""

    @property
    def name(self) -> str:
        """The name shown in `Hit.why`."""

    async def retrieve(self, scope: Scope, query: str, *, limit: int) -> list[Candidate]:
        """Return candidates of this scope, best first."""


class Reranker(Protocol):
    """Reads a question and a text together and says how well the text answers it."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text, higher is better, on a scale of its own.

        Raises:
            ModelError: it could not.
        """


class ProjectsProvider(Protocol):
    """A hook for hosts that know what a person works on."""

    async def recent(self, scope: Scope) -> Sequence[str]:
        """Return one line a project, newest first."""
