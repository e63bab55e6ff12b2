"""A Gemini server on loopback that answers from scripts, for the real google-genai client.

It serves `generateContent`, `streamGenerateContent` (server-sent events), `embedContent`, `batchEmbedContents` and
model look-ups of the `v1beta` interface; of Vertex AI's `v1beta1` interface the same and `predict`, for clients that
got their access token here. Requests for text are recognised by their content: the extractor's contains
mem0's extraction prompt, the profile's a `<FACTS>` block, all others are the agent's.
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
from pathlib import Path
from typing import Any, Literal, Self

from gaia_memory.testing import bag_of_words
from support.servers import vertex_ai
from support.servers.gemini_answers import (
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
    call,
    facts,
    finished_with,
    in_parts,
    invalid_key,
    no_candidate,
    only_thoughts,
    proxy_page,
    text,
    text_and_call,
    truncated,
    with_thoughts,
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
    "text_and_call",
    "call",
    "truncated",
    "facts",
    "no_candidate",
    "only_thoughts",
    "proxy_page",
    "in_parts",
    "finished_with",
    "text",
    "with_thoughts",
    "invalid_key",
]

NO_DECISIONS = '{"decisions": []}'
"""The answer of a model that lets new facts stand beside the old ones."""

Kind = Literal["agent", "extractor", "profile", "reconciler", "embedder", "models"]

DEFAULT_DIMENSIONS = 3072
_PATH = re.compile(r"^/v1beta/(?P<model>models/[^:?]+)(?::(?P<method>\w+))?")
_WORDS = re.compile(r"\S+\s*|\s+")
_USAGE = {
    "promptTokenCount": 7,
    "cachedContentTokenCount": 2,
    "candidatesTokenCount": 3,
    "thoughtsTokenCount": 4,
    "totalTokenCount": 14,
}


@dataclass(frozen=True)
class Request:
    """A received request; `at` is a time of `time.monotonic`."""

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
        """All text of the contents, one part per line."""
        return _texts(self.body.get("contents") or [])

    @property
    def tools(self) -> list[str]:
        """The names of the offered tools."""
        declared = [tool.get("functionDeclarations", []) for tool in self.body.get("tools", [])]
        return [declaration["name"] for group in declared for declaration in group]

    @property
    def texts(self) -> list[str]:
        """The texts to embed."""
        return _embedded_texts(self.body)


def _embedded_texts(body: Body) -> list[str]:
    if "instances" in body:
        return [each["content"] for each in body["instances"]]
    return [_texts([each["content"]]) for each in body.get("requests", [body])]


def _texts(contents: Iterable[Body]) -> str:
    return "\n".join(part["text"] for content in contents for part in content.get("parts", []) if "text" in part)


@dataclass
class _Scripts:
    queues: dict[Kind, deque[Answer]] = field(
        default_factory=lambda: {
            "agent": deque(),
            "extractor": deque(),
            "profile": deque(),
            "reconciler": deque(),
            "embedder": deque(),
            "models": deque(),
        }
    )
    defaults: dict[Kind, Answer] = field(
        default_factory=lambda: {"agent": "ok", "extractor": facts(), "profile": "", "reconciler": NO_DECISIONS}
    )
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
        """Log nothing: many tests make clients disconnect."""


class FakeGemini:
    """The server: `with FakeGemini() as gemini`, then point the client at it with `gemini.environment`."""

    def __init__(self, port: int = 0) -> None:
        """Listen on a port of the loopback interface, by default a free one."""
        self._scripts = _Scripts()
        self._released = threading.Event()
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving and release all waiting clients."""
        self.release_hanging()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that direct the real client to this server."""
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": "no-real-key"}

    def vertex_environment(self, folder: Path) -> dict[str, str]:
        """The variables of a project on Vertex AI served by this server; writes the credentials into `folder`."""
        return {
            **vertex_ai.write_credentials(folder, token_url=f"{self.url}{vertex_ai.TOKEN_PATH}"),
            "GOOGLE_VERTEX_BASE_URL": self.url,
        }

    def add(self, kind: Kind, *answers: Answer) -> None:
        """Append answers to a script."""
        self._scripts.queues[kind].extend(answers)

    def set_default(self, kind: Kind, answer: Answer) -> None:
        """Set the answer for an empty script."""
        self._scripts.defaults[kind] = answer

    def recover(self, kind: Kind, answer: Answer | None = None) -> None:
        """Clear a script; from then on give `answer`, or if it is None the default of a new server."""
        self._scripts.queues[kind].clear()
        self._scripts.defaults.pop(kind, None)
        if answer is None:
            answer = _Scripts().defaults.get(kind)
        if answer is not None:
            self._scripts.defaults[kind] = answer

    def release_hanging(self) -> None:
        """Close the connections of waiting clients."""
        self._released.set()

    def requests_of(self, kind: Kind) -> list[Request]:
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
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._do(json.loads(body or b"{}") if self.path != vertex_ai.TOKEN_PATH else {})

            def _do(self, body: Body) -> None:
                if self.path == vertex_ai.TOKEN_PATH:
                    _send_json(self, vertex_ai.TOKEN_ANSWER)
                    return
                vertex_path = vertex_ai.MODEL_PATH.match(self.path)
                if vertex_path and not vertex_ai.is_authorized(self.headers):
                    _fail(self, Failure(401, message="the request has neither a token of this server nor a key"))
                    return
                path = vertex_path or _PATH.match(self.path)
                if path is None:
                    _fail(self, Failure(404, message=f"no such path: {self.path}"))
                    return
                server._answer(self, path["model"], path["method"] or "get", body)

            def log_message(self, *args: object) -> None:
                """Log nothing: `requests` records them."""

        return Handler

    def _answer(self, handler: BaseHTTPRequestHandler, model: str, method: str, body: Body) -> None:
        kind = _kind(method, body)
        self.requests.append(Request(kind, method, model, body, dict(handler.headers.items())))
        answer = self._scripts.next(kind, body)
        streams = method == "streamGenerateContent"
        match answer:
            case Failure() if streams and answer.partial_text:
                _stream(handler, [_candidate([{"text": answer.partial_text}], None), answer.body])
            case Failure():
                _fail(handler, answer)
            case Raw():
                _send(handler, answer.body.encode(), answer.status, {"Content-Type": answer.content_type})
            case Hang():
                if streams and answer.partial_text:
                    _stream(handler, [_candidate([{"text": answer.partial_text}], None)], is_complete=False)
                self._released.wait(60)
                handler.close_connection = True
            case Drop():
                _drop(handler, answer, streams=streams)
            case _ if kind == "models":
                _send_json(handler, {"name": model, "displayName": "Fake", "inputTokenLimit": 1_000_000})
            case _ if kind == "embedder":
                _send_json(handler, _embeddings(method, body, answer if isinstance(answer, Vectors) else None))
            case Blocked():
                _respond(handler, method, [{"promptFeedback": {"blockReason": answer.reason}, "usageMetadata": _USAGE}])
            case Slow() if streams:
                _stream(handler, _stream_chunks(text(answer.words)), seconds_between=answer.seconds_per_word)
            case str() | Reply() | Slow():
                content = answer.words if isinstance(answer, Slow) else answer
                reply = text(content) if isinstance(content, str) else content
                _respond(handler, method, _stream_chunks(reply) if streams else [_candidate(reply.parts, reply.finish)])


def _kind(method: str, body: Body) -> Kind:
    if method == "get":
        return "models"
    if method in {"embedContent", "batchEmbedContents", "predict"}:
        return "embedder"
    everything = _texts([body.get("systemInstruction") or {}, *body.get("contents", [])])
    if "Memory Extractor" in everything and "## New Messages" in everything:
        return "extractor"
    if "<NEW_FACTS>" in everything:
        return "reconciler"
    return "profile" if "<FACTS>" in everything and not body.get("tools") else "agent"


def _candidate(parts: Iterable[Body] | None, finish: str | None) -> Body:
    candidate: Body = {"index": 0}
    if parts is not None:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish is None:
        return {"candidates": [candidate], "modelVersion": "fake"}
    return {"candidates": [{**candidate, "finishReason": finish}], "modelVersion": "fake", "usageMetadata": _USAGE}


def _stream_chunks(reply: Reply) -> list[Body]:
    parts = [
        {**part, "text": word}
        for part in reply.parts or ()
        for word in (_WORDS.findall(part["text"]) if "text" in part else [None])
    ]
    plain = [{key: value for key, value in part.items() if value is not None} for part in parts]
    if not plain:
        return [_candidate(None if reply.parts is None else (), reply.finish)]
    return [_candidate([part], reply.finish if part is plain[-1] else None) for part in plain]


def _embeddings(method: str, body: Body, replacement: Vectors | None) -> Body:
    vectors: Any = [list(bag_of_words(text, _dimensions(body))) for text in _embedded_texts(body)]
    if replacement is not None:
        vectors = replacement.change(vectors)
    if method == "predict":
        return {"predictions": [{"embeddings": {"values": vector}} for vector in vectors]}
    embeddings = [{"values": vector} for vector in vectors]
    if method == "embedContent":
        return {"embedding": embeddings[0]} if embeddings else {}
    return {"embeddings": embeddings}


def _dimensions(body: Body) -> int:
    request = body.get("requests", [body])[0]
    options = request.get("parameters") or request.get("embedContentConfig") or request
    return int(options.get("outputDimensionality") or DEFAULT_DIMENSIONS)


def _respond(handler: BaseHTTPRequestHandler, method: str, chunks: list[Body]) -> None:
    if method == "streamGenerateContent":
        _stream(handler, chunks)
    else:
        _send_json(handler, chunks[0])


def _send_json(
    handler: BaseHTTPRequestHandler, body: Body, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    _send(handler, json.dumps(body).encode(), status, {"Content-Type": "application/json", **(headers or {})})


def _send(
    handler: BaseHTTPRequestHandler, payload: bytes, status: int, headers: Mapping[str, str], *, missing: int = 0
) -> None:
    """Send a body whose announced length is `missing` bytes too large."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(payload) + missing))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(payload)


def _stream(
    handler: BaseHTTPRequestHandler, chunks: list[Body], *, is_complete: bool = True, seconds_between: float = 0.0
) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for piece in chunks:
        time.sleep(seconds_between)
        line = f"data: {json.dumps(piece)}\r\n\r\n".encode()
        handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        handler.wfile.flush()
    if is_complete:
        handler.wfile.write(b"0\r\n\r\n")


def _drop(handler: BaseHTTPRequestHandler, drop: Drop, *, streams: bool) -> None:
    if streams and drop.at != "headers":
        _stream(handler, [_candidate([{"text": drop.partial_text}], None)], is_complete=False)
    elif drop.at == "body":
        half = json.dumps(_candidate([{"text": drop.partial_text}], None)).encode()[:40]
        _send(handler, half, 200, {"Content-Type": "application/json"}, missing=1000)
    handler.close_connection = True


def _fail(handler: BaseHTTPRequestHandler, failure: Failure) -> None:
    has_retry_header = failure.retry_after is not None and failure.header
    _send_json(
        handler,
        failure.body,
        failure.status,
        {"Retry-After": f"{failure.retry_after:.12g}"} if has_retry_header else {},
    )
