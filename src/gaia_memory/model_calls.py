"""The bounds of every call to a model: how long it may take, how often it is tried, which answers are complete.

Each client applies these numbers; no other module has time-outs or retry counts for models. A slow or lost answer is
not tried again here after a time-out: the caller has waited long enough, and learning and vectors are retried later.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tenacity import RetryCallState, retry_if_exception, stop_after_attempt, stop_before_delay, wait_exponential_jitter

from gaia_memory.errors import BadAnswerError, CutAnswerError
from gaia_memory.outage import classify_error


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The bounds of one kind of call.

    `timeout_seconds` bounds one attempt, or the silence before each piece of a stream. Pauses between attempts grow
    from `first_pause_seconds` to `max_pause_seconds`, plus up to `jitter_seconds`. No attempt starts later than
    `window_seconds` after the first. OpenAI's client takes the number of attempts and has pauses of its own for
    vectors and agents; Ollama's takes the time-out alone.
    """

    timeout_seconds: float
    max_attempts: int
    first_pause_seconds: float = 0.5
    max_pause_seconds: float = 8.0
    jitter_seconds: float = 0.5
    window_seconds: float = 15.0


AGENT = CallLimits(
    timeout_seconds=60.0, max_attempts=4, first_pause_seconds=1.0, max_pause_seconds=4.0, jitter_seconds=1.0
)
OPENAI_AGENT = CallLimits(timeout_seconds=60.0, max_attempts=2)
LEARNING = CallLimits(timeout_seconds=60.0, max_attempts=3)
EMBEDDING = CallLimits(timeout_seconds=20.0, max_attempts=3)

OWN_SERVER_AGENT = CallLimits(timeout_seconds=190.0, max_attempts=1)
OWN_SERVER_LEARNING = CallLimits(timeout_seconds=190.0, max_attempts=2)
OWN_SERVER_EMBEDDING = CallLimits(timeout_seconds=40.0, max_attempts=2)
"""A self-hosted server may have to load the model and is slow to read mem0's prompt of 8,000 tokens. Every further
attempt adds to its work."""

AGENT_STREAM_SECONDS = 300.0
"""How long a whole streamed answer to the user may take."""

LEARNING_DEADLINE_SECONDS = 200.0
EMBEDDING_DEADLINE_SECONDS = 45.0
"""How long a question to the language model, or a batch of texts, may take with all its attempts."""

ATTEMPT_TEMPERATURES = (None, 0.5, 0.9)
"""The temperature of each attempt to get a usable answer, None for the configured one: the same question at the same
temperature has the same bad answer."""

SHORT_ANSWER_TOKENS = 1024
"""The most tokens of an answer after one that took too long: what five tokens a second make in `OWN_SERVER_LEARNING`'s
time-out, and enough to see whether the model repeats itself."""

REPETITION = "the model repeats itself: choose a larger one"
ENDLESS = "the model's answer does not end in time: choose a larger model, or a faster server"
CUT = "the model's answer was cut: raise `memory.llm.max_tokens`, or the server's context size"

_running_limits: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("running_limits", default=())
_stall_limit: ContextVar[tuple[asyncio.Timeout, float] | None] = ContextVar("stall_limit", default=None)
_asking_app: ContextVar[str | None] = ContextVar("asking_app", default=None)

_REPETITION_WINDOWS = (240, 1600)
_MIN_REPETITIONS = 4
_NUMBER = re.compile(r"\d+")
_CUT_REASONS = frozenset({"LENGTH", "MAX_TOKENS"})
_BLOCKED_REASONS = frozenset({"CONTENT_FILTER"})


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How a model should answer: with a JSON object, of a JSON schema, at a temperature, in how many tokens.

    Temperature and tokens are as configured if they are None.
    """

    json: bool = False
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


PLAIN_ANSWER = AnswerOptions()
"""Text of any form."""


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Raise `TimeoutError` after `seconds` in the block, not counting what runs in `outside_time_limits`."""
    async with asyncio.timeout(seconds) as limit:
        token = _running_limits.set((*_running_limits.get(), limit))
        try:
            yield
        finally:
            _running_limits.reset(token)
            note_progress()


@asynccontextmanager
async def stall_limit(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """Raise `TimeoutError` once nothing in the block has got on for `seconds`; the yielded time-out has then expired.

    The end of each `time_limit` in the block gets on, and so does what calls `note_progress`.
    """
    async with asyncio.timeout(seconds) as limit:
        token = _stall_limit.set((limit, seconds))
        try:
            yield limit
        finally:
            _stall_limit.reset(token)


def note_progress() -> None:
    """Let the `stall_limit` around this code, if there is one, begin anew."""
    found = _stall_limit.get()
    if found is not None and not found[0].expired():
        found[0].reschedule(asyncio.get_running_loop().time() + found[1])


@contextmanager
def outside_time_limits() -> Iterator[None]:
    """Stop the clock of every `time_limit` around this block: to import a package is not the model's slowness."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    paused = [(limit, limit.when()) for limit in _running_limits.get()]
    for limit, _ in paused:
        limit.reschedule(None)
    try:
        yield
    finally:
        for limit, when in paused:
            limit.reschedule(None if when is None else when + loop.time() - started)
        note_progress()


def remaining_seconds() -> float:
    """Return the seconds until the innermost `time_limit` around this code ends; it is infinite without one."""
    limits = _running_limits.get()
    when = limits[-1].when() if limits else None
    return math.inf if when is None else when - asyncio.get_running_loop().time()


@contextmanager
def asking_about(app: str | None) -> Iterator[None]:
    """Mark the calls in this block as calls about users of `app`; None stands for users of all apps.

    The model of an app's agent is only told about the users of that app.
    """
    token = _asking_app.set(app)
    try:
        yield
    finally:
        _asking_app.reset(token)


def asking_app() -> str | None:
    """Return the app whose users the current call is about."""
    return _asking_app.get()


def retry_policy(limits: CallLimits) -> dict[str, Any]:
    """Return the arguments of tenacity's `Retrying` and `AsyncRetrying` for one kind of call.

    Only transient failures are tried again. A pause named by the provider is kept; one that ends after the window
    raises the failure at once.
    """
    growing_pause = wait_exponential_jitter(
        initial=limits.first_pause_seconds, max=limits.max_pause_seconds, jitter=limits.jitter_seconds
    )

    def pause_seconds(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        outage = classify_error(error) if error is not None else None
        if outage is None or outage.retry_after is None:
            return growing_pause(state)
        return outage.retry_after + random.uniform(0, limits.jitter_seconds)

    def is_transient(error: BaseException) -> bool:
        outage = classify_error(error)
        return outage is not None and outage.is_transient

    return {
        "stop": stop_after_attempt(limits.max_attempts) | stop_before_delay(limits.window_seconds),
        "wait": pause_seconds,
        "retry": retry_if_exception(is_transient),
        "reraise": True,
    }


def require_complete(finish_reason: object, *, text: str | None, complete_reasons: Collection[str] = ()) -> None:
    """Return if the model finished its answer.

    `finish_reason` is a provider's own name or enum member, `text` the answer so far. With `complete_reasons`, in
    capitals, any other reason is an error.

    Raises:
        CutAnswerError: the answer was cut off.
        BadAnswerError: it was blocked or stopped early, or the model repeated itself until it was cut off.
    """
    name = str(getattr(finish_reason, "name", finish_reason) or "")
    reason = name.upper()
    if reason in _CUT_REASONS:
        if repeats_itself(text or ""):
            raise BadAnswerError(REPETITION)
        raise CutAnswerError(CUT)
    if reason in _BLOCKED_REASONS:
        raise BadAnswerError(f"the model's answer was blocked ({name})")
    if complete_reasons and reason not in complete_reasons:
        raise BadAnswerError(f"the model stopped before the end of its answer ({name})")


def repeats_itself(text: str) -> bool:
    """Return whether a text ends in at least four repetitions of the same words; numbers that count up are the same."""
    normalized = _NUMBER.sub("0", text)
    return any(
        len(normalized) >= size and _period(normalized[-size:]) <= size // _MIN_REPETITIONS
        for size in _REPETITION_WINDOWS
    )


def _period(text: str) -> int:
    """Return the smallest distance at which a text repeats itself; its length if it does not.

    This is the failure function of Knuth, Morris and Pratt, which takes linear time.
    """
    borders = [0] * len(text)
    for end in range(1, len(text)):
        length = borders[end - 1]
        while length and text[end] != text[length]:
            length = borders[length - 1]
        borders[end] = length + (text[end] == text[length])
    return len(text) - borders[-1]
