"""The surroundings of `gaia demo`: models, a clock, an environment, a search in files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import PrivateAttr

from gaia_memory.adk.models.offline_model import OfflineModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse


class RecordingModel(OfflineModel):
    """The offline model, which also records its system instructions."""

    _instructions: list[str] = PrivateAttr(default_factory=list)

    @property
    def last_instruction(self) -> str:
        """The system instruction of the last request."""
        return self._instructions[-1] if self._instructions else ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the offline model's answer."""
        self._instructions.append(str(llm_request.config.system_instruction or ""))
        async for response in super().generate_content_async(llm_request, stream):
            yield response


class ShiftedClock:
    """The time of the machine plus an offset."""

    def __init__(self) -> None:
        self._offset = timedelta()

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) + self._offset

    def advance(self, minutes: float) -> None:
        """Add minutes to the offset."""
        self._offset += timedelta(minutes=minutes)


def clean_environment(address: str | None = None) -> dict[str, str]:
    """Return this environment without the settings, keys and proxies of this machine, with Gemini at `address`."""
    variables = {name: value for name, value in os.environ.items() if not _is_machine_specific(name)}
    return variables if address is None else {**variables, "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": address}


def _is_machine_specific(variable: str) -> bool:
    """Return whether a variable would give the child another home, model or proxy."""
    return variable.upper().startswith(("GAIA_", "GOOGLE_", "GEMINI_")) or variable.upper().endswith("_PROXY")


def find_files_containing(home: Path, words: Sequence[str]) -> dict[str, list[str]]:
    """Return for each word the files under `home` that contain it, in any case."""
    found: dict[str, list[str]] = {word: [] for word in words}
    for path in sorted(home.rglob("*")):
        if path.is_file():
            content = path.read_bytes().lower()
            for word in words:
                if word.lower().encode() in content:
                    found[word].append(str(path.relative_to(home)))
    return found


@asynccontextmanager
async def hanging_model() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Serve a model on loopback that never answers; the event is set once it was asked."""
    was_asked, is_closing = asyncio.Event(), asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            was_asked.set()
            await is_closing.wait()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}", was_asked
    finally:
        is_closing.set()
        server.close()
