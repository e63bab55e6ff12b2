"""An Ollama server on loopback: its own interface for the `ollama` client, and its OpenAI-compatible one."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import Any

from support.fake_openai import Asked, Body, FakeOpenAI, Odd, Refused, Silent, kind_of, said, send

CHAT_MODEL = "llama3.1:8b"
EMBEDDING_MODEL = "nomic-embed-text:latest"
DEFAULT_CONTEXT = 4096
"""Tokens a model is given where nobody asks for more; Ollama cuts a longer prompt without a word."""

_CHARACTERS_A_TOKEN = 4


class FakeOllama(FakeOpenAI):
    """The server: `with FakeOllama() as server`, then name `server.address`.

    A model that was not pulled is not there, and `pulled` lists what somebody tried to download. A prompt that does
    not fit the context is cut at its beginning, as the real one does it.
    """

    def __init__(self, **habits: Any) -> None:
        super().__init__(**habits)
        self.models = {CHAT_MODEL, EMBEDDING_MODEL}
        self.pulled: list[str] = []
        self.shown: list[str] = []

    def respond(self, to: BaseHTTPRequestHandler, body: Body) -> None:
        """Answer one request of either interface."""
        if to.path == "/api/tags":
            send(to, {"models": [{"name": name, "model": name} for name in sorted(self.models)]})
        elif to.path == "/api/pull":
            self.pulled.append(body["model"])
            send(to, {"status": "success"})
        elif to.path in {"/api/chat", "/api/embed"}:
            self._own(to, body)
        else:
            super().respond(to, {**body, "model": _tagged(body.get("model"))})

    def _own(self, to: BaseHTTPRequestHandler, body: Body) -> None:
        kind = kind_of(to.path, body)
        self.requests.append(Asked(kind, to.path, body, {name.lower(): value for name, value in to.headers.items()}))
        if _tagged(body["model"]) not in self.models:
            send(to, {"error": f'model "{body["model"]}" not found, try pulling it first'}, 404)
            return
        answer = self.scripted(kind, body)
        if isinstance(answer, Refused):
            send(to, {"error": answer.message}, answer.status)
        elif isinstance(answer, Silent):
            self._end.wait(60)
            to.close_connection = True
        elif isinstance(answer, Odd):
            send(to, answer.body)
        elif kind == "embedder":
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            send(to, {"model": body["model"], "embeddings": [self.vector(text) for text in texts]})
        else:
            self._chat(to, body, said(answer).text, said(answer).finish)

    def _chat(self, to: BaseHTTPRequestHandler, body: Body, text: str, finish: str) -> None:
        room = (body.get("options") or {}).get("num_ctx", DEFAULT_CONTEXT) * _CHARACTERS_A_TOKEN
        everything = "\n".join(message["content"] for message in body["messages"])
        self.shown.append(everything[-room:])
        message = {"role": "assistant", "content": text}
        send(to, {"model": body["model"], "message": message, "done": True, "done_reason": finish})


def _tagged(model: str | None) -> str | None:
    return model if model is None or ":" in model else f"{model}:latest"
