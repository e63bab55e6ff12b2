"""A person's conversation on a channel: one message in, one reply out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]  # its public home
from google.genai import types

from gaia_memory.adk.plugins.error_boundary import Contained
from gaia_memory.adk.plugins.run_context import is_tool_here
from gaia_memory.adk.plugins.slash_commands import call_of
from gaia_memory.adk.reply_collector import Heard, Pieces
from gaia_memory.adk.sessions.event_mapping import PRIVATE_STAMP
from gaia_memory.commands.command import Reply, Reset
from gaia_memory.commands.dispatch import parse, run
from gaia_memory.commands.private import said_privately
from gaia_memory.database.id_encoding import storable
from gaia_memory.errors import GaiaMemoryError, InsideTurnError
from gaia_memory.log import logger_for
from gaia_memory.models import SessionKey
from gaia_memory.models.validation import refuse

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.runners import Runner

    from gaia_memory.engine import Engine

logger = logger_for(__name__)

__all__ = ["APOLOGY", "COMMAND_FAILED", "Conversation", "Reply"]

APOLOGY = "Sorry, I could not answer that just now. Please try again."
"""What a person reads when the model failed; it is neither kept in the session nor learned."""

COMMAND_FAILED = "Memory cannot do that right now. Please try again in a while."


class Conversation:
    """Takes the messages of one person on one channel, in order, one turn at a time.

    Any number of these may exist for one session: bursts and order are kept by the engine they share.
    """

    def __init__(self, runner: Runner, engine: Engine, key: SessionKey, *, admin: bool = False) -> None:
        """Talk through `runner` in the session `key`; an `admin` may switch memory off and on for everybody."""
        self._runner = runner
        self._engine = engine
        self._key = key
        self.admin = admin
        self._has_failed = False

    @property
    def key(self) -> SessionKey:
        """The conversation's app, user and session."""
        return self._key

    @property
    def has_failed(self) -> bool:
        """Whether the model gave no usable answer to the last message."""
        return self._has_failed

    async def send(self, text: str, *, private: bool = False) -> Reply:
        """Return the reply to one message.

        Messages that follow each other within `sessions.coalesce_seconds` make one turn: the last caller gets
        the reply, the others one with `merged` set. Slash commands are answered without the model and leave no
        trace in the session, but for `/private MESSAGE`, which sends a message as `private` does: nothing of its
        turn is learned. A model that fails, or says nothing at all, costs the answer, not the conversation: the reply
        is one short apology.

        Raises:
            InvalidInputError: `text` is no text.
            InsideTurnError: a tool of a turn in this conversation sent it.
            MemoryUnavailable: memory is closed.
        """
        await self._begin(text)
        command, text, private = _read(text, private=private)
        if command is not None:
            return await self._command(*command)
        if not text.strip():
            return Reply("")
        async with self._turn(text, private=private) as words:
            if words is None:
                return Reply("", merged=True)
            return Reply(await self._answer(words, private=private))

    async def stream(self, text: str, *, private: bool = False) -> AsyncGenerator[str, None]:
        """Yield the reply to one message in pieces, as the model makes them; nothing for a merged message."""
        await self._begin(text)
        command, text, private = _read(text, private=private)
        if command is not None:
            yield (await self._command(*command)).text
            return
        if not text.strip():
            return
        async with self._turn(text, private=private) as words:
            if words is None:
                return
            async with aclosing(self._pieces(words, private=private)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _begin(self, text: object) -> None:
        """Return only for a text from outside its turns, while memory is open, with the newest configuration in force.

        On closed memory ADK's Runner would go on and open it anew.
        """
        self._engine.database.require_open()
        if not isinstance(text, str):
            refuse("text", text, "pass what the person said")
        if is_tool_here(self._key):
            raise InsideTurnError(self._key.session)
        await self._engine.live.look()

    @asynccontextmanager
    async def _turn(self, text: str, *, private: bool) -> AsyncIterator[str | None]:
        """Hold the conversation for one turn over the burst's messages; None when a later one answers them."""
        bursts, seconds = self._engine.bursts, self._engine.config.sessions.coalesce_seconds
        words = await bursts.join(self._key, text, seconds=seconds, private=private)
        if words is None:
            yield None
            return
        line, lock = bursts.line(self._key), self._engine.locks.of(self._key)
        async with line, lock:
            yield words

    async def _answer(self, words: str, *, private: bool) -> str:
        heard = Heard()
        with Contained("the agent's turn", asks_model=True) as turn:
            async with aclosing(self._events(words, private=private, streaming=StreamingMode.NONE)) as events:
                async for event in events:
                    heard.hear(event)
        if not self._failed(turn.error, heard.failure):
            return heard.text
        return APOLOGY if heard.failure else f"{heard.text}\n{APOLOGY}"

    async def _pieces(self, words: str, *, private: bool) -> AsyncGenerator[str, None]:
        heard, pieces = Heard(), Pieces()
        with Contained("the agent's turn", asks_model=True) as turn:
            async with aclosing(self._events(words, private=private, streaming=StreamingMode.SSE)) as events:
                async for event in events:
                    heard.hear(event)
                    for piece in pieces.of(event):
                        yield piece
        if self._failed(turn.error, heard.failure):
            yield f"\n{APOLOGY}" if pieces.any else APOLOGY

    async def _events(self, words: str, *, private: bool, streaming: StreamingMode) -> AsyncGenerator[Event, None]:
        metadata = {PRIVATE_STAMP: True} if private else None
        run_config = RunConfig(streaming_mode=streaming, custom_metadata=metadata)
        message = types.Content(role="user", parts=[types.Part(text=storable(words))])
        turn = self._runner.run_async(
            user_id=self._key.user, session_id=self._key.session, new_message=message, run_config=run_config
        )
        async with aclosing(turn) as events:
            async for event in events:
                yield event

    def _failed(self, error: Exception | None, reason: str | None) -> bool:
        """Say whether the person must be told; with `memory.on_unavailable: fail` memory's own errors are raised."""
        self._has_failed = error is not None or reason is not None
        if error is None and reason is not None:
            logger.error("the agent's turn failed: the model ended it with %s", reason)
        ours = _memory_error_in(error)
        if ours is not None and self._engine.config.memory.on_unavailable == "fail":
            raise ours
        return self._has_failed

    async def _command(self, name: str, argument: str) -> Reply:
        bursts = self._engine.bursts
        self._has_failed = False
        # What was said before the command goes before it.
        await bursts.flush(self._key)
        line = bursts.line(self._key)
        async with line:
            with Contained(f"/{name}"):
                call = call_of(self._engine, self._key, argument, self._reset, is_admin=self.admin)
                return await run(name, call)
        return Reply(COMMAND_FAILED, command=name)

    async def _reset(self) -> Reset:
        outcome = await self._engine.consolidate(self._key)
        if outcome == "learned":
            return "kept" if self._engine.config.sessions.clear == "keep" else "cleared"
        return "failed" if outcome == "failed" else "busy"


def _read(text: str, *, private: bool) -> tuple[tuple[str, str] | None, str, bool]:
    """Return the command that a message is, else what it says and whether that is private."""
    command = parse(text)
    words = said_privately(*command) if command is not None else None
    return (command, text, private) if words is None else (None, words, True)


def _memory_error_in(error: BaseException | None) -> GaiaMemoryError | None:
    """Return memory's own error from the chain that ADK wrapped around it."""
    while error is not None and not isinstance(error, GaiaMemoryError):
        error = error.__cause__
    return error
