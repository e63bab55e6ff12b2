"""Public fakes: models that answer from a script, an embedder without a network, a clock to set.

Stores have no fake: use the real ones in a temporary folder.

    llm = ScriptedLlm("Hello!", default="ok")
    async with open_memory({"home": str(tmp_path)}, model=llm, clock=FakeClock()) as gaia:
        reply = await gaia.conversation(agent, user_id="ada", channel="cli").send("hi")
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import inspect
import math
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from gaia_memory.model_calls import PLAIN_ANSWER, AnswerOptions
from gaia_memory.models import Chunk, ExtractedFact, Vector
from gaia_memory.ports import AnswerCheck, EmbeddingPurpose

Answer = str | types.Content | LlmResponse | BaseException
"""An answer of a scripted model: text, content, a whole response, or an error to raise."""

ScriptedAnswer = Answer | Callable[[LlmRequest], Answer | Awaitable[Answer]]
"""An answer, or a sync or async function that returns one for a request."""

Item = TypeVar("Item")

_PIECE = re.compile(r"\S+\s*|\s+")
_NO_TOKENS = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=0, candidates_token_count=0, total_token_count=0
)
"""ADK warns about every answer without token counts."""

_WORD = re.compile(r"\w+")


class ScriptExhaustedError(AssertionError):
    """A scripted part got more requests than its script has answers.

    with pytest.raises(ScriptExhaustedError):
        await ScriptedLanguageModel().complete("hi", system="")
    """

    def __init__(self, name: str, answer_count: int, request: str) -> None:
        """Report the number of answers and the start of the request."""
        super().__init__(
            f"{name} got {answer_count + 1} requests, but its script has {answer_count} answers; the last request was "
            f"{request[:500]!r}: add an answer or pass default="
        )


class FakeClock:
    """A clock that only moves when advanced.

        clock = FakeClock()
        async with open_memory({}, clock=clock) as gaia:
            clock.advance(timedelta(hours=1))

    By default it starts at the real time, because it is compared with event times, which ADK takes from the real clock.
    """

    def __init__(self, now: datetime | None = None) -> None:
        """Start at `now`, which must have a time zone, or at the real time."""
        self._now = now or datetime.now(UTC)

    def now(self) -> datetime:
        """Return the current time of the clock."""
        return self._now

    def advance(self, by: float | timedelta) -> datetime:
        """Advance by seconds or a timedelta and return the new time."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
        return self._now


class Gate:
    """Blocks callers between `shut()` and `open()`; a new gate is open.

    embedder.gate.shut()
    task = asyncio.create_task(memory.recall(scope, "tea"))
    await embedder.gate.wait_for_waiter()
    """

    def __init__(self) -> None:
        """Create an open gate."""
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._has_waiter = asyncio.Event()

    def shut(self) -> None:
        """Block callers from here on."""
        self._has_waiter.clear()
        self._is_open.clear()

    def open(self) -> None:
        """Release all waiting callers."""
        self._is_open.set()

    async def wait_for_waiter(self) -> None:
        """Return as soon as a caller waits at the shut gate."""
        await self._has_waiter.wait()

    async def wait_until_open(self) -> None:
        """Return at once if the gate is open, else when it opens."""
        if not self._is_open.is_set():
            self._has_waiter.set()
        await self._is_open.wait()


class _Script(Generic[Item]):
    """A queue of answers, with an optional default for when it is empty."""

    def __init__(self, name: str, answers: Iterable[Item], default: Item | None) -> None:
        self._name = name
        self._answers = deque(answers)
        self._default = default
        self._answer_count = 0

    def add(self, *answers: Item) -> None:
        self._answers.extend(answers)

    def next(self, request: str) -> Item:
        if self._answers:
            self._answer_count += 1
            return self._answers.popleft()
        if self._default is None:
            raise ScriptExhaustedError(self._name, self._answer_count, request)
        return self._default


def call(name: str, **args: Any) -> types.Content:
    """Return an answer that calls the tool `name`.

    llm = ScriptedLlm(call("load_memory", query="tea"), "You like green tea.")
    agent = LlmAgent(name="root", model=llm)
    reply = await gaia.conversation(agent, user_id="ada", channel="cli").send("which tea?")
    """
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


class ScriptedLlm(BaseLlm):
    """An ADK model that answers from a script and records every request.

        llm = ScriptedLlm("Hello!", ModelUnavailableError("503"), default="ok")
        agent = LlmAgent(name="root", model=llm)
        assert llm.requests == []

    Each call takes the next answer. After the last one it uses `default` or raises `ScriptExhaustedError`. `requests`
    contains copies, which later changes to the conversation do not affect.
    """

    model: str = "scripted"
    _script: _Script[ScriptedAnswer] = PrivateAttr()
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(
        self, *answers: ScriptedAnswer, default: ScriptedAnswer | None = None, model: str = "scripted"
    ) -> None:
        """Give the answers in order; `model` is the reported name."""
        super().__init__(model=model)
        self._script = _Script(f"ScriptedLlm({model!r})", answers, default)

    @property
    def requests(self) -> list[LlmRequest]:
        """The recorded requests, oldest first."""
        return self._requests

    def add(self, *answers: ScriptedAnswer) -> None:
        """Append answers to the script."""
        self._script.add(*answers)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the next answer; with `stream`, yield its words first as partial responses."""
        self._requests.append(_copy_request(llm_request))
        scripted = self._script.next(_last_text(llm_request))
        answer = scripted(llm_request) if callable(scripted) else scripted
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        response = _response(answer)
        if stream:
            for piece in _pieces(response):
                yield _response(piece, partial=True)
        yield response


def _copy_request(request: LlmRequest) -> LlmRequest:
    # Not a deep copy: tools refer to running objects that cannot be copied.
    copied = request.model_copy()
    copied.contents = copy.deepcopy(request.contents)
    copied.config = request.config.model_copy(deep=True)
    return copied


def _last_text(request: LlmRequest) -> str:
    last = request.contents[-1] if request.contents else None
    return " ".join(part.text for part in (last.parts if last else None) or [] if part.text)


def _response(answer: str | types.Content | LlmResponse, *, partial: bool = False) -> LlmResponse:
    if isinstance(answer, LlmResponse):
        return answer.model_copy(deep=True)
    if isinstance(answer, str):
        answer = types.Content(role="model", parts=[types.Part(text=answer)])
    usage = None if partial else _NO_TOKENS.model_copy()
    return LlmResponse(content=answer.model_copy(deep=True), partial=partial, usage_metadata=usage)


def _pieces(response: LlmResponse) -> list[str]:
    parts = (response.content.parts if response.content else None) or []
    return [piece for part in parts if part.text and not part.thought for piece in _PIECE.findall(part.text)]


def bag_of_words(text: str, dimensions: int = 64) -> Vector:
    """Return a unit vector; the more words two texts share, the closer their vectors.

    tea, green_tea, car = map(bag_of_words, ("tea", "green tea", "car"))
    assert math.dist(tea, green_tea) < math.dist(tea, car)
    assert len(bag_of_words("tea", dimensions=8)) == 8
    """
    counts = [0.0] * dimensions
    for word in _WORD.findall(text.casefold()) or [""]:
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % dimensions] += 1.0
    length = math.sqrt(sum(count * count for count in counts))
    return tuple(count / length for count in counts)


class ScriptedEmbedder:
    """An embedder that hashes words, and can fail or block on request.

        embedder = ScriptedEmbedder(dimensions=32)
        embedder.error = ModelUnavailableError("503")
        assert embedder.texts == []

    `texts` records every requested text. While `error` is set, it raises that; while `gate` is shut, it waits.
    """

    def __init__(self, dimensions: int = 64, *, model: str = "bag-of-words") -> None:
        """Return vectors with this many dimensions; `model` is part of the identity."""
        self._dimensions = dimensions
        self._model = model
        self.texts: list[str] = []
        self.error: BaseException | None = None
        self.gate = Gate()

    @property
    def identity(self) -> str:
        """Provider, model and dimensions."""
        return f"scripted/{self._model}/{self._dimensions}"

    async def embed(self, texts: Sequence[str], *, purpose: EmbeddingPurpose) -> list[Vector]:
        """Return one vector for each text; `purpose` makes no difference."""
        self.texts.extend(texts)
        await self.gate.wait_until_open()
        if self.error is not None:
            raise self.error
        return [bag_of_words(text, self._dimensions) for text in texts]


class ScriptedExtractor:
    """An extractor that answers from a script: lists of facts, or errors to raise.

        extractor = ScriptedExtractor(["likes tea"], default=[])
        extractor.add(["lives in Haifa"], ModelUnavailableError("503"))
        assert extractor.chunks == []

    `chunks` and `instructions` record the requests. While `gate` is shut, it waits.
    """

    def __init__(
        self,
        *answers: Sequence[str | ExtractedFact] | BaseException,
        default: Sequence[str | ExtractedFact] | BaseException | None = None,
    ) -> None:
        """Give the answers in order."""
        self._script = _Script("ScriptedExtractor", answers, default)
        self.chunks: list[Chunk] = []
        self.instructions: list[str] = []
        self.gate = Gate()

    def add(self, *answers: Sequence[str | ExtractedFact] | BaseException) -> None:
        """Append answers to the script."""
        self._script.add(*answers)

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the facts of the next answer, whatever `check` says of them."""
        self.chunks.append(chunk)
        self.instructions.append(instructions)
        await self.gate.wait_until_open()
        answer = self._script.next(" | ".join(message.text for message in chunk.messages))
        if isinstance(answer, BaseException):
            raise answer
        return [fact if isinstance(fact, ExtractedFact) else ExtractedFact(text=fact) for fact in answer]


class ScriptedLanguageModel:
    """A language model that answers from a script: texts, or errors to raise.

        model = ScriptedLanguageModel("- Name: Ada", default="NONE")
        answer = await model.complete("Who is this?", system="Be short.")
        assert model.prompts == ["Who is this?"]

    `prompts` and `systems` record the requests. While `gate` is shut, it waits.
    """

    def __init__(
        self, *answers: str | BaseException, default: str | BaseException | None = None, model: str = "scripted"
    ) -> None:
        """Give the answers in order; `model` is part of the identity."""
        self._script = _Script("ScriptedLanguageModel", answers, default)
        self._model = model
        self.prompts: list[str] = []
        self.systems: list[str] = []
        self.gate = Gate()

    @property
    def identity(self) -> str:
        """Provider and model."""
        return f"scripted/{self._model}"

    def add(self, *answers: str | BaseException) -> None:
        """Append answers to the script."""
        self._script.add(*answers)

    @property
    def is_offline(self) -> bool:
        """Whether there is no model to ask: never."""
        return False

    async def complete(self, prompt: str, *, system: str, options: AnswerOptions = PLAIN_ANSWER) -> str:
        """Return the next answer, whatever `options` ask for."""
        self.prompts.append(prompt)
        self.systems.append(system)
        await self.gate.wait_until_open()
        answer = self._script.next(prompt)
        if isinstance(answer, BaseException):
            raise answer
        return answer
