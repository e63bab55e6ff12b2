"""A memory in a list, for tests of the replies to commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, cast

from typing_extensions import Unpack

from gaia_memory.commands.command import Call, Reply, ResetOutcome, Settings
from gaia_memory.commands.dispatch import parse, run
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.config.sources.load import load
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import (
    DEFAULT_CONTEXT,
    Fact,
    FactDetails,
    LearnedFacts,
    Origin,
    PastFact,
    Receipt,
    Scope,
    SessionKey,
    Status,
)
from gaia_memory.ports import Clock, SystemClock
from gaia_memory.sessions.pending_confirmations import PendingConfirmations
from support.factories import KEY, SCOPE, make_fact


@dataclass
class ListMemory:
    """Keeps texts, each under its own id or one of `ids`; every method raises `error` while it is set."""

    texts: list[str] = field(default_factory=list)
    forget_count: int = 0
    pending: bool = False
    error: Exception | None = None
    current_status: Status = field(default_factory=lambda: Status(state="ok"))
    private: bool = False
    has_pending_question: bool = False
    fails_after_forgets: int | None = None
    notes: tuple[str, ...] = ()
    ids: Sequence[str] = ()
    session: str | None = None
    shown: PendingConfirmations = field(default_factory=PendingConfirmations)
    config: GaiaConfig = field(default_factory=GaiaConfig)
    active_context: str = DEFAULT_CONTEXT
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        self._ids = dict(zip(self.texts, self.ids, strict=False))

    async def status(self, scope: Scope) -> Status:
        self._check()
        return self.current_status

    async def active(self) -> str:
        return self.active_context

    async def time_zone(self) -> tzinfo | None:
        return None

    async def activate(self, name: str) -> None:
        self._check()
        self.active_context = name

    async def remember(
        self,
        scope: Scope,
        text: str,
        *,
        origin: Origin | None = None,
        active_context: str = DEFAULT_CONTEXT,
        **details: Unpack[FactDetails],
    ) -> Fact:
        self._check()
        self.texts.append(text)
        return make_fact(str(len(self.texts)), text, scope=scope)

    async def withdrawn(self, scope: Scope) -> list[Fact]:
        return []

    async def facts(self, scope: Scope) -> list[Fact]:
        self._check()
        return [
            make_fact(self._ids.get(text, f"id of {text}"), text, scope=scope, session=self.session)
            for text in self.texts
        ]

    async def holding(self, scope: Scope, words: str, *, limit: int) -> list[Fact]:
        """Return the facts with a word that starts like one of these, the best one last."""
        self._check()
        prefixes = tuple(words.casefold().split())
        facts = await self.facts(scope)
        matching = [
            known for known in facts if any(word.startswith(prefixes) for word in known.text.casefold().split())
        ]
        return matching[::-1][:limit]

    async def count(self, scope: Scope) -> int:
        self._check()
        return len(self.texts)

    async def forget(self, scope: Scope, *, fact_id: str | None = None) -> Receipt:
        """Forget everything or one fact; memory is unavailable after `fails_after_forgets` calls."""
        self._check()
        if self.forget_count == self.fails_after_forgets:
            raise MemoryUnavailable("the disk is full")
        before = len(self.texts)
        self.texts[:] = [fact.text for fact in await self.facts(scope) if fact_id is not None and fact_id != fact.id]
        self.forget_count += 1
        return Receipt(count=before - len(self.texts), pending=self.pending, notes=self.notes)

    async def history(self, scope: Scope, fact_id: str) -> list[PastFact]:
        """Return the only period of a fact, which has replaced nothing."""
        self._check()
        return [PastFact(id=fact.id, text=fact.text) for fact in await self.facts(scope) if fact.id == fact_id]

    async def is_private(self, key: SessionKey) -> bool:
        self._check()
        return self.private

    async def set_private(self, key: SessionKey, is_private: bool) -> None:
        self._check()
        self.private = is_private

    async def has_pending_confirmation(self, key: SessionKey) -> bool:
        self._check()
        return self.has_pending_question

    async def note_command(self, scope: Scope, key: SessionKey, name: str, *, began_at: float) -> None:
        """Count nothing."""

    async def set_pending_confirmation(self, key: SessionKey, is_pending: bool) -> None:
        self._check()
        self.has_pending_question = is_pending

    def _check(self) -> None:
        if self.error is not None:
            raise self.error


async def run_command(
    text: str,
    memory: ListMemory,
    *,
    enabled: bool = True,
    reset: ResetOutcome = "cleared",
    learned: Sequence[Fact] = (),
    settings: Settings | None = None,
    is_admin: bool = False,
) -> Reply:
    """Return the reply to a typed command; `settings` come from no file.

    A reset returns `reset` and has learned the facts `learned`.
    """
    parsed = parse(text)
    assert parsed is not None
    name, argument = parsed

    learned_facts = LearnedFacts()

    async def reset_session() -> ResetOutcome:
        learned_facts.add_facts(learned)
        return reset

    config = memory.config.memory.model_copy(update={"enabled": enabled})
    memory.config = memory.config.model_copy(update={"memory": config})
    call = Call(
        scope=SCOPE,
        key=KEY,
        argument=argument,
        memory=cast(Any, memory),
        flags=memory,
        pending_confirmations=memory.shown,
        settings=settings or LiveConfig(load({}, environ={})),
        context=memory,
        is_admin=is_admin,
        reset=reset_session,
        learned=learned_facts,
    )
    return await run(name, call)
