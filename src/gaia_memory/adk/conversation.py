"""The conversation of a user on a channel: one message in, one reply out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]  # its public home
from google.genai import types

from gaia_memory.adk.plugins.active_context import SessionContext
from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import current_run
from gaia_memory.adk.plugins.slash_commands import build_call
from gaia_memory.adk.sessions.event_mapping import CHANGES_KEY, PRIVATE_KEY
from gaia_memory.commands.command import Reply, ResetOutcome
from gaia_memory.commands.dispatch import parse, run
from gaia_memory.commands.private import private_message
from gaia_memory.database.bounded_waits import DatabaseWaits, unlimited_waits
from gaia_memory.database.id_encoding import replace_unstorable
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.errors import GaiaMemoryError, InsideTurnError
from gaia_memory.log import logger_for
from gaia_memory.models import LearnedFacts, SessionKey, ToolChange, ToolTurn
from gaia_memory.models.validation import raise_invalid

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.runners import Runner

    from gaia_memory.engine import Engine


logger = logger_for(__name__)

__all__ = ["Conversation", "Reply"]

APOLOGY = "Sorry, I could not answer that just now. Please try again."
"""The reply when the model fails; it is neither stored in the session nor learned."""

COMMAND_FAILED = "Memory is not available right now. Please try again later."
"""The reply when a slash command fails."""

_NO_CONTENT_CODE = "MODEL_RETURNED_NO_CONTENT"
"""ADK's error code for an answer without text; ADK sets it for whole answers, not for streamed ones."""


@translate_os_errors
class Conversation:
    """Answers the messages of one user on one channel, in order, one turn at a time.

    Several objects may exist for one session: they share the engine, which keeps the order and merges bursts.
    """

    def __init__(self, runner: Runner, engine: Engine, key: SessionKey, *, admin: bool = False) -> None:
        """Use `runner` for the session `key`; an `admin` may switch memory off and on for all users."""
        self._runner = runner
        self._engine = engine
        self._key = key
        self.admin = admin
        self._has_failed = False
        self._changes: list[ToolChange] = []

    @property
    def key(self) -> SessionKey:
        """The app, user and session of the conversation."""
        return self._key

    @property
    def has_failed(self) -> bool:
        """Whether the model failed to answer the last message."""
        return self._has_failed

    @property
    def changes(self) -> list[ToolChange]:
        """What tools remembered, changed and forgot in the last turn."""
        return self._changes

    async def is_private(self) -> bool:
        """Return whether the conversation is private: nothing said in it is learned until `/private off` or `/reset`.

        Raises:
            MemoryUnavailable: the database does not answer.
        """
        return await self._engine.conversations.is_private(self._key)

    async def send(self, text: str, *, private: bool = False) -> Reply:
        """Return the reply to one message.

        Messages within `sessions.coalesce_seconds` of each other form one turn: the last caller gets the reply, the
        others get one with `merged` set. Nothing of a `private` turn is learned. Slash commands are answered without
        the model and leave no trace in the session, except `/private MESSAGE`, which sends a private message. If the
        model fails or returns nothing, the reply is a short apology and the conversation continues.

        Raises:
            InvalidInputError: `text` is not a text.
            InsideTurnError: a tool of a turn in this conversation sent the message.
            MemoryUnavailable: memory is closed.
        """
        await self._prepare(text)
        command, text, private = self._parse(text, private=private)
        if command is not None:
            return await self._command(*command)
        if not text.strip():
            return Reply("")
        async with self._turn(text, private=private) as burst_text:
            if burst_text is None:
                return Reply("", merged=True)
            return Reply(await self._answer(burst_text, private=private), changes=self._changes)

    async def stream(self, text: str, *, private: bool = False) -> AsyncGenerator[str, None]:
        """Yield the reply in pieces as the model produces them; yield nothing for a merged message."""
        await self._prepare(text)
        command, text, private = self._parse(text, private=private)
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

    def _parse(self, text: str, *, private: bool) -> tuple[tuple[str, str] | None, str, bool]:
        """Split a message into a command (if it is one), its text and whether it is private."""
        has_open_question = self._engine.pending_confirmations.has_open_question(self._key)
        command = parse(text, has_open_question=has_open_question)
        private_text = private_message(*command) if command is not None else None
        return (command, text, private) if private_text is None else (None, private_text, True)

    async def _prepare(self, text: object) -> None:
        """Validate the message and reload a changed configuration.

        The check for closed memory comes first, because ADK's Runner would open it again.
        """
        self._engine.require_open()
        if not isinstance(text, str):
            raise_invalid("text", text, "pass the user's message as text")
        if current_run().is_in_tool_of(self._key):
            raise InsideTurnError(self._key.session)
        await self._engine.reload_config()

    @asynccontextmanager
    async def _turn(self, text: str, *, private: bool) -> AsyncIterator[str | None]:
        """Lock the conversation for one turn; yield the burst's text, or None if a later message answers it."""
        debouncer, seconds = self._engine.debouncer, self._engine.config.sessions.coalesce_seconds
        burst_text = await debouncer.coalesce(self._key, text, quiet_seconds=seconds, private=private)
        if burst_text is None:
            yield None
            return
        async with debouncer.turn(self._key):
            yield burst_text

    async def _answer(self, message_text: str, *, private: bool) -> str:
        collector = ReplyCollector()
        with ErrorBoundary("the agent's turn", asks_model=True) as boundary:
            async with aclosing(self._events(message_text, private=private, streaming=StreamingMode.NONE)) as events:
                async for event in events:
                    collector.add(event)
        await self._load_changes(collector)
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
        await self._load_changes(collector)
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

    async def _load_changes(self, collector: ReplyCollector) -> None:
        self._changes = []
        if collector.tool_turn is not None:
            with ErrorBoundary("reading what tools changed"):
                scope = self._engine.scope(self._key.app, self._key.user)
                reading = self._engine.memory.tool_changes(scope, ToolTurn(self._key, collector.tool_turn))
                self._changes = await DatabaseWaits().run(reading)

    def _record_outcome(self, error: Exception | None, reason: str | None) -> bool:
        """Return whether the turn failed; with `memory.on_unavailable: fail`, raise memory's own error."""
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
        # Earlier messages are answered before the command.
        await debouncer.flush(self._key)
        self._changes = []
        turn_lock = debouncer.turn_lock(self._key)
        async with turn_lock:
            with ErrorBoundary(f"/{name}"):
                learned = LearnedFacts()
                reset = partial(self._reset, learned)
                context = SessionContext(self._runner.session_service, self._key)
                call = build_call(
                    self._engine, self._key, argument, reset, learned=learned, context=context, is_admin=self.admin
                )
                return await DatabaseWaits().run(run(name, call))
        return Reply(COMMAND_FAILED, command=name)

    async def _reset(self, learned: LearnedFacts) -> ResetOutcome:
        with unlimited_waits():
            outcome = await self._engine.consolidate(self._key, resets=True, learned=learned)
        if outcome == "learned":
            return "cleared"
        return "failed" if outcome == "failed" else "busy"


def _find_memory_error(error: BaseException | None) -> GaiaMemoryError | None:
    """Return memory's own error from a chain of causes; None if there is none."""
    while error is not None and not isinstance(error, GaiaMemoryError):
        error = error.__cause__
    return error


def text_of(event: Event) -> str:
    """Return an agent's text in an event, without its thoughts; empty for events of the user."""
    if event.author == "user" or event.content is None:
        return ""
    return "".join(part.text for part in event.content.parts or [] if part.text and not part.thought)


class ReplyCollector:
    """Collects the text of a turn's events and decides whether it is an answer."""

    def __init__(self) -> None:
        self._answers: list[str] = []
        self._interim_texts: list[str] = []
        self._error_code: str | None = None
        self._has_visible_content = False
        self.tool_turn: str | None = None
        """The id of the invocation, once a tool may have changed facts in it."""

    def add(self, event: Event) -> None:
        """Add the next event."""
        if event.author == "user":
            return
        self._error_code = self._error_code or event.error_code
        if event.get_function_responses() or CHANGES_KEY in (event.custom_metadata or {}):
            self.tool_turn = event.invocation_id
        if event.partial:
            return
        is_final = event.is_final_response()
        self._has_visible_content = is_final and _has_non_text_part(event)
        visible_text = text_of(event).strip()
        if visible_text:
            (self._answers if is_final else self._interim_texts).append(visible_text)

    @property
    def text(self) -> str:
        """The final answers; without any, the text that came with tool calls."""
        return "\n".join(self._answers or self._interim_texts)

    @property
    def failure(self) -> str | None:
        """The reason why there is no answer; None if there is one, or none is needed."""
        if self._answers:
            return None
        if self._error_code not in (None, _NO_CONTENT_CODE):
            return self._error_code
        return None if self._interim_texts or self._has_visible_content else "no words"


def _has_non_text_part(event: Event) -> bool:
    """Return True if an event contains a file, a question to the user, or a tool's result that is the answer."""
    parts = (event.content.parts if event.content else None) or []
    return any(part.text is None for part in parts)


class StreamDeduplicator:
    """Turns a streamed turn into pieces of text, each part of an answer once.

    A model streams an answer in partial events and then sends it again as a whole.
    """

    def __init__(self) -> None:
        self.has_yielded = False
        self._streamed: dict[str, str] = {}

    def new_text(self, event: Event) -> Iterator[str]:
        """Yield the text of an event that was not yielded before."""
        text = text_of(event)
        if not text:
            return
        streamed = self._streamed.get(event.author, "")
        if event.partial:
            self._streamed[event.author] = streamed + text
            yield from self._emit(text, is_start=not streamed)
            return
        self._streamed.pop(event.author, None)
        if not streamed:
            yield from self._emit(text, is_start=True)
        elif text.startswith(streamed):
            yield from self._emit(text[len(streamed) :], is_start=False)

    def _emit(self, text: str, *, is_start: bool) -> Iterator[str]:
        if not text:
            return
        if is_start and self.has_yielded:
            yield "\n"
        self.has_yielded = True
        yield text
