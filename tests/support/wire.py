"""A wire between processes and a server on this machine, which a test can cut, and which can lose a single answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

T = TypeVar("T")

Loss = Literal["question", "answer"]
_What = Literal["question", "answer", "silence"]

_SECONDS = 60.0


class Wire:
    """Passes bytes on between 127.0.0.1:`port` and a server, in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        """Lead to this server."""
        self._to = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._plan: _Plan | None = None
        self._hangs = False
        self.port = 0
        self.losses = 0
        """How often a question or an answer was lost."""

        self.silences = 0
        """How many questions were taken and let lie."""

    def __enter__(self) -> Self:
        self._thread.start()
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._run(_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def cut(self) -> None:
        """End every connection, and refuse new ones until it is mended."""
        self._run(self._cut())

    def mend(self) -> None:
        """Take connections again, at the same port."""
        self._run(self._listen())

    def hang(self, *, word: bytes = b"", after: bytes = b"") -> None:
        """Take connections and questions, and let nothing through any more, from a question on that holds `word`.

        With `after`, of a connection on which that was heard since.
        """
        self._plan = _Plan("silence", 1, word, after)

    def go_on(self) -> None:
        """End what hangs, and let everything through again."""
        self._plan = None
        self._hangs = False
        self._run(self._abort())

    def lose(self, what: Loss, *, at: int = 1, word: bytes = b"", after: bytes = b"") -> None:
        """Cut everything at the question number `at` from now on: before it arrives, or once it was answered there.

        Only questions count that hold `word`, of connections on which `after` was heard since.
        """
        self._plan = _Plan(what, at, word, after)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._abort()

    async def _abort(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()
        while self._open:
            await asyncio.sleep(0.001)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, server_writer}
        self._open |= ends
        line = _Line()
        try:
            passing = [
                asyncio.ensure_future(self._ask(reader, server_writer, line)),
                asyncio.ensure_future(self._answer(server_reader, writer, line)),
            ]
            _, late = await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            for task in late:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
        finally:
            for end in ends:
                end.transport.abort()
            self._open -= ends

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Line) -> None:
        while asked := await reader.read(65536):
            plan = self._plan
            if plan is not None and plan.is_met(asked, line):
                self._plan = None
                self._hangs = plan.what == "silence"
                if plan.what == "question":
                    self._lost()
                    return
                line.loses_answer = plan.what == "answer"
            if self._hangs:
                self.silences += 1
                continue
            writer.write(asked)
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Line) -> None:
        while answered := await reader.read(65536):
            if line.loses_answer:
                self._lost()
                return
            if self._hangs:
                continue
            writer.write(answered)
            await writer.drain()

    def _lost(self) -> None:
        self.losses += 1
        for writer in self._open:
            writer.transport.abort()


class _Line:
    """One connection: which plans it has heard the first word of, and whether it is to lose its next answer."""

    def __init__(self) -> None:
        self.heard: _Plan | None = None
        self.loses_answer = False


@dataclass(slots=True)
class _Plan:
    what: _What
    left: int
    word: bytes
    after: bytes

    def is_met(self, asked: bytes, line: _Line) -> bool:
        if self.after in asked:
            line.heard = self
        if line.heard is self and self.word in asked:
            self.left -= 1
        return self.left == 0


async def _rest() -> None:
    """Let what was cut end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
