"""ADK's memory service, backed by the facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from gaia_memory.adk.memory_bank import read_custom_metadata, wants_consolidation
from gaia_memory.adk.plugins.invocation_state import current_run
from gaia_memory.adk.sessions.event_mapping import turns_of, zone_of
from gaia_memory.adk.tools.fact_framing import TOOL_TOKENS
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.engine_registry import ConfigSource, EngineSource
from gaia_memory.errors import (
    ConfigError,
    InvalidInputError,
    LeaseLostError,
    MemoryDisabledError,
    MemoryUnavailable,
    ModelError,
)
from gaia_memory.language.printable_text import estimate_tokens, replace_unstorable
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import Fact, Message, Metadata, NewFact, Receipt, SessionKey
from gaia_memory.models.masked_fact import mask_fact
from gaia_memory.profile.distil import mark_text
from gaia_memory.profile.fence import escape_for_prompt
from gaia_memory.recall.ranking.token_budget import fit_texts
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.sessions.learning_requests import LearningRequest, encode_request
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.sessions.session import Session

    from gaia_memory.engine import Engine

logger = logger_for(__name__)

METADATA_TOKENS = 100
"""The most that a fact's metadata may take in the answer to a search; longer metadata is left out."""

FALLBACK_SESSION_ID = "gaia:events"
"""The session of events if the caller of `add_events_to_memory` names none."""


@translate_os_errors
class Mem0MemoryService(BaseMemoryService):
    """Memory for any Runner: `Mem0MemoryService(uri="mem0://?config=gaia.yaml")`.

    The configuration is found at the first use: argument, URI, environment, defaults. The constructor does no I/O.
    ADK never closes a memory service, so this one never keeps the engine open.

    With `memory.enabled: false` searches and listings are empty, sessions and events are ignored, `add_memory` raises
    `MemoryDisabledError`, and deleting works.
    """

    def __init__(
        self,
        uri: str | None = None,
        *,
        agents_dir: str | None = None,
        config: ConfigSource | None = None,
        **_: Any,
    ) -> None:
        """Take the arguments of ADK's service registry; others, from later versions of ADK, are ignored."""
        self.source = EngineSource(_config_path_from_uri(uri, agents_dir) if config is None else config)
        self._warned_keys: set[str] = set()

    async def add_session_to_memory(self, session: Session) -> None:
        """Learn the unlearned messages of a session, which may be loaded in part and is never cleared.

        A session that the app's own session service has is read from there; of any other, the given events are learned.
        Adding a session again learns only what is new. In a callback or a tool of a Runner with `MemoryPlugin`, it is
        learned right after the turn. If the model fails, or while another turn runs in a session that this process can
        read itself, it is learned later.
        """
        with _spares_the_turn("add_session_to_memory"):
            await self._add_session(session)

    async def _add_session(self, session: Session) -> None:
        async with self.source.use_engine() as engine:
            if not engine.config.memory.enabled:
                return
            key = SessionKey(session.app_name, session.user_id, session.id)
            if await engine.can_read(key):
                if not _leave_to_end_of_turn(engine, key, LearningRequest()):
                    await engine.consolidate(key, clear=False)
                return
            try:
                await _learn(engine, key, session.events, zone=await zone_of(session))
            except (LeaseLostError, ModelError) as error:
                if engine.config.memory.on_unavailable == "fail":
                    raise
                error_name = type(error).__name__
                fields = log_fields("conversation.left", key, error=error_name)
                logger.warning(
                    "session %s is not learned: %s; add it again later", session.id, error_name, extra=fields
                )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Learn from some events of a session, each event once.

        `custom_metadata` becomes metadata of the learned facts; the keys of Vertex AI Memory Bank have their effect,
        such as `ttl`, or get a warning. In a callback or a tool of a Runner with `MemoryPlugin`, the events
        are learned right after the turn, and what this would raise is logged.

        Raises:
            TypeError: `events` is not a sequence of `Event`.
            InvalidInputError: a value of the metadata is malformed. This is a ValueError.
            ModelError: the model gave no usable answer; the events can be added again.
            LeaseLostError: the conversation is being learned, or a turn is running.
        """
        with _spares_the_turn("add_events_to_memory"):
            metadata = read_custom_metadata(custom_metadata, "add_events_to_memory", self._warned_keys)
            _require_all(events, Event, "events")
            async with self.source.use_engine() as engine:
                if engine.config.memory.enabled:
                    key = SessionKey(app_name, user_id, session_id or FALLBACK_SESSION_ID)
                    await _learn(engine, key, events, metadata=metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries word for word; an entry's own metadata override those of the call.

        The keys of Vertex AI Memory Bank have their effect, such as `ttl` and `enable_consolidation`, or get a warning.

        Raises:
            TypeError: `memories` is not a sequence of `MemoryEntry`.
            InvalidInputError: `memories` is empty, or an entry is blank, contains a file or has metadata that is not
                flat or malformed. This is a ValueError.
            MemoryDisabledError: memory is off.
        """
        _require_all(memories, MemoryEntry, "memories")
        if not memories:
            raise InvalidInputError("memories is empty: pass at least one MemoryEntry")
        facts = [_new_fact(entry, custom_metadata or {}, self._warned_keys) for entry in memories]
        reconcile = wants_consolidation(custom_metadata, [entry.custom_metadata for entry in memories])
        async with self.source.use_engine() as engine:
            await engine.memory.add(engine.scope(app_name, user_id), facts, reconcile=reconcile)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the facts that answer a question best; none for a blank one and while memory cannot answer.

        Sensitive facts are left out and, in a turn, those of contexts that are not active. ADK's own tools put the rest
        into a prompt unchanged, so text, author and category are escaped, and texts and metadata together
        have at most `memory.recall.tokens` tokens, by default 4,000. Metadata of more than 100 tokens is left out.

        Raises:
            ConfigError: the argument or the URI of this service names a file that does not exist, or
                `memory.on_unavailable` is `fail` and the configuration is invalid.
            MemoryUnavailable: `memory.on_unavailable` is `fail` and memory cannot answer.
        """
        must_answer = False
        try:
            must_answer = (await self.source.load_config()).config.memory.on_unavailable == "fail"
            async with self.source.use_engine() as engine:
                must_answer = engine.config.memory.on_unavailable == "fail"
                run, scope = current_run(), engine.scope(app_name, user_id)
                recalling = engine.memory.recall(scope, query, context=run.context_of(app_name, user_id))
                hits = await run.waits.run(recalling)
                facts = _mask(engine, [hit.fact for hit in hits])
                tokens = engine.config.memory.recall.tokens or TOOL_TOKENS
        except MemoryDisabledError:
            return SearchMemoryResponse()
        except (ConfigError, MemoryUnavailable) as error:
            if must_answer or await self.source.names_missing_file():
                raise
            if not error.is_logged:
                logger.warning("memory cannot answer, a search finds nothing: %s", error)
            return SearchMemoryResponse()
        facts = [_without_long_metadata(fact) for fact in facts]
        metadata_tokens = sum(_metadata_tokens(fact) for fact in facts)
        texts = fit_texts(
            [mark_text(fact, escape_for_prompt(fact.text)) for fact in facts], max(tokens - metadata_tokens, 0)
        )
        return SearchMemoryResponse(
            memories=[_to_prompt_entry(fact, text) for fact, text in zip(facts, texts, strict=False)]
        )

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget one fact for good; an unknown id, one of another user, or None changes nothing."""
        if memory_id:
            await self._forget(app_name, user_id, fact_id=memory_id)

    async def delete_session_memories(self, *, app_name: str, user_id: str, session_id: str) -> Receipt:
        """Forget the facts that were learned from this conversation alone."""
        return await self._forget(app_name, user_id, session_id=session_id)

    async def delete_user_memories(self, *, app_name: str, user_id: str) -> Receipt:
        """Forget everything about a user."""
        return await self._forget(app_name, user_id)

    async def list_memories(self, *, app_name: str, user_id: str) -> list[MemoryEntry]:
        """Return every fact about a user, oldest first."""
        async with self.source.use_engine() as engine:
            try:
                facts = await engine.memory.facts(engine.scope(app_name, user_id))
                return [_to_memory_entry(fact) for fact in await run_in_thread(_mask, engine, facts)]
            except MemoryDisabledError:
                return []

    async def _forget(
        self, app_name: str, user_id: str, *, fact_id: str | None = None, session_id: str | None = None
    ) -> Receipt:
        async with self.source.use_engine() as engine:
            scope = engine.scope(app_name, user_id)
            return await engine.memory.forget(scope, fact_id=fact_id, session_id=session_id)


def _config_path_from_uri(uri: str | None, agents_dir: str | None) -> Path | None:
    """Return the file that the URI names; None if it names none.

    Raises:
        InvalidInputError: it has another scheme or unknown parts, or names several files or an empty one. ADK shows a
            ValueError as a single line.
    """
    if not uri:
        return None
    parts = urlsplit(uri)
    query = parse_qs(parts.query, keep_blank_values=True)
    config_values = query.pop("config", [])
    place = "" if config_values else parts.netloc + parts.path
    # Ignored, a typo would silently open another memory. The URI is not shown, because it may contain a password.
    if parts.scheme != "mem0" or place or query or len(config_values) > 1 or config_values == [""]:
        raise InvalidInputError("the memory URI is not mem0:// with one file: write mem0://?config=gaia.yaml")
    if not config_values:
        return None
    path = Path(config_values[0]).expanduser()
    return path if path.is_absolute() else Path(agents_dir or ".") / path


async def join_run(own: Mem0MemoryService, run: InvocationContext) -> None:
    """Take the configuration of a run's `Mem0MemoryService`; become its service if the host chose none.

    ADK's servers give a Runner the service in memory if they are started without another.

    Raises:
        ConfigError, MemoryUnavailable: as `EngineSource.inherit_config` does.
    """
    host = run.memory_service
    if isinstance(host, Mem0MemoryService):
        await own.source.inherit_config(host.source)
    elif host is None or type(host) is InMemoryMemoryService:
        run.memory_service = own


async def _learn(
    engine: Engine,
    key: SessionKey,
    events: Sequence[Event],
    *,
    zone: tzinfo = UTC,
    metadata: Metadata | None = None,
) -> None:
    engine.read_details(metadata)
    turns = turns_of(events, turns_before=0, zone=zone)
    masked = tuple(
        replace(turn, messages=tuple(_mask_message(engine, each) for each in turn.messages)) for turn in turns
    )
    if not turns or _leave_to_end_of_turn(engine, key, LearningRequest(masked, dict(metadata or {}))):
        return
    row = await engine.conversations.ensure_row(key)
    await engine.learn(key, turns_of(events, turns_before=row.progress.learned_turns, zone=zone), metadata)


@contextmanager
def _spares_the_turn(method: str) -> Iterator[None]:
    """Log what this block raises in a turn of a Runner with memory, whose answer matters more."""
    try:
        yield
    except Exception as error:
        # A host's arguments may fail in any way.
        if not current_run().is_turn:
            raise
        logger.error("%s in a callback or tool did nothing, and the turn goes on: %s", method, error)


def _leave_to_end_of_turn(engine: Engine, key: SessionKey, request: LearningRequest) -> bool:
    """Have a request stored by the write that ends the turn of the calling code; False outside of a turn."""
    lease = current_run().lease
    if lease is None or not engine.turns.holds(lease) or key.app not in engine.readable_apps():
        return False
    lease.requests.append((key, encode_request(request)))
    return True


def _mask_message(engine: Engine, message: Message) -> Message:
    """Return a message as it may be stored outside of the session."""
    text = mask_credentials(message.text, allow_numbers=engine.config.memory.allow_numbers)
    return replace(message, text=replace_unstorable(text))


def _require_all(given: object, kind: type, name: str) -> None:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise TypeError(f"{name} is a {type(given).__name__}: pass a list of {kind.__name__}")
    for index, each in enumerate(given):
        if not isinstance(each, kind):
            raise TypeError(f"{name}[{index}] is a {type(each).__name__}: pass {kind.__name__} objects")


def _new_fact(entry: MemoryEntry, call_metadata: Mapping[str, object], warned_keys: set[str]) -> NewFact:
    parts = entry.content.parts or []
    if any(part.inline_data or part.file_data for part in parts):
        raise InvalidInputError(
            "a MemoryEntry contains a file, and memory keeps text only: put the text into content.parts"
        )
    text = "\n".join(part.text for part in parts if part.text).strip()
    if not text:
        raise InvalidInputError("a MemoryEntry has no text: put what to remember into content.parts")
    metadata = read_custom_metadata({**call_metadata, **entry.custom_metadata}, "add_memory", warned_keys)
    author = {} if entry.author is None else {"author": entry.author}
    return NewFact(text, said_at=_parse_timestamp(entry.timestamp), metadata={**author, **metadata})


def _parse_timestamp(timestamp: str | None) -> datetime | None:
    if not timestamp:
        return None
    try:
        said_at = datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise InvalidInputError(f"timestamp is {timestamp!r}: pass an ISO 8601 time") from error
    return said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC)


def _mask(engine: Engine, facts: Sequence[Fact]) -> list[Fact]:
    return [mask_fact(fact, allow_numbers=engine.config.memory.allow_numbers) for fact in facts]


def _to_memory_entry(fact: Fact) -> MemoryEntry:
    return MemoryEntry(
        id=fact.id,
        content=types.Content(role="user", parts=[types.Part(text=fact.text)]),
        author=str(fact.metadata.get("author", "user")),
        timestamp=(fact.said_at or fact.created_at).isoformat(),
        custom_metadata=_metadata(fact),
    )


def _metadata(fact: Fact) -> dict[str, Any]:
    """Return the metadata of a fact with its category, which a learned fact has beside them."""
    return dict(fact.metadata) if fact.category is None else {**fact.metadata, "category": fact.category}


def _metadata_tokens(fact: Fact) -> int:
    metadata = _metadata(fact)
    return estimate_tokens(json.dumps(metadata, ensure_ascii=False, default=str)) if metadata else 0


def _without_long_metadata(fact: Fact) -> Fact:
    """Drop metadata that would leave the texts no room: ADK's tools show it to the model in full."""
    return replace(fact, metadata={}, category=None) if _metadata_tokens(fact) > METADATA_TOKENS else fact


def _to_prompt_entry(fact: Fact, text: str) -> MemoryEntry:
    category = None if fact.category is None else escape_for_prompt(fact.category)
    entry = _to_memory_entry(replace(fact, text=text, category=category))
    author = None if entry.author is None else escape_for_prompt(entry.author)
    return entry.model_copy(update={"author": author})
