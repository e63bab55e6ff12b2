"""An Ollama server on the loopback interface: its own API for the `ollama` client, and its OpenAI-compatible one."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import Any

from support.servers.fake_openai import (
    Body,
    FakeOpenAI,
    HttpError,
    NoAnswer,
    RawBody,
    RecordedRequest,
    as_completion,
    kind_of,
    send,
)

CHAT_MODEL = "llama3.1:8b"
EMBEDDING_MODEL = "nomic-embed-text:latest"
DEFAULT_CONTEXT = 4096
"""Ollama's default context; it silently cuts a longer prompt."""

_CHARACTERS_A_TOKEN = 4


class FakeOllama(FakeOpenAI):
    """The server: `with FakeOllama() as server`, then name `server.address`.

    A model that was not pulled is missing; `pulled` lists the requested downloads. As in the real one, a prompt that
    does not fit the context loses its beginning.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.models = {CHAT_MODEL, EMBEDDING_MODEL}
        self.pulled: list[str] = []
        self.prompts_after_truncation: list[str] = []

    def respond(self, handler: BaseHTTPRequestHandler, body: Body) -> None:
        """Answer one request of either API."""
        if handler.path == "/api/tags":
            send(handler, {"models": [{"name": name, "model": name} for name in sorted(self.models)]})
        elif handler.path == "/api/pull":
            self.pulled.append(body["model"])
            send(handler, {"status": "success"})
        elif handler.path in {"/api/chat", "/api/embed"}:
            self._respond_ollama(handler, body)
        else:
            super().respond(handler, {**body, "model": _with_tag(body.get("model"))})

    def _respond_ollama(self, handler: BaseHTTPRequestHandler, body: Body) -> None:
        kind = kind_of(handler.path, body)
        self.requests.append(
            RecordedRequest(kind, handler.path, body, {name.lower(): value for name, value in handler.headers.items()})
        )
        if _with_tag(body["model"]) not in self.models:
            send(handler, {"error": f'model "{body["model"]}" not found, try pulling it first'}, 404)
            return
        answer = self.next_answer(kind, body)
        if isinstance(answer, HttpError):
            send(handler, {"error": answer.message}, answer.status)
        elif isinstance(answer, NoAnswer):
            self._end.wait(60)
            handler.close_connection = True
        elif isinstance(answer, RawBody):
            send(handler, answer.body)
        elif kind == "embedder":
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            vectors = [self.vector(text) for text in texts]
            send(handler, {"model": body["model"], "embeddings": vectors, "prompt_eval_count": 3})
        else:
            self._chat(handler, body, as_completion(answer).text, as_completion(answer).finish)

    def _chat(self, handler: BaseHTTPRequestHandler, body: Body, text: str, finish: str) -> None:
        max_characters = (body.get("options") or {}).get("num_ctx", DEFAULT_CONTEXT) * _CHARACTERS_A_TOKEN
        prompt = "\n".join(message["content"] for message in body["messages"])
        self.prompts_after_truncation.append(prompt[-max_characters:])
        message = {"role": "assistant", "content": text}
        counts = {"prompt_eval_count": 11, "eval_count": 6}
        send(handler, {"model": body["model"], "message": message, "done": True, "done_reason": finish, **counts})


def _with_tag(model: str | None) -> str | None:
    return model if model is None or ":" in model else f"{model}:latest"
