"""A server on the loopback interface for OpenAI's API, with the quirks of servers that only resemble OpenAI.

It serves `/v1/chat/completions` (plain and as server-sent events) and `/v1/embeddings` for the real `openai` client.
Its parameters are the ways in which vLLM, LM Studio, llama.cpp and LocalAI differ from OpenAI and from each other.
Requests for text are recognised by their content: the extractor's contains the new messages, the profile's a
`<FACTS>` block, all others are the agent's.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from gaia_memory.testing import bag_of_words

Kind = Literal["agent", "extractor", "profile", "reconciler", "embedder", "other"]
Body = dict[str, Any]

CHAT_MODEL = "qwen2.5-7b-instruct"
EMBEDDING_MODEL = "nomic-embed-text-v1.5"
DIMENSIONS = 96
_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 5},
}
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True)
class Completion:
    """An answer: text or tool calls, and why it ended. With `is_endless`, a stream repeats the text for ever."""

    text: str = ""
    calls: tuple[tuple[str, Body], ...] = ()
    finish: str = "stop"
    is_endless: bool = False


@dataclass(frozen=True)
class HttpError:
    """An HTTP error."""

    status: int
    message: str = "scripted failure"


@dataclass(frozen=True)
class RawBody:
    """A body that is sent unchanged, with status 200."""

    body: Any


@dataclass(frozen=True)
class HtmlPage:
    """A web page with status 200, as from a proxy or a wrong address."""

    html: str = "<html>Welcome</html>"


@dataclass(frozen=True)
class NoAnswer:
    """No answer until the server stops; then the connection is closed."""


Answer = str | Completion | HttpError | RawBody | HtmlPage | NoAnswer | Callable[[Body], "Answer"]


def call(name: str, **arguments: Any) -> Completion:
    """Return an answer that calls a tool."""
    return Completion(calls=((name, arguments),), finish="tool_calls")


@dataclass(frozen=True)
class RecordedRequest:
    """A received request."""

    kind: Kind
    path: str
    body: Body
    headers: Mapping[str, str]

    @property
    def system(self) -> str:
        """The text of the system messages."""
        return _text_of(self.body, "system")

    @property
    def conversation_text(self) -> str:
        """The text of all other messages, one per line."""
        return _text_of(self.body, "user", "assistant", "tool")

    @property
    def tools(self) -> list[str]:
        """The names of the offered tools."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]


def _text_of(body: Body, *roles: str) -> str:
    messages = [each for each in body.get("messages") or [] if each["role"] in roles]
    return "\n".join(each.get("content") or "" for each in messages)


class FakeOpenAI:
    """The server: `with FakeOpenAI() as server`, then name `server.url`."""

    def __init__(
        self,
        *,
        key: str | None = None,
        json_mode: bool = True,
        json_schemas: bool = True,
        context_tokens: int | None = None,
        takes_dimensions: bool = True,
        dimensions: int = DIMENSIONS,
        strict_path: bool = True,
    ) -> None:
        """Listen on a free port.

        `key` is required if given. Without `json_mode`, `response_format: json_object` is refused (LM Studio), without
        `json_schemas` the type `json_schema`, without `takes_dimensions` the parameter `dimensions` (vLLM). A question
        longer than `context_tokens`, of four characters each, is refused in llama.cpp's words. Without `strict_path`,
        an unknown path is answered with status 200 and an error (LM Studio).
        """
        self.key = key
        self.json_mode = json_mode
        self.json_schemas = json_schemas
        self.context_tokens = context_tokens
        self.takes_dimensions = takes_dimensions
        self.dimensions = dimensions
        self.strict_path = strict_path
        self.models = {CHAT_MODEL, EMBEDDING_MODEL}
        self.requests: list[RecordedRequest] = []
        self.scripts: dict[Kind, deque[Answer]] = {}
        self.defaults: dict[Kind, Answer] = {"agent": "ok", "extractor": '{"memory": []}', "profile": "- nothing"}
        self.defaults["reconciler"] = '{"decisions": []}'
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving, and release all waiting clients."""
        self._end.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    @property
    def address(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"{self.address}/v1"

    def add(self, kind: Kind, *answers: Answer) -> None:
        """Append answers to a script."""
        self.scripts.setdefault(kind, deque()).extend(answers)

    def set_default(self, kind: Kind, answer: Answer) -> None:
        """Set the answer for an empty script."""
        self.defaults[kind] = answer

    def requests_of(self, kind: Kind) -> list[RecordedRequest]:
        """Return the requests of one kind, oldest first."""
        return [request for request in self.requests if request.kind == kind]

    def vector(self, text: str, dimensions: int | None = None) -> list[float]:
        """Return the vector of a text."""
        return list(bag_of_words(text, dimensions or self.dimensions))

    def respond(self, handler: BaseHTTPRequestHandler, body: Body) -> None:
        """Answer one request."""
        kind = kind_of(handler.path, body)
        self.requests.append(
            RecordedRequest(kind, handler.path, body, {name.lower(): value for name, value in handler.headers.items()})
        )
        if kind == "other":
            self.respond_not_found(handler)
            return
        rejection = self._rejection_of(handler, body)
        answer = rejection or self.next_answer(kind, body)
        if isinstance(answer, HttpError):
            send_error(handler, answer)
        elif isinstance(answer, RawBody):
            send(handler, answer.body)
        elif isinstance(answer, HtmlPage):
            send_bytes(handler, answer.html.encode(), content_type="text/html")
        elif isinstance(answer, NoAnswer):
            self._end.wait(60)
            handler.close_connection = True
        elif kind == "embedder":
            send(handler, self._embeddings_body(body))
        elif body.get("stream"):
            self._stream(handler, as_completion(answer))
        else:
            send(handler, _completion_body(as_completion(answer)))

    def _stream(self, handler: BaseHTTPRequestHandler, answer: Completion) -> None:
        deltas: list[Body] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": word} for word in _WORDS.findall(answer.text)]
        deltas += [{"tool_calls": [each]} for each in _tool_calls(answer)]
        choices: list[Body] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        head = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        for choice in choices:
            _send_event(handler, {**head, "choices": [choice]})
        with suppress(OSError):
            while answer.is_endless and not self._end.wait(0.02):
                _send_event(handler, {**head, "choices": [choices[-1]]})
        if answer.is_endless:
            handler.close_connection = True
            return
        _send_event(handler, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        _send_event(handler, {**head, "choices": [], "usage": _USAGE})
        _send_event(handler, "[DONE]")
        handler.wfile.write(b"0\r\n\r\n")

    def next_answer(self, kind: Kind, body: Body) -> Answer | None:
        """Return the next answer of a script."""
        with self._lock:
            script = self.scripts.get(kind)
            answer = script.popleft() if script else self.defaults.get(kind)
        while callable(answer):
            answer = answer(body)
        return answer

    def respond_not_found(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer an unknown path."""
        if self.strict_path:
            send_error(handler, HttpError(404, "Not Found"))
        else:
            send(handler, {"error": f"Unexpected endpoint or method. (POST {handler.path})"})

    def _rejection_of(self, handler: BaseHTTPRequestHandler, body: Body) -> HttpError | None:
        if self.key is not None and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return HttpError(401, "Incorrect API key provided")
        if body.get("model") not in self.models:
            return HttpError(404, f"The model `{body.get('model')}` does not exist.")
        tokens = len(_text_of(body, "system", "user")) // 4
        if self.context_tokens is not None and tokens > self.context_tokens:
            words = f"request ({tokens} tokens) exceeds the available context size ({self.context_tokens} tokens)"
            return HttpError(400, f"{words}, try increasing it")
        refused_formats = {"json_object": not self.json_mode, "json_schema": not self.json_schemas}
        if refused_formats.get((body.get("response_format") or {}).get("type", "")):
            return HttpError(400, "this 'response_format.type' is not supported")
        if body.get("dimensions") is not None and not self.takes_dimensions:
            return HttpError(400, f'Model "{body["model"]}" does not support matryoshka representation')
        return None

    def _embeddings_body(self, body: Body) -> Body:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = [self.vector(text, body.get("dimensions")) for text in texts]
        data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(vectors)]
        return {
            "object": "list",
            "model": body["model"],
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.respond(self, json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"))

            def do_GET(self) -> None:
                server.respond(self, {})

            def log_message(self, *args: object) -> None:
                """Log nothing: `requests` records them."""

        return Handler


def kind_of(path: str, body: Body) -> Kind:
    """Return which part of memory made the request."""
    if path in {"/v1/embeddings", "/api/embed"}:
        return "embedder"
    if path not in {"/v1/chat/completions", "/api/chat"}:
        return "other"
    prompt = _text_of(body, "system", "user", "assistant", "tool")
    if "Memory Extractor" in prompt and "## New Messages" in prompt:
        return "extractor"
    if "<NEW_FACTS>" in prompt:
        return "reconciler"
    return "profile" if "<FACTS>" in prompt and not body.get("tools") else "agent"


def as_completion(answer: Any) -> Completion:
    """Return an answer as an object."""
    return answer if isinstance(answer, Completion) else Completion(text=answer)


def send(handler: BaseHTTPRequestHandler, body: Any, status: int = 200) -> None:
    """Answer with JSON."""
    send_bytes(handler, json.dumps(body).encode(), status)


def send_bytes(
    handler: BaseHTTPRequestHandler, payload: bytes, status: int = 200, content_type: str = "application/json"
) -> None:
    """Answer with a complete body."""
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(payload)))
    handler.end_headers()
    handler.wfile.write(payload)


def send_error(handler: BaseHTTPRequestHandler, error: HttpError) -> None:
    """Answer with an error."""
    send(handler, {"error": {"message": error.message, "type": "scripted", "code": None}}, error.status)


def _tool_calls(answer: Completion) -> list[Body]:
    return [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for at, (name, arguments) in enumerate(answer.calls)
    ]


def _completion_body(answer: Completion) -> Body:
    message: Body = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _tool_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": answer.finish}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": _USAGE}


def _send_event(handler: BaseHTTPRequestHandler, event: Body | str) -> None:
    data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
    handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
