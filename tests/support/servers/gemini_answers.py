"""Answers of a scripted Gemini: good answers, every kind of bad one, and broken connections."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Body = dict[str, Any]

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_SIGNATURE = "c2lnbmVkIHRob3VnaHRz"


@dataclass(frozen=True)
class Reply:
    """A response of the model: its parts, and why it stopped; None as parts is a candidate without content."""

    parts: tuple[Body, ...] | None
    finish: str | None = "STOP"


@dataclass(frozen=True)
class Slow:
    """An answer streamed word by word, every `each` seconds."""

    words: str
    seconds_per_word: float


@dataclass(frozen=True)
class Failure:
    """An HTTP error in Google's words, in the middle of a stream that began with `partial_text` if that is not empty.

    With `retry_after` it names the seconds to wait: in `RetryInfo`, and in a header if `header`.
    """

    status: int
    retry_after: float | None = None
    message: str = "scripted failure"
    reason: str = ""
    header: bool = True
    partial_text: str = ""

    @property
    def body(self) -> Body:
        """The JSON body."""
        details: list[Body] = []
        if self.reason:
            details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": self.reason})
        if self.retry_after is not None:
            delay = f"{self.retry_after:.12g}s"
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
        error: Body = {"code": self.status, "message": self.message, "status": STATUS_NAMES.get(self.status, "UNKNOWN")}
        return {"error": {**error, "details": details} if details else error}


@dataclass(frozen=True)
class Raw:
    """A body that is sent unchanged: broken JSON, none at all, HTML of a third party."""

    body: str
    status: int = 200
    content_type: str = "application/json; charset=UTF-8"


@dataclass(frozen=True)
class Blocked:
    """The prompt is blocked: no candidate, a block reason."""

    reason: str = "SAFETY"


@dataclass(frozen=True)
class Hang:
    """No answer; in a stream, nothing after the words `partial_text`.

    It lasts until `FakeGemini.release_hanging()` or the end of the server.
    """

    partial_text: str = ""


@dataclass(frozen=True)
class Drop:
    """The connection is closed without a byte, or in the middle of the body or stream.

    By default streams break in the middle and other answers before the first byte. `partial_text` is streamed before.
    """

    at: Literal["headers", "body"] | None = None
    partial_text: str = "half of"


@dataclass(frozen=True)
class Vectors:
    """Embeddings that `change` makes of good ones: a list of lists of numbers, or something else."""

    change: Callable[[list[list[float]]], Any]


Answer = str | Reply | Slow | Failure | Raw | Blocked | Hang | Drop | Vectors | Callable[[Body], "Answer"]


def text(answer: str, *, finish: str | None = "STOP") -> Reply:
    """Return an answer of one text part."""
    return Reply(parts=({"text": answer},), finish=finish)


def call(name: str, **args: Any) -> Reply:
    """Return an answer that calls a tool."""
    return Reply(parts=({"functionCall": {"name": name, "args": args}},))


def text_and_call(answer: str, name: str, **args: Any) -> Reply:
    """Return an answer that contains text and calls a tool."""
    return Reply(parts=({"text": answer}, {"functionCall": {"name": name, "args": args}}))


def with_thoughts(answer: str, *, thought: str = "Let me think.") -> Reply:
    """Return an answer that begins with a thought part and has a signature."""
    return Reply(parts=({"text": thought, "thought": True}, {"text": answer, "thoughtSignature": _SIGNATURE}))


def only_thoughts(thought: str = "Let me think.", *, finish: str = "STOP") -> Reply:
    """Return an answer of thoughts only."""
    return Reply(parts=({"text": thought, "thought": True},), finish=finish)


def in_parts(answer: str, parts: int = 2) -> Reply:
    """Return an answer cut into several text parts."""
    size = max(1, -(-len(answer) // parts))
    return Reply(parts=tuple({"text": answer[start : start + size]} for start in range(0, len(answer), size)))


def truncated(answer: str) -> Reply:
    """Return an answer that ended at the token limit; without words it has no content at all."""
    return finished_with("MAX_TOKENS", answer)


def finished_with(reason: str, answer: str = "") -> Reply:
    """Return a candidate that the model ended for a reason such as SAFETY, with the words before that."""
    return Reply(parts=({"text": answer},) if answer else None, finish=reason)


def no_candidate() -> Raw:
    """Return a well-formed answer without a candidate."""
    return Raw(json.dumps({"usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 7}, "modelVersion": "fake"}))


def invalid_key() -> Failure:
    """Return Google's answer to an unknown key."""
    return Failure(400, message="API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID")


def proxy_page(status: int = 200) -> Raw:
    """Return the error page of a proxy."""
    return Raw("<html><head><title>Sign in</title></head><body>Proxy</body></html>", status, "text/html")


def facts(*texts: str) -> str:
    """Return an extractor's answer with these facts."""
    return json.dumps({"memory": [{"id": str(at), "text": each} for at, each in enumerate(texts)]})
