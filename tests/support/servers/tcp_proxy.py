"""A connection between processes and a local server that a test can cut, and that can lose a single response."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

T = TypeVar("T")

LossPoint = Literal["question", "answer"]
_FaultKind = Literal["question", "answer", "silence"]

_TIMEOUT_SECONDS = 60.0


class TcpProxy:
    """Forwards bytes between 127.0.0.1:`port` and a server, in its own thread."""

    def __init__(self, host: str, port: int) -> None:
        """Forward to this server."""
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._fault: _Fault | None = None
        self._is_stalled = False
        self.port = 0
        self.loss_count = 0
        """The number of lost requests and responses."""

        self.stalled_count = 0
        """The number of accepted requests that were not forwarded."""

    def __enter__(self) -> Self:
        self._thread.start()
        self.reconnect()
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
        self._run(_cancel_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_TIMEOUT_SECONDS)
        self._loop.close()

    def disconnect(self) -> None:
        """Close every connection, and refuse new ones until `reconnect`."""
        self._run(self._disconnect())

    def reconnect(self) -> None:
        """Accept connections again, at the same port."""
        self._run(self._listen())

    def stall(self, *, pattern: bytes = b"", armed_by: bytes = b"") -> None:
        """Accept connections and requests, but forward nothing from the first request on that contains `pattern`.

        With `armed_by`, only requests on a connection that has sent those bytes since this call count.
        """
        self._fault = _Fault("silence", 1, pattern, armed_by)

    def resume(self) -> None:
        """Close stalled connections, and forward everything again."""
        self._fault = None
        self._is_stalled = False
        self._run(self._abort())

    def drop_at(
        self, loss_point: LossPoint, *, request_number: int = 1, pattern: bytes = b"", armed_by: bytes = b""
    ) -> None:
        """Cut all connections at request number `request_number`, counted from now.

        Before it is forwarded, or after the server has answered it.

        Only requests that contain `pattern` count, on connections that have sent `armed_by` since this call.
        """
        self._fault = _Fault(loss_point, request_number, pattern, armed_by)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._on_connection, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _disconnect(self) -> None:
        if self._server is not None:
            # A connection that is being accepted when its server closes is never closed itself (python/cpython#109564).
            for listener in self._server.sockets:
                self._loop.remove_reader(listener.fileno())
            await _finish_accepting()
            self._server.close()
            self._server = None
        await self._abort()

    async def _abort(self) -> None:
        await _finish_accepting()
        for writer in list(self._writers):
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0.001)

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._writers.add(writer)
        line = _Connection()
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
            ends.add(server_writer)
            self._writers.add(server_writer)
            passing = [
                asyncio.ensure_future(self._forward_requests(reader, server_writer, line)),
                asyncio.ensure_future(self._forward_responses(server_reader, writer, line)),
            ]
            _, late = await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            for task in late:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
        except OSError:
            return
        finally:
            for end in ends:
                end.transport.abort()
            self._writers -= ends

    async def _forward_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Connection
    ) -> None:
        while asked := await reader.read(65536):
            plan = self._fault
            if plan is not None and plan.is_triggered(asked, line):
                self._fault = None
                self._is_stalled = plan.kind == "silence"
                if plan.kind == "question":
                    self._drop_connections()
                    return
                line.drops_response = plan.kind == "answer"
            if self._is_stalled:
                self.stalled_count += 1
                continue
            writer.write(asked)
            await writer.drain()

    async def _forward_responses(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Connection
    ) -> None:
        while answered := await reader.read(65536):
            if line.drops_response:
                self._drop_connections()
                return
            if self._is_stalled:
                continue
            writer.write(answered)
            await writer.drain()

    def _drop_connections(self) -> None:
        self.loss_count += 1
        for writer in self._writers:
            writer.transport.abort()


class _Connection:
    """One connection: the fault that it armed, and whether to drop its next response."""

    def __init__(self) -> None:
        self.armed_fault: _Fault | None = None
        self.drops_response = False


@dataclass(slots=True)
class _Fault:
    kind: _FaultKind
    remaining: int
    pattern: bytes
    armed_by: bytes

    def is_triggered(self, asked: bytes, line: _Connection) -> bool:
        if self.armed_by in asked:
            line.armed_fault = self
        if line.armed_fault is self and self.pattern in asked:
            self.remaining -= 1
        return self.remaining == 0


async def _finish_accepting() -> None:
    """Let what was accepted reach its handler, which takes a few rounds of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _cancel_tasks() -> None:
    """Cancel the tasks of the cut connections and wait for them."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
