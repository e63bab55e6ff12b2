"""A process that is killed in the middle of learning.

Started as a module, this is that process: it loads what it needs, waits for a line on standard input, and sweeps.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from gaia_memory.cli.demo.demo_settings import PATIENCE_SECONDS, demo_settings, neutral_environment
from gaia_memory.cli.engines import open_engine
from gaia_memory.threads import run_in_thread


class DoomedSweep:
    """A sweep in a process of its own, whose model never answers."""

    def __init__(self, process: asyncio.subprocess.Process, model: SilentModel) -> None:
        self._process = process
        self._model = model

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    async def kill_while_it_learns(self, statement: str) -> bool:
        """Start the sweep and kill -9 it once its model has been sent `statement`; return whether that happened."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(b"sweep\n")
            await self._process.stdin.drain()
            await self._wait_for_request(statement)
        if self._process.returncode is not None:
            return False
        self._process.kill()
        return await self._process.wait() == -signal.SIGKILL and self._model.was_sent(statement)

    async def _wait_for_request(self, statement: str) -> None:
        """Return when the model was sent the statement, or the process has ended."""
        waits = {
            asyncio.create_task(self._model.wait_until_sent(statement)),
            asyncio.create_task(self._process.wait()),
        }
        try:
            await asyncio.wait(waits, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()


class SilentModel:
    """A model server that reads every request and answers none."""

    def __init__(self) -> None:
        self._received = b""
        self._has_received = asyncio.Condition()

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one connection until its end."""
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            while chunk := await reader.read(65_536):
                async with self._has_received:
                    self._received += chunk
                    self._has_received.notify_all()

    def was_sent(self, text: str) -> bool:
        """Return True if a request contained the text."""
        return text.encode() in self._received

    async def wait_until_sent(self, text: str) -> None:
        """Return as soon as a request contains the text."""
        async with self._has_received:
            await self._has_received.wait_for(lambda: self.was_sent(text))


@contextlib.asynccontextmanager
async def start_doomed_sweep(folder: Path) -> AsyncIterator[DoomedSweep]:
    """Start the process, which loads while the demo goes on; it does not outlive the block."""
    model = SilentModel()
    server = await asyncio.start_server(model.receive, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        config = folder / "doomed.yaml"
        settings = yaml.safe_dump(demo_settings(folder, {"provider": "gemini"}))
        await run_in_thread(config.write_text, settings, encoding="utf-8")
        environ = {**neutral_environment(), "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}
        pipe, devnull = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command = (sys.executable, "-m", __name__, str(config))
        process = await asyncio.create_subprocess_exec(
            *command, env=environ, stdin=pipe, stdout=devnull, stderr=devnull
        )
        try:
            yield DoomedSweep(process, model)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _sweep_when_told(config: Path) -> None:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.adk.lazy_imports import load_adk

    async with open_engine(config) as engine:
        await load_adk()
        # The end of the input is the end of the demo.
        if await run_in_thread(sys.stdin.readline):
            await Gaia(engine, None).sweep(force=True)


if __name__ == "__main__":
    asyncio.run(_sweep_when_told(Path(sys.argv[1])))
