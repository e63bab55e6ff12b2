"""A person's conversation on a channel: one message in, one reply out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]  # its public home
from google.genai import types

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.run_context import is_in_tool_of
from gaia_memory.adk.plugins.slash_commands import build_call
from gaia_memory.adk.reply_collector import ReplyCollector, StreamDeduplicator
from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from gaia_memory.commands.command import Reply, ResetOutcome
from gaia_memory.commands.dispatch import parse, run
from gaia_memory.commands.private import private_message
from gaia_memory.database.id_encoding import replace_unstorable
from gaia_memory.errors import GaiaMemoryError, InsideTurnError
from gaia_memory.log import logger_for
from gaia_memory.models import SessionKey
from gaia_memory.models.validation import raise_invalid

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
        await self._prepare(text)
        command, text, private = _parse_message(text, private=private)
        if command is not None:
            return await self._command(*command)
        if not text.strip():
            return Reply("")
        async with self._turn(text, private=private) as burst_text:
            if burst_text is None:
                return Reply("", merged=True)
            return Reply(await self._answer(burst_text, private=private))

    async def stream(self, text: str, *, private: bool = False) -> AsyncGenerator[str, None]:
        """Yield the reply to one message in pieces, as the model makes them; nothing for a merged message."""
        await self._prepare(text)
        command, text, private = _parse_message(text, private=private)
        if command is not None:
            yield (await self._command(*command)).text
            return
        if not text.strip():
            return
        async with self._turn(text, private=private) as burst_text:
            if burst_text is None:
                return
            async with aclosing(self._stream_answer(burst_text, private=private)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _prepare(self, text: object) -> None:
        """Return only for a text from outside its turns, while memory is open, with the newest configuration in force.

        On closed memory ADK's Runner would go on and open it anew.
        """
        self._engine.database.require_open()
        if not isinstance(text, str):
            raise_invalid("text", text, "pass what the person said")
        if is_in_tool_of(self._key):
            raise InsideTurnError(self._key.session)
        await self._engine.live.reload_if_changed()

    @asynccontextmanager
    async def _turn(self, text: str, *, private: bool) -> AsyncIterator[str | None]:
        """Hold the conversation for one turn over the burst's messages; None when a later one answers them."""
        debouncer, seconds = self._engine.debouncer, self._engine.config.sessions.coalesce_seconds
        burst_text = await debouncer.coalesce(self._key, text, quiet_seconds=seconds, private=private)
        if burst_text is None:
            yield None
            return
        turn_lock, session_lock = debouncer.turn_lock(self._key), self._engine.locks.for_session(self._key)
        async with turn_lock, session_lock:
            yield burst_text

    async def _answer(self, message_text: str, *, private: bool) -> str:
        collector = ReplyCollector()
        with ErrorBoundary("the agent's turn", asks_model=True) as boundary:
            async with aclosing(self._events(message_text, private=private, streaming=StreamingMode.NONE)) as events:
                async for event in events:
                    collector.add(event)
        if not self._record_outcome(boundary.error, collector.failure):
            return collector.text
        return APOLOGY if collector.failure else f"{collector.text}\n{APOLOGY}"

    async def _stream_answer(self, message_text: str, *, private: bool) -> AsyncGenerator[str, None]:
        collector, deduplicator = ReplyCollector(), StreamDeduplicator()
        with ErrorBoundary("the agent's turn", asks_model=True) as boundary:
            async with aclosing(self._events(message_text, private=private, streaming=StreamingMode.SSE)) as events:
                async for event in events:
                    collector.add(event)
                    for piece in deduplicator.new_text(event):
                        yield piece
        if self._record_outcome(boundary.error, collector.failure):
            yield f"\n{APOLOGY}" if deduplicator.has_yielded else APOLOGY

    async def _events(
        self, message_text: str, *, private: bool, streaming: StreamingMode
    ) -> AsyncGenerator[Event, None]:
        metadata = {PRIVATE_KEY: True} if private else None
        run_config = RunConfig(streaming_mode=streaming, custom_metadata=metadata)
        message = types.Content(role="user", parts=[types.Part(text=replace_unstorable(message_text))])
        turn = self._runner.run_async(
            user_id=self._key.user, session_id=self._key.session, new_message=message, run_config=run_config
        )
        async with aclosing(turn) as events:
            async for event in events:
                yield event

    def _record_outcome(self, error: Exception | None, reason: str | None) -> bool:
        """Say whether the person must be told; with `memory.on_unavailable: fail` memory's own errors are raised."""
        self._has_failed = error is not None or reason is not None
        if error is None and reason is not None:
            logger.error("the agent's turn failed: the model ended it with %s", reason)
        memory_error = _find_memory_error(error)
        if memory_error is not None and self._engine.config.memory.on_unavailable == "fail":
            raise memory_error
        return self._has_failed

    async def _command(self, name: str, argument: str) -> Reply:
        debouncer = self._engine.debouncer
        self._has_failed = False
        # What was said before the command goes before it.
        await debouncer.flush(self._key)
        turn_lock = debouncer.turn_lock(self._key)
        async with turn_lock:
            with ErrorBoundary(f"/{name}"):
                call = build_call(self._engine, self._key, argument, self._reset, is_admin=self.admin)
                return await run(name, call)
        return Reply(COMMAND_FAILED, command=name)

    async def _reset(self) -> ResetOutcome:
        outcome = await self._engine.consolidate(self._key)
        if outcome == "learned":
            return "kept" if self._engine.config.sessions.clear == "keep" else "cleared"
        return "failed" if outcome == "failed" else "busy"


def _parse_message(text: str, *, private: bool) -> tuple[tuple[str, str] | None, str, bool]:
    """Return the command that a message is, else what it says and whether that is private."""
    command = parse(text)
    private_text = private_message(*command) if command is not None else None
    return (command, text, private) if private_text is None else (None, private_text, True)


def _find_memory_error(error: BaseException | None) -> GaiaMemoryError | None:
    """Return memory's own error from the chain that ADK wrapped around it."""
    while error is not None and not isinstance(error, GaiaMemoryError):
        error = error.__cause__
    return error
