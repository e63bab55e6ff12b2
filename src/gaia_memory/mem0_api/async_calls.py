"""mem0's asynchronous calls, with its signatures and the form of its answers, over the facts of memory."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from gaia_memory.backend.mem0_store.payload import WRITER_KEY, build_payload
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import EventPosition, Fact, Message, NewFact, Scope, SessionKey, Turn
from gaia_memory.models.filters import compile_filters
from gaia_memory.models.validation import format_value, raise_invalid

if TYPE_CHECKING:
    from gaia_memory.engine import Engine

Item = dict[str, Any]

DEFAULT_RUN, MAX_RESULTS = "mem0", 1_000
"""The conversation of what is added without a `run_id`, and the most facts that a search returns."""

_UNSET: Any = object()
_OUR_NAMES = {"agent_id": "agent", "run_id": "session_id"}
_ITEM_NAMES = {
    **{"data": "memory", "agent": "agent_id", "session_id": "run_id"},
    **{name: name for name in ("hash", "created_at", "updated_at", "user_id", "expiration_date")},
}
"""The fields of a payload that mem0 answers with beside the metadata, and their names there."""


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
        agent_id, run_id = _read_id("agent_id", agent_id), _read_id("run_id", run_id)
        details: dict[str, Any] = {"metadata": _mapping("metadata", metadata)}
        details["valid_until"] = _end_of_day(expiration_date)
        talk = _read_messages(messages)
        if infer:
            return {"results": await self._learn(scope, talk, agent_id, run_id, details)}
        facts = [NewFact(text, agent=agent_id, session_id=run_id, **details) for _, text, _ in talk]
        added = await self._memory.add(scope, facts)
        results = [
            {**_change(fact, "ADD" if is_new else "NONE"), "actor_id": actor, "role": role}
            for fact, is_new, (role, _, actor) in zip(added.facts, added.is_new, talk, strict=True)
        ]
        return {"results": results}

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
        limit = _read_limit(top_k, ids)
        scope, rest = self._read_filters("search", filters, ids)
        _require(
            type(threshold) in (int, float) and 0 <= threshold <= 1, "threshold", threshold, "pass one from 0 to 1"
        )
        _require(bool(str(query).strip()), "query", query, "pass a question")
        found = (
            await self._memory.recall(scope, str(query), limit=min(limit, MAX_RESULTS), filters=rest) if limit else ()
        )
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
        limit = _read_limit(top_k, ids)
        scope, rest = self._read_filters("get_all", filters, ids)
        passes = compile_filters(rest or {})
        return {"results": [_item(fact) for fact in await self._memory.facts(scope) if passes(fact)][:limit]}

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
        if metadata is not None:
            changes["metadata"] = _mapping("metadata", metadata)
        scope = await self._require_owner(memory_id)
        await self._memory.update(scope, memory_id, text=data if text is None else text, **changes)
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
        agent_id, run_id = _read_id("agent_id", agent_id), _read_id("run_id", run_id)
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
        rows, earlier = list[Item](), None
        for period in periods:
            event = "UPDATE" if rows else "ADD"
            began = period.first_said_at or (None if known is None else known.created_at)
            rows.append(_history_row(memory_id, earlier, period.text, event, began))
            earlier = period.text
        if periods and periods[-1].ended_at is not None:
            rows.append(_history_row(memory_id, earlier, None, "DELETE", periods[-1].ended_at))
        return rows

    async def reset(self) -> NoReturn:
        """Refuse with `InvalidInputError`: mem0 would empty the whole store."""
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
        if (user := _read_id("user_id", user_id)) is None:
            raise InvalidInputError(f"mem0.{call} has no user_id: pass it, each fact belongs to one person")
        return self._engine.scope(self._engine.config.app, user)

    def _read_filters(
        self, call: str, filters: Mapping[str, Any] | None, ids: Mapping[str, Any]
    ) -> tuple[Scope, dict[str, Any] | None]:
        """Return whose facts are meant, and the filters in our names."""
        rest = _mapping("filters", filters)
        for name, value in ids.items():
            if name not in ("user_id", *_OUR_NAMES):
                raise InvalidInputError(f"mem0.{call} takes no {name!r}")
            if value is not None and rest.setdefault(name, value) != value:
                raise_invalid(name, value, f"filters names {format_value(rest[name])}: pass one of them")
        scope = self._scope(call, rest.pop("user_id", None))
        for name in _OUR_NAMES.keys() & rest.keys():
            value = rest.pop(name)
            rest[_OUR_NAMES[name]] = value if isinstance(value, Mapping) else _read_id(name, value)
        return scope, rest or None

    async def _require_owner(self, memory_id: str) -> Scope:
        scope = await self._memory.owner(memory_id)
        if scope is None:
            raise InvalidInputError(f"Memory with id {memory_id} not found")
        return scope


def _read_id(name: str, value: object) -> str | None:
    """Return an id without white space around it, as mem0 takes it; numbers become text."""
    if value is None:
        return None
    trimmed = "" if isinstance(value, Mapping | list | tuple | set) else str(value).strip()
    _require(trimmed not in ("", "*"), name, value, "pass one id: a call answers for one, never for several or all")
    return trimmed


def _read_limit(top_k: Any, ids: dict[str, Any]) -> int:
    name, limit = ("limit", ids.pop("limit")) if "limit" in ids else ("top_k", top_k)
    _require(type(limit) is int and limit >= 0, name, limit, "pass a whole number from 0 on")
    return int(limit)


def _mapping(name: str, value: Any) -> dict[str, Any]:
    _require(isinstance(value, Mapping | None), name, value, "pass a dict")
    return dict(value or {})


def _require(is_right: bool, name: str, value: object, fix: str) -> None:
    if not is_right:
        raise_invalid(name, value, fix)


def _refuse(call: str, **arguments: Any) -> None:
    if given := [name for name, value in arguments.items() if value]:
        raise InvalidInputError(f"mem0.{call} cannot take {given[0]} here: leave it out")


def _read_messages(messages: object) -> list[tuple[str, str, str | None]]:
    """Return role, text and name of each message but the system's."""
    read = []
    for each in messages if isinstance(messages, list | tuple) else [messages]:
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
        moment, event_id = now + timedelta(microseconds=number), str(uuid.uuid4())
        if role == "user" or not groups:
            groups.append([])
        said: Any = {"role": "user", "speaker": "user"} if role == "user" else {"role": "assistant", "speaker": agent}
        groups[-1].append(Message(text=text, said_at=moment, event_id=event_id, **said))
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
    return datetime.combine(parsed, time(), UTC) + timedelta(days=1)


def _item(fact: Fact) -> Item:
    """Return a fact as mem0 answers with it."""
    payload: Item = build_payload(fact, with_search_text=False) | {"user_id": fact.scope.user}
    payload.pop(WRITER_KEY)
    named = {name: payload.pop(key) for key, name in _ITEM_NAMES.items() if key in payload}
    return {"id": fact.id, **named, "metadata": payload, "score": None}


def _change(fact: Fact, event: str) -> Item:
    return {"id": fact.id, "memory": fact.text, "event": event}


def _history_row(memory_id: str, old: str | None, new: str | None, event: str, at: datetime | None) -> Item:
    moment = None if at is None else at.astimezone(UTC).isoformat()
    name = f"{memory_id} {event} {moment} {new}"
    change = {"memory_id": memory_id, "old_memory": old, "new_memory": new, "event": event}
    times = {"created_at": moment, "updated_at": moment, "is_deleted": event == "DELETE"}
    return {"id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)), **change, **times, "actor_id": None, "role": None}
