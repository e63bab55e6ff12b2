"""The part of `Memory` that corrects facts, tells their history and undoes endings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from typing_extensions import Unpack

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.drafts.embed_drafts import embed_in_scope
from gaia_memory.drafts.hide_sensitive import hide_sensitive
from gaia_memory.drafts.write_verbatim import (
    REMEMBER_EMBED_TIMEOUT_SECONDS,
    build_remembered_draft,
    reject_forgotten,
)
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import (
    DEFAULT_CONTEXT,
    LABELS,
    UNCONFIRMED_KEY,
    Draft,
    Fact,
    FactChanges,
    FactDetails,
    FactEnd,
    NewFact,
    Origin,
    PastFact,
    Scalar,
    Scope,
    ToolTurn,
    UserStatement,
    load_time_zone,
    next_occurrence,
    require_future_due,
)
from gaia_memory.models.new_fact import require_known_zone
from gaia_memory.models.validation import format_value, raise_invalid, require_text
from gaia_memory.ports import Clock, Embedder
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.ledger.memory_stores import MemoryStores


MAX_NOTE_CHARACTERS = 500
"""What says why a fact was never true."""

_FIX = "pass the id of a current fact of this user; `history` lists earlier ones"


class FactEditingMixin:
    """Changes the wording of facts without losing the earlier one."""

    clock: Clock
    stores: MemoryStores
    follower: StoreFollower

    @property
    @abstractmethod
    def embedder(self) -> Embedder:
        """What makes the vectors of facts."""

    @property
    @abstractmethod
    def config(self) -> GaiaConfig:
        """The settings in force."""

    @abstractmethod
    async def _require(self, scope: object, *, enabled: bool = True) -> None:
        """Check that `scope` is a scope and memory is open, and, if `enabled`, on."""

    @abstractmethod
    async def remember(
        self,
        scope: Scope,
        text: str,
        *,
        origin: Origin | None = None,
        user_statement: UserStatement | None = None,
        **details: Unpack[FactDetails],
    ) -> Fact:
        """Store one fact word for word."""

    async def update(
        self,
        scope: Scope,
        fact_id: str,
        *,
        text: str | None = None,
        metadata: Mapping[str, Scalar | None] | None = None,
        actor: str = "host",
        origin: Origin | None = None,
        user_statement: UserStatement | None = None,
        **changes: Unpack[FactChanges],
    ) -> Fact:
        """Correct a current fact, which keeps its id and `created_at`; return it.

        A new `text` sends the earlier one to history and counts as said now; with a past `valid_from` it holds since
        then, and the earlier one until then. `metadata` sets these names, and `changes` set fields such as `category`
        and `due_at`; None removes one. A new due time may be reminded of again. `sensitive=True` takes the fact out of
        every profile at once, also of running sessions. Two current facts with the same text become one, which is
        returned. `actor` is who corrects it: `host`, `person` or `agent:NAME`. `origin` and `user_statement` are those
        of `remember`: a model's wording from a tool is stored beside what the person has confirmed, without its key.

        `reminded_at` says that the person was reminded. Before the fact is due, it is silent until then; afterwards it
        is done. A recurring one then gets its next time as `due_at`, and no `reminded_at`.

        Raises:
            InvalidInputError: the id is unknown, nothing is to be changed, or a new value may not be kept.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        if text is None and metadata is None and not changes:
            raise InvalidInputError("update has nothing to change: pass text, metadata or a field such as category")
        async with self.stores.database.read_transaction() as tx:
            known = (await self.stores.facts.history.stored(tx, scope, [fact_id])).get(fact_id)
        if known is None:
            raise _unknown_id(fact_id)
        if text is None and user_statement is not None:
            metadata = {UNCONFIRMED_KEY: known.fact.metadata.get(UNCONFIRMED_KEY), **(metadata or {})}
        now, zone = self.clock.now(), self.config.memory.zone
        new_fact = replace(_corrected(known.fact, text, metadata or {}, changes, now), said_at=now)
        new_fact = await run_in_thread(apply_reminder, new_fact, changes, now=now, zone=zone)
        draft = await build_remembered_draft(
            self.stores,
            scope,
            new_fact,
            origin,
            None if text is None else user_statement,
            allow_numbers=self.config.memory.allow_numbers,
        )
        is_unconfirmed = draft.fact.metadata.get(UNCONFIRMED_KEY) is True and not known.fact.is_unconfirmed
        if text is not None and is_unconfirmed and user_statement is not None and text.strip() != known.fact.text:
            details: Any = {name: getattr(new_fact, name) for name in FactDetails.__annotations__.keys() - {"key"}}
            return await self.remember(scope, text, origin=origin, user_statement=user_statement, **details)
        if text is not None:
            draft = await self._embedded(scope, draft)
        turn = None if origin is None else origin.turn
        fact = await self._reword(scope, fact_id, draft, actor, None if text is None else user_statement, turn)
        self.follower.wake()
        if fact is None:
            raise _unknown_id(fact_id)
        return fact

    async def retire(self, scope: Scope, fact_id: str, *, why: str, actor: str = "host") -> None:
        """Say that a fact, current or past, was never true; `why` stands in its history.

        It answers for no time any more, unless it is said again; a question with an earlier `known_at` still finds it.
        `restore` takes that back. What it had replaced stays in history. `actor` is that of `update`.

        Raises:
            InvalidInputError: the id is unknown, or `why` is blank or longer than 500 characters.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        fix = f"say in 1 to {MAX_NOTE_CHARACTERS} characters why the fact was never true"
        if len(require_text("why", why, fix=fix)) > MAX_NOTE_CHARACTERS:
            raise_invalid("why", why, fix)
        # Half of a surrogate pair cannot be stored.
        stored = why.strip().encode(errors="replace").decode()
        note = await run_in_thread(mask_credentials, stored, allow_numbers=self.config.memory.allow_numbers)
        async with self.stores.database.transaction() as tx:
            now = self.clock.now()
            ending = FactEnd(fact_id=fact_id, ended_at=now, why="untrue", actor=actor, note=note)
            lost = await self.stores.facts.history.end_facts(tx, scope, [ending], now=now)
        if lost:
            raise InvalidInputError(f"fact_id is {format_value(fact_id)}: pass the id of a fact of this user")
        self.follower.wake()

    async def _reword(
        self,
        scope: Scope,
        fact_id: str,
        draft: Draft,
        actor: str,
        user_statement: UserStatement | None,
        turn: ToolTurn | None,
    ) -> Fact | None:
        async with self.stores.database.transaction() as tx:
            # One period ends at the moment at which the next begins.
            now = self.clock.now()
            draft = replace(draft, fact=replace(draft.fact, said_at=now))
            if user_statement is not None:
                await reject_forgotten(self.stores.facts, tx, scope, [draft.fact.text], user_statement)
            await self.stores.facts.tombstones.remove_tombstones(tx, scope, [draft.fact.text])
            before = (
                {} if turn is None else await self.stores.facts.tool_changes.before_change(tx, scope, fact_id=fact_id)
            )
            fact = await self.stores.facts.corrections.reword(tx, scope, fact_id, draft, actor=actor, now=now)
            if turn is not None and fact is not None:
                await self.stores.facts.tool_changes.note_change(tx, scope, turn, fact.id, before, now=now)
            sensitive = [fact] if fact is not None and fact.sensitive else []
            await hide_sensitive(self.stores.facts, self.stores.ledger, tx, scope, sensitive)
        return fact

    async def _embedded(self, scope: Scope, draft: Draft) -> Draft:
        [embedded] = await embed_in_scope(
            self.stores.database,
            self.stores.facts,
            scope,
            self.embedder,
            [draft],
            timeout_seconds=REMEMBER_EMBED_TIMEOUT_SECONDS,
            embeds_sensitive=self.config.memory.embed_sensitive,
        )
        return embedded

    async def history(self, scope: Scope, fact_id: str) -> list[PastFact]:
        """Return when a fact was true, and all that it replaced or was replaced by, oldest first.

        The id may be that of any of them. What is still true has no `ended_at`. An unknown or foreign id gives [].
        """
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return await self.stores.facts.history.history(tx, scope, fact_id)

    async def past_facts(self, scope: Scope) -> list[Fact]:
        """Return the facts that ended and are not current again, in the order in which they were stored."""
        await self._require(scope)
        async with self.stores.database.read_transaction() as tx:
            return [each.fact for each in (await self.stores.facts.history.past(tx, scope)).values()]

    async def restore(self, scope: Scope, fact_id: str, *, actor: str = "host") -> Fact:
        """Undo the last ending of a fact and return what is current again.

        With the id of a current fact, that is what it replaced last. What took the place of the fact then goes to
        history, unless it was current before, too. An expired fact has no end any more.

        Raises:
            InvalidInputError: the id is unknown, or nothing has ended.
            MemoryDisabledError: memory is off.
        """
        await self._require(scope)
        async with self.stores.database.transaction() as tx:
            fact = await self.stores.facts.corrections.restore(tx, scope, fact_id, actor=actor, now=self.clock.now())
        self.follower.wake()
        if fact is None:
            fix = "pass the id of a fact that ended or that replaced another one"
            raise InvalidInputError(f"fact_id is {format_value(fact_id)}, of which no ending can be undone: {fix}")
        return fact


def _unknown_id(fact_id: object) -> InvalidInputError:
    return InvalidInputError(f"fact_id is {format_value(fact_id)}: {_FIX}")


def _corrected(
    fact: Fact, text: str | None, metadata: Mapping[str, Scalar | None], changes: Mapping[str, Any], now: datetime
) -> NewFact:
    """Return a fact with another text, other metadata or other fields; nothing else of it changes."""
    if unknown := sorted(changes.keys() - FactChanges.__annotations__.keys()):
        raise InvalidInputError(f"update got {unknown[0]!r}: pass {', '.join(FactChanges.__annotations__)}")
    merged: dict[str, Any] = {**fact.metadata, UNCONFIRMED_KEY: None, **metadata}
    details: dict[str, Any] = {name: getattr(fact, name) for name in FactChanges.__annotations__}
    # A label that the metadata name follows them.
    details |= {name: merged[name] for name in details.keys() & metadata.keys() if isinstance(merged[name], str)}
    details |= {name: default for name, default in LABELS.items() if name in metadata and metadata[name] is None}
    if "sensitive" in metadata:
        details["sensitive"] = metadata["sensitive"] is True
    if "due_at" in changes:
        details |= {"due_all_day": False, "reminded_at": None}
        if changes["due_at"] is None:
            details |= {"due_zone": None, "every": None}
        elif isinstance(changes["due_at"], datetime) and isinstance(changes["due_at"].tzinfo, ZoneInfo):
            details["due_zone"] = None
    if text not in (None, fact.text) and fact.valid_from is not None and fact.valid_from <= now:
        # It counts as said now: it has not been true for as long as the earlier wording.
        details["valid_from"] = None
    details |= changes
    merged |= {name: details[name] for name in changes.keys() & merged.keys()}
    merged = {name: value for name, value in merged.items() if value is not None}
    details["context"] = details["context"] or DEFAULT_CONTEXT
    wording = fact.text if text is None else require_text("text", text).strip()
    corrected = NewFact(wording, metadata=merged, **details)
    begins, holds_now = corrected.valid_from, fact.valid_from is None or fact.valid_from <= now
    if wording != fact.text and holds_now and begins is not None and begins > now:
        fix = "remember what will be true as a fact of its own, and pass valid_until for this one"
        raise_invalid("valid_from", begins.isoformat(), fix)
    return corrected


def apply_reminder(fact: NewFact, changes: FactChanges, *, now: datetime, zone: tzinfo | None) -> NewFact:
    """Return a corrected fact, a recurring one of which the person was reminded when it was due at its next time.

    `changes` are those of the correction; `zone` is that of facts without one, None for this machine's. May read the
    file of a zone.

    Raises:
        InvalidInputError: the new due date is in the past, or its zone is unknown.
    """
    require_known_zone(fact)
    if changes.get("due_at"):
        require_future_due(fact, now)
    if fact.due_at is None or fact.every is None or not changes.get("reminded_at"):
        return fact
    if fact.reminded_at is None or fact.reminded_at < fact.due_at:
        return fact
    its_zone = zone if fact.due_zone is None else load_time_zone(fact.due_zone)
    following = next_occurrence(fact.due_at, fact.every, its_zone, fact.reminded_at)
    if following is None:
        return fact
    due_at, every = following
    return replace(fact, due_at=due_at, every=every, reminded_at=None)
