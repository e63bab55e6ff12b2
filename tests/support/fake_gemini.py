"""A Gemini server on loopback that answers from scripts, for the real google-genai client.

It plays `generateContent`, `streamGenerateContent` (server-sent events), `embedContent` and
`batchEmbedContents` of the `v1beta` interface. Requests for text are told apart by what they hold: the
extractor's carries mem0's extraction prompt, the profile's a `<FACTS>` block, all others are the agent's.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from gaia_memory.testing import bag_of_words

Kind = Literal["agent", "extractor", "profile", "embedder"]
Body = dict[str, Any]

DEFAULT_DIMENSIONS = 3072
_PATH = re.compile(r"^/v1beta/(?P<model>models/[^:]+):(?P<method>\w+)")
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True)
class Reply:
    """A response of the model: its parts, and why it stopped."""

    parts: tuple[Body, ...]
    finish: str = "STOP"


@dataclass(frozen=True)
class Failure:
    """An HTTP error, with a `retry-after` header of so many seconds if there is one."""

    status: int
    retry_after: float | None = None
    message: str = "scripted failure"


@dataclass(frozen=True)
class Blocked:
    """The prompt is refused: no candidate, a block reason."""

    reason: str = "SAFETY"


@dataclass(frozen=True)
class Hang:
    """No answer until `FakeGemini.let_go()` or the end of the server; then the connection is closed."""


@dataclass(frozen=True)
class Drop:
    """The connection is closed without a byte, or in the middle of the stream."""


Answer = str | Reply | Failure | Blocked | Hang | Drop | Callable[[Body], "Answer"]


def text(answer: str, *, finish: str = "STOP") -> Reply:
    """Return an answer of one text part."""
    return Reply(parts=({"text": answer},), finish=finish)


def call(name: str, **args: Any) -> Reply:
    """Return the answer that calls a tool."""
    return Reply(parts=({"functionCall": {"name": name, "args": args}},))


def thinking(answer: str, *, thought: str = "Let me think.") -> Reply:
    """Return an answer that begins with a thought part."""
    return Reply(parts=({"text": thought, "thought": True}, {"text": answer}))


def split(answer: str, parts: int = 2) -> Reply:
    """Return an answer cut into several text parts."""
    size = max(1, -(-len(answer) // parts))
    return Reply(parts=tuple({"text": answer[start : start + size]} for start in range(0, len(answer), size)))


def cut(answer: str) -> Reply:
    """Return an answer that ended because there were no tokens left."""
    return text(answer, finish="MAX_TOKENS")


def facts(*texts: str) -> str:
    """Return the extractor's answer that holds these facts."""
    return json.dumps({"memory": [{"id": str(at), "text": each} for at, each in enumerate(texts)]})


@dataclass(frozen=True)
class Request:
    """A request as it came in."""

    kind: Kind
    method: str
    model: str
    body: Body
    headers: Mapping[str, str]

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
        default_factory=lambda: {"agent": deque(), "extractor": deque(), "profile": deque(), "embedder": deque()}
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


class FakeGemini:
    """The server: `with FakeGemini() as gemini`, then point the client at it with `gemini.environment`."""

    def __init__(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._scripts = _Scripts()
        self._gone = threading.Event()
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
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
        self._thread.join(5)

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

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                path = _PATH.match(self.path)
                if path is None:
                    _fail(self, Failure(404, message=f"no such path: {self.path}"))
                    return
                server._answer(self, path["model"], path["method"], body)

            def log_message(self, *args: object) -> None:
                """Stay silent: requests are kept."""

        return Handler

    def _answer(self, to: BaseHTTPRequestHandler, model: str, method: str, body: Body) -> None:
        kind = _kind(method, body)
        self.requests.append(Request(kind, method, model, body, dict(to.headers.items())))
        answer = self._scripts.next(kind, body)
        match answer:
            case Failure():
                _fail(to, answer)
            case Hang():
                self._gone.wait(60)
                to.close_connection = True
            case Drop():
                if method == "streamGenerateContent":
                    _stream(to, [_candidate([{"text": "half of"}], None)], whole=False)
                to.close_connection = True
            case _ if kind == "embedder":
                _send(to, _embeddings(method, body))
            case Blocked():
                _respond(to, method, [{"promptFeedback": {"blockReason": answer.reason}}])
            case str() | Reply():
                reply = text(answer) if isinstance(answer, str) else answer
                _respond(to, method, _pieces(reply) if method == "streamGenerateContent" else [_whole(reply)])


def _kind(method: str, body: Body) -> Kind:
    if method in {"embedContent", "batchEmbedContents"}:
        return "embedder"
    everything = _texts([body.get("systemInstruction") or {}, *body.get("contents", [])])
    if "Memory Extractor" in everything and "## New Messages" in everything:
        return "extractor"
    return "profile" if "<FACTS>" in everything and not body.get("tools") else "agent"


def _candidate(parts: list[Body], finish: str | None) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "fake"}


def _whole(reply: Reply) -> Body:
    return _candidate(list(reply.parts), reply.finish)


def _pieces(reply: Reply) -> list[Body]:
    parts = [
        {**part, "text": word}
        for part in reply.parts
        for word in (_WORDS.findall(part["text"]) if "text" in part else [None])
    ]
    plain = [{key: value for key, value in part.items() if value is not None} for part in parts]
    if not plain:
        return [_candidate([], reply.finish)]
    return [_candidate([part], reply.finish if part is plain[-1] else None) for part in plain]


def _embeddings(method: str, body: Body) -> Body:
    def vector(request: Body) -> Body:
        dimensions = request.get("outputDimensionality") or DEFAULT_DIMENSIONS
        return {"values": list(bag_of_words(_texts([request["content"]]), dimensions))}

    if method == "embedContent":
        return {"embedding": vector(body)}
    return {"embeddings": [vector(request) for request in body["requests"]]}


def _respond(to: BaseHTTPRequestHandler, method: str, pieces: list[Body]) -> None:
    if method == "streamGenerateContent":
        _stream(to, pieces, whole=True)
    else:
        _send(to, pieces[0])


def _send(to: BaseHTTPRequestHandler, body: Body, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
    payload = json.dumps(body).encode()
    to.send_response(status)
    to.send_header("Content-Type", "application/json")
    to.send_header("Content-Length", str(len(payload)))
    for name, value in (headers or {}).items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(payload)


def _stream(to: BaseHTTPRequestHandler, pieces: list[Body], *, whole: bool) -> None:
    to.send_response(200)
    to.send_header("Content-Type", "text/event-stream")
    to.send_header("Transfer-Encoding", "chunked")
    to.end_headers()
    for piece in pieces:
        line = f"data: {json.dumps(piece)}\r\n\r\n".encode()
        to.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        to.wfile.flush()
    if whole:
        to.wfile.write(b"0\r\n\r\n")


def _fail(to: BaseHTTPRequestHandler, failure: Failure) -> None:
    headers = {} if failure.retry_after is None else {"Retry-After": f"{failure.retry_after:g}"}
    error = {"code": failure.status, "message": failure.message, "status": "SCRIPTED"}
    _send(to, {"error": error}, failure.status, headers)
