"""mem0's asynchronous calls, with its signatures and the form of its answers, over the facts of memory."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from gaia_memory.backend.mem0_store.payload import WRITER_KEY, build_payload
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import EventPosition, Fact, Message, NewFact, Scope, SessionKey, Turn
from gaia_memory.models.validation import raise_invalid

if TYPE_CHECKING:
    from gaia_memory.engine import Engine

Item = dict[str, Any]

DEFAULT_RUN = "mem0"
"""The conversation of what is added without a `run_id`."""

_UNSET: Any = object()
_OWNER_FIX = "pass user_id: each fact belongs to one person"
_IDS = ("user_id", "agent_id", "run_id")
_OUR_NAMES = {"agent_id": "agent", "run_id": "session_id"}
_DAY = timedelta(days=1)
MAX_RESULTS = 1_000


class AsyncMem0:
    """The calls of mem0's `AsyncMemory`.

    A `user_id` is a person of the configured app. `agent_id` is the label `agent` of a fact, and `run_id` its
    conversation. What mem0 can and this cannot raises `InvalidInputError`, a `ValueError`, that names the call.
    """

    def __init__(self, engine: Engine) -> None:
        """Read and write the facts of an open engine."""
        self._engine = engine
        self._memory = engine.memory

    async def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[Item]]:
        """Learn from messages as from a conversation or, without `infer`, store each one word for word.

        Raises:
            InvalidInputError: there is no `user_id`, an argument is malformed, or one that this cannot honour is given.
            ModelError: the model gave no usable answer; nothing was stored.
        """
        _refuse("add", timestamp=timestamp, memory_type=memory_type, prompt=prompt)
        scope = self._scope("add", user_id)
        details: dict[str, Any] = {"metadata": dict(metadata or {}), "valid_until": _end_of_day(expiration_date)}
        talk = _read_messages(messages)
        if infer:
            return {"results": await self._learn(scope, talk, agent_id, run_id, details)}
        facts = [NewFact(text, agent=agent_id, session_id=run_id, **details) for _, text, _ in talk]
        added = await self._memory.add(scope, facts)
        return {
            "results": [
                {**_change(fact, "ADD" if is_new else "NONE"), "actor_id": actor, "role": role}
                for fact, is_new, (role, _, actor) in zip(added.facts, added.is_new, talk, strict=True)
            ]
        }

    async def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **ids: Any,
    ) -> dict[str, list[Item]]:
        """Return the facts that answer a question best, each with its score; takes mem0 1.0's ids and `limit`, too.

        The reranker is that of the configuration, so `rerank` changes nothing.
        """
        _refuse("search", explain=explain, reference_date=reference_date, show_expired=show_expired)
        limit = min(ids.pop("limit", top_k), MAX_RESULTS)
        scope, rest = self._read_filters("search", filters, ids)
        if not str(query).strip():
            raise_invalid("query", query, "pass a question")
        found = await self._memory.recall(scope, query, limit=limit, filters=rest or None)
        return {"results": [{**_item(hit.fact), "score": hit.score} for hit in found if hit.score >= threshold]}

    async def get(self, memory_id: str) -> Item | None:
        """Return a current fact of whomever, None for an unknown id."""
        scope = await self._memory.owner(memory_id)
        found = {} if scope is None else await self._memory.get(scope, [memory_id])
        return _item(found[memory_id]) if memory_id in found else None

    async def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **ids: Any,
    ) -> dict[str, list[Item]]:
        """Return a person's current facts, oldest first; takes mem0 1.0's ids and `limit`, too."""
        _refuse("get_all", show_expired=show_expired)
        limit = ids.pop("limit", top_k)
        scope, rest = self._read_filters("get_all", filters, ids)
        facts: list[Fact] = []
        while len(facts) < limit:
            page = await self._memory.browse(scope, filters=rest or None, offset=len(facts), limit=min(100, limit))
            facts += page.facts
            if not page.facts or len(facts) >= page.total:
                break
        return {"results": [_item(fact) for fact in facts[:limit]]}

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Correct a fact, whose earlier wording goes to history.

        Raises:
            InvalidInputError: the id is unknown, or nothing is to be changed.
        """
        changes: dict[str, Any] = {}
        if expiration_date is not _UNSET:
            changes["valid_until"] = _end_of_day(expiration_date)
        scope = await self._require_owner(memory_id)
        wording = data if text is None else text
        await self._memory.update(scope, memory_id, text=wording, metadata=metadata, **changes)
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a fact for good, also in the files.

        Raises:
            InvalidInputError: the id is unknown.
        """
        await self._memory.forget(await self._require_owner(memory_id), fact_id=memory_id)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget a person for good or, with another id as well, the facts with that id.

        Raises:
            InvalidInputError: there is no `user_id`.
        """
        scope = self._scope("delete_all", user_id)
        if agent_id is None and run_id is None:
            await self._memory.forget(scope)
        for fact in await self._memory.facts(scope):
            if (agent_id is None or fact.agent == agent_id) and (run_id is None or fact.session_id == run_id):
                await self._memory.forget(scope, fact_id=fact.id)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[Item]:
        """Return what a fact said and replaced, oldest first, and its end if it has ended; [] for an unknown id."""
        scope = await self._memory.owner(memory_id)
        if scope is None:
            return []
        periods = await self._memory.history(scope, memory_id)
        known = (await self._memory.get(scope, [memory_id])).get(memory_id)
        rows: list[Item] = []
        earlier = None
        for period in periods:
            event = "UPDATE" if rows else "ADD"
            began = period.first_said_at or (None if known is None else known.created_at)
            rows.append(_history_row(memory_id, earlier, period.text, event, began))
            earlier = period.text
        if periods and periods[-1].ended_at is not None:
            rows.append(_history_row(memory_id, earlier, None, "DELETE", periods[-1].ended_at))
        return rows

    async def reset(self) -> NoReturn:
        """Refuse: mem0 would empty the whole store.

        Raises:
            InvalidInputError: always.
        """
        raise InvalidInputError("mem0.reset would forget everybody: call delete_all for each user_id")

    async def _learn(
        self,
        scope: Scope,
        talk: Sequence[tuple[str, str, str | None]],
        agent_id: str | None,
        run_id: str | None,
        details: Mapping[str, Any],
    ) -> list[Item]:
        if details["valid_until"] is not None:
            raise InvalidInputError("mem0.add takes an expiration_date with infer=False only: a model finds many facts")
        app, began = scope.app or self._engine.config.app, self._memory.clock.now()
        key = SessionKey(app, scope.user, run_id or DEFAULT_RUN)
        row = await self._engine.conversations.ensure_row(key)
        turns = _build_turns(talk, agent_id or app, began, turns_before=row.progress.learned_turns)
        await self._engine.learn(key, turns, details["metadata"])
        facts = await self._memory.facts(scope)
        return [_change(fact, "ADD") for fact in facts if fact.session_id == key.session and fact.created_at >= began]

    def _scope(self, call: str, user_id: object) -> Scope:
        if user_id is None:
            raise InvalidInputError(f"mem0.{call} has no user_id: {_OWNER_FIX}")
        return self._engine.scope(self._engine.config.app, str(user_id))

    def _read_filters(
        self, call: str, filters: Mapping[str, Any] | None, ids: Mapping[str, Any]
    ) -> tuple[Scope, dict[str, Any]]:
        """Return whose facts are meant, and the filters in our names."""
        if unknown := sorted(ids.keys() - set(_IDS)):
            raise InvalidInputError(f"mem0.{call} takes no {unknown[0]!r}")
        rest = {**(filters or {}), **{name: value for name, value in ids.items() if value is not None}}
        scope = self._scope(call, rest.pop("user_id", None))
        return scope, {
            {"agent_id": "agent", "run_id": "session_id"}.get(name, name): each for name, each in rest.items()
        }

    async def _require_owner(self, memory_id: str) -> Scope:
        scope = await self._memory.owner(memory_id)
        if scope is None:
            raise InvalidInputError(f"Memory with id {memory_id} not found")
        return scope


def _refuse(call: str, **arguments: Any) -> None:
    given = [name for name, value in arguments.items() if value]
    if given:
        raise InvalidInputError(f"mem0.{call} cannot take {given[0]} here: leave it out")


def _read_messages(messages: object) -> list[tuple[str, str, str | None]]:
    """Return role, text and name of each message but the system's."""
    listed: Any = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(listed, Sequence):
        raise_invalid("messages", messages, "pass a text, a message or a list of messages")
    read = []
    for each in listed:
        message = {"role": "user", "content": each} if isinstance(each, str) else each
        if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
            raise_invalid("messages", each, 'pass messages such as {"role": "user", "content": "…"}')
        if message.get("role", "user") != "system":
            read.append((str(message.get("role", "user")), message["content"], message.get("name")))
    return read


def _build_turns(
    talk: Sequence[tuple[str, str, str | None]], agent: str, now: datetime, *, turns_before: int
) -> list[Turn]:
    """Return messages of this moment as turns, each of which begins with a message of the person."""
    groups: list[list[Message]] = []
    for number, (role, text, _) in enumerate(talk):
        is_person = role == "user"
        message = Message(
            role="user" if is_person else "assistant",
            text=text,
            said_at=now + timedelta(microseconds=number),
            event_id=str(uuid.uuid4()),
            speaker="user" if is_person else agent,
        )
        if is_person or not groups:
            groups.append([])
        groups[-1].append(message)
    return [
        Turn(seq=seq, messages=tuple(group), end=EventPosition(group[-1].said_at.timestamp(), group[-1].event_id))
        for seq, group in enumerate(groups, turns_before + 1)
    ]


def _end_of_day(day: object) -> datetime | None:
    """Return the moment at which mem0 hides a fact: the end of the day `YYYY-MM-DD` in UTC."""
    if day is None:
        return None
    try:
        parsed = day if isinstance(day, date) else date.fromisoformat(str(day))
    except ValueError:
        raise_invalid("expiration_date", day, "pass a day such as 2026-12-31, or None")
    return datetime.combine(parsed, time(), UTC) + _DAY


def _item(fact: Fact) -> Item:
    """Return a fact as mem0 answers with it."""
    payload = build_payload(fact, with_search_text=False)
    own = {"data": "memory", "hash": "hash", "created_at": "created_at", "updated_at": "updated_at"}
    item: Item = {"id": fact.id, **{name: payload.pop(key) for key, name in own.items()}}
    item["user_id"] = fact.scope.user
    ids = {"agent_id": payload.pop("agent", None), "run_id": payload.pop("session_id", None)}
    item |= {name: value for name, value in ids.items() if value is not None}
    payload.pop("user_id")
    payload.pop(WRITER_KEY)
    if (last_day := payload.pop("expiration_date", None)) is not None:
        item["expiration_date"] = last_day
    return item | {"metadata": payload, "score": None}


def _change(fact: Fact, event: str) -> Item:
    return {"id": fact.id, "memory": fact.text, "event": event}


def _history_row(memory_id: str, old: str | None, new: str | None, event: str, at: datetime | None) -> Item:
    moment = None if at is None else at.astimezone(UTC).isoformat()
    name = f"{memory_id} {event} {moment} {new}"
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": moment,
        "updated_at": moment,
        "is_deleted": event == "DELETE",
        "actor_id": None,
        "role": None,
    }
