"""A Gemini server on loopback that answers from scripts, for the real google-genai client.

It plays `generateContent`, `streamGenerateContent` (server-sent events), `embedContent`, `batchEmbedContents`
and the look-up of a model of the `v1beta` interface. Requests for text are told apart by what they hold: the
extractor's carries mem0's extraction prompt, the profile's a `<FACTS>` block, all others are the agent's.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from gaia_memory.testing import bag_of_words
from support.gemini_answers import (
    Answer,
    Blocked,
    Body,
    Drop,
    Failure,
    Hang,
    Raw,
    Reply,
    Slow,
    Vectors,
    beside,
    call,
    cut,
    facts,
    nothing,
    only_thoughts,
    proxy_page,
    split,
    stopped,
    text,
    thinking,
    wrong_key,
)

__all__ = [
    "Answer",
    "Blocked",
    "Drop",
    "Failure",
    "FakeGemini",
    "Hang",
    "Raw",
    "Reply",
    "Request",
    "Slow",
    "Vectors",
    "beside",
    "call",
    "cut",
    "facts",
    "nothing",
    "only_thoughts",
    "proxy_page",
    "split",
    "stopped",
    "text",
    "thinking",
    "wrong_key",
]

Kind = Literal["agent", "extractor", "profile", "embedder", "models"]

DEFAULT_DIMENSIONS = 3072
_PATH = re.compile(r"^/v1beta/(?P<model>models/[^:?]+)(?::(?P<method>\w+))?")
_WORDS = re.compile(r"\S+\s*|\s+")
_USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}


@dataclass(frozen=True)
class Request:
    """A request as it came in, at a time of `time.monotonic`."""

    kind: Kind
    method: str
    model: str
    body: Body
    headers: Mapping[str, str]
    at: float = field(default_factory=time.monotonic)

    @property
    def system(self) -> str:
        """The text of the system instruction."""
        return _texts([self.body.get("systemInstruction") or {}])

    @property
    def contents(self) -> str:
        """All text of the contents, one part a line."""
        return _texts(self.body.get("contents") or [])

    @property
    def tools(self) -> list[str]:
        """The names of the tools offered."""
        declared = [tool.get("functionDeclarations", []) for tool in self.body.get("tools", [])]
        return [declaration["name"] for group in declared for declaration in group]

    @property
    def texts(self) -> list[str]:
        """The texts to embed."""
        return [_texts([each["content"]]) for each in self.body.get("requests", [self.body])]


def _texts(contents: Iterable[Body]) -> str:
    return "\n".join(part["text"] for content in contents for part in content.get("parts", []) if "text" in part)


@dataclass
class _Scripts:
    queues: dict[Kind, deque[Answer]] = field(
        default_factory=lambda: {
            "agent": deque(),
            "extractor": deque(),
            "profile": deque(),
            "embedder": deque(),
            "models": deque(),
        }
    )
    defaults: dict[Kind, Answer] = field(default_factory=lambda: {"agent": "ok", "extractor": facts(), "profile": ""})
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, kind: Kind, body: Body) -> Answer | None:
        with self.lock:
            queue = self.queues[kind]
            answer = queue.popleft() if queue else self.defaults.get(kind)
        while callable(answer):
            answer = answer(body)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: clients that give up are what many tests are about."""


class FakeGemini:
    """The server: `with FakeGemini() as gemini`, then point the client at it with `gemini.environment`."""

    def __init__(self, port: int = 0) -> None:
        """Listen on a port of the loopback interface, a free one unless it is named."""
        self._scripts = _Scripts()
        self._gone = threading.Event()
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving and let go of everybody who still waits."""
        self.let_go()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead the real client here."""
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": "no-real-key"}

    def add(self, kind: Kind, *answers: Answer) -> None:
        """Append answers to a script."""
        self._scripts.queues[kind].extend(answers)

    def default(self, kind: Kind, answer: Answer) -> None:
        """Set what is answered when the script is empty."""
        self._scripts.defaults[kind] = answer

    def recover(self, kind: Kind, answer: Answer | None = None) -> None:
        """Drop what a script still holds; from now on `answer` is given, or for None what a new server gives."""
        self._scripts.queues[kind].clear()
        self._scripts.defaults.pop(kind, None)
        if answer is None:
            answer = _Scripts().defaults.get(kind)
        if answer is not None:
            self._scripts.defaults[kind] = answer

    def let_go(self) -> None:
        """Close the connections of those who hang."""
        self._gone.set()

    def of(self, kind: Kind) -> list[Request]:
        """Return the requests of one kind, oldest first."""
        return [request for request in self.requests if request.kind == kind]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._do({})

            def do_POST(self) -> None:
                self._do(json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}"))

            def _do(self, body: Body) -> None:
                path = _PATH.match(self.path)
                if path is None:
                    _fail(self, Failure(404, message=f"no such path: {self.path}"))
                    return
                server._answer(self, path["model"], path["method"] or "get", body)

            def log_message(self, *args: object) -> None:
                """Stay silent: requests are kept."""

        return Handler

    def _answer(self, to: BaseHTTPRequestHandler, model: str, method: str, body: Body) -> None:
        kind = _kind(method, body)
        self.requests.append(Request(kind, method, model, body, dict(to.headers.items())))
        answer = self._scripts.next(kind, body)
        streams = method == "streamGenerateContent"
        match answer:
            case Failure() if streams and answer.after:
                _stream(to, [_candidate([{"text": answer.after}], None), answer.body])
            case Failure():
                _fail(to, answer)
            case Raw():
                _send(to, answer.body.encode(), answer.status, {"Content-Type": answer.content_type})
            case Hang():
                if streams and answer.after:
                    _stream(to, [_candidate([{"text": answer.after}], None)], whole=False)
                self._gone.wait(60)
                to.close_connection = True
            case Drop():
                _drop(to, answer, streams=streams)
            case _ if kind == "models":
                _send_json(to, {"name": model, "displayName": "Fake", "inputTokenLimit": 1_000_000})
            case _ if kind == "embedder":
                _send_json(to, _embeddings(method, body, answer if isinstance(answer, Vectors) else None))
            case Blocked():
                _respond(to, method, [{"promptFeedback": {"blockReason": answer.reason}, "usageMetadata": _USAGE}])
            case Slow() if streams:
                _stream(to, _pieces(text(answer.words)), each=answer.each)
            case str() | Reply() | Slow():
                said = answer.words if isinstance(answer, Slow) else answer
                reply = text(said) if isinstance(said, str) else said
                _respond(to, method, _pieces(reply) if streams else [_candidate(reply.parts, reply.finish)])


def _kind(method: str, body: Body) -> Kind:
    if method == "get":
        return "models"
    if method in {"embedContent", "batchEmbedContents"}:
        return "embedder"
    everything = _texts([body.get("systemInstruction") or {}, *body.get("contents", [])])
    if "Memory Extractor" in everything and "## New Messages" in everything:
        return "extractor"
    return "profile" if "<FACTS>" in everything and not body.get("tools") else "agent"


def _candidate(parts: Iterable[Body] | None, finish: str | None) -> Body:
    candidate: Body = {"index": 0}
    if parts is not None:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish is None:
        return {"candidates": [candidate], "modelVersion": "fake"}
    return {"candidates": [{**candidate, "finishReason": finish}], "modelVersion": "fake", "usageMetadata": _USAGE}


def _pieces(reply: Reply) -> list[Body]:
    parts = [
        {**part, "text": word}
        for part in reply.parts or ()
        for word in (_WORDS.findall(part["text"]) if "text" in part else [None])
    ]
    plain = [{key: value for key, value in part.items() if value is not None} for part in parts]
    if not plain:
        return [_candidate(None if reply.parts is None else (), reply.finish)]
    return [_candidate([part], reply.finish if part is plain[-1] else None) for part in plain]


def _embeddings(method: str, body: Body, changed: Vectors | None) -> Body:
    asked = body["requests"] if method == "batchEmbedContents" else [body]
    vectors: Any = [
        list(bag_of_words(_texts([each["content"]]), each.get("outputDimensionality") or DEFAULT_DIMENSIONS))
        for each in asked
    ]
    if changed is not None:
        vectors = changed.change(vectors)
    embeddings = [{"values": vector} for vector in vectors]
    if method == "embedContent":
        return {"embedding": embeddings[0]} if embeddings else {}
    return {"embeddings": embeddings}


def _respond(to: BaseHTTPRequestHandler, method: str, pieces: list[Body]) -> None:
    if method == "streamGenerateContent":
        _stream(to, pieces)
    else:
        _send_json(to, pieces[0])


def _send_json(
    to: BaseHTTPRequestHandler, body: Body, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    _send(to, json.dumps(body).encode(), status, {"Content-Type": "application/json", **(headers or {})})


def _send(
    to: BaseHTTPRequestHandler, payload: bytes, status: int, headers: Mapping[str, str], *, missing: int = 0
) -> None:
    """Send a body, announcing `missing` bytes more than come."""
    to.send_response(status)
    to.send_header("Content-Length", str(len(payload) + missing))
    for name, value in headers.items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(payload)


def _stream(to: BaseHTTPRequestHandler, pieces: list[Body], *, whole: bool = True, each: float = 0.0) -> None:
    to.send_response(200)
    to.send_header("Content-Type", "text/event-stream")
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    for piece in pieces:
        time.sleep(each)
        line = f"data: {json.dumps(piece)}\r\n\r\n".encode()
        to.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        to.wfile.flush()
    if whole:
        to.wfile.write(b"0\r\n\r\n")


def _drop(to: BaseHTTPRequestHandler, drop: Drop, *, streams: bool) -> None:
    if streams and drop.at != "headers":
        _stream(to, [_candidate([{"text": drop.after}], None)], whole=False)
    elif drop.at == "body":
        half = json.dumps(_candidate([{"text": drop.after}], None)).encode()[:40]
        _send(to, half, 200, {"Content-Type": "application/json"}, missing=1000)
    to.close_connection = True


def _fail(to: BaseHTTPRequestHandler, failure: Failure) -> None:
    named = failure.retry_after is not None and failure.header
    _send_json(to, failure.body, failure.status, {"Retry-After": f"{failure.retry_after:.12g}"} if named else {})
