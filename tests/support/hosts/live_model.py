"""A live model over a connection in this process, and a person who types and speaks to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types
from pydantic import PrivateAttr

Said = tuple[Literal["type", "say"], str]


class LiveModel(BaseLlm):
    """Answers each text with `answer`: a text, or parts such as a call; None says nothing at all.

    `heard` has what was typed, spoken or returned by a tool, and `connects` the requests of the connections.
    """

    model: str = "live"
    _answer: Callable[[str], str | types.Part | None] = PrivateAttr()
    _heard: list[str] = PrivateAttr(default_factory=list)
    _connects: list[LlmRequest] = PrivateAttr(default_factory=list)

    def __init__(self, answer: Callable[[str], str | types.Part | None] = lambda _: "ok") -> None:
        super().__init__(model="live")
        self._answer = answer

    @property
    def heard(self) -> list[str]:
        return self._heard

    @property
    def connects(self) -> list[LlmRequest]:
        return self._connects

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.ModelContent("ok"))

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        self._connects.append(llm_request)
        yield _Connection(self)

    def responses(self, heard: str) -> list[LlmResponse]:
        self._heard.append(heard)
        answer = self._answer(heard)
        parts = [types.Part(text=answer) if isinstance(answer, str) else answer]
        content = types.Content(role="model", parts=parts)
        return [] if answer is None else [LlmResponse(content=content, partial=False), LlmResponse(turn_complete=True)]


class _Connection(BaseLlmConnection):
    def __init__(self, model: LiveModel) -> None:
        self._model = model
        self._responses: asyncio.Queue[LlmResponse | None] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        """Take the history, and answer nothing."""

    async def send_content(self, content: types.Content) -> None:
        [part] = content.parts or []
        returned = part.function_response
        for response in self._model.responses(str(returned.response) if returned else part.text or ""):
            self._responses.put_nowait(response)

    async def send_realtime(self, blob: Any) -> None:
        said = types.Transcription(text=blob.data.decode(), finished=True)
        for response in [LlmResponse(input_transcription=said, partial=False), *self._model.responses(said.text or "")]:
            self._responses.put_nowait(response)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        response = await self._responses.get()
        if response is not None:
            yield response

    async def close(self) -> None:
        self._responses.put_nowait(None)


async def talk_live(
    runner: Runner, said: Sequence[Said], *, user: str, session: str, ends: bool = True, **options: Any
) -> list[Event]:
    """Say or type each of these, each after the answer to the one before; without `ends`, be cut off then."""
    queue, events = LiveRequestQueue(), []
    options.setdefault("response_modalities", ["TEXT"])
    answered = asyncio.Event()

    async def run() -> None:
        config = RunConfig(**options)
        live = runner.run_live(user_id=user, session_id=session, live_request_queue=queue, run_config=config)
        async for event in live:
            events.append(event)
            if event.turn_complete:
                answered.set()

    running = asyncio.create_task(run())
    for how, text in said:
        answered.clear()
        if how == "say":
            queue.send_realtime(types.Blob(data=text.encode(), mime_type="audio/pcm"))
        else:
            queue.send_content(types.UserContent(text))
        wait = asyncio.wait_for(answered.wait(), 20.0 if ends or text != said[-1][1] else 1.0)
        await asyncio.gather(wait, return_exceptions=not ends)
    if ends:
        queue.close()
    else:
        running.cancel()
    await asyncio.gather(running, return_exceptions=not ends)
    return events
