"""The history of facts: when they were said, when they ended, and what held at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from gaia_memory.models import (
    Draft,
    Fact,
    FactEnd,
    NearbySayings,
    NewFact,
    PastFact,
    PastIndex,
    PointInTime,
    Scope,
    StoredFact,
)
from gaia_memory.ports.transaction import Transaction


@dataclass(frozen=True, slots=True)
class PromptState:
    """What the prompts of a person depend on.

    `profile_key` differs once a current fact has ended, expired or begun to hold; facts that are added, and those that
    are said again, leave it as it is. `may_have_profile` is whether there is a current fact, `has_due` whether one
    is due by then.
    """

    profile_key: str
    may_have_profile: bool
    has_due: bool


class FactHistory(Protocol):
    """The part of the fact store that knows when facts were true.

    A fact that ended keeps its id, sources and vector, and is shown by none of the other reads. Endings are never
    overwritten: one that was undone stays with the time of that.
    """

    async def stored(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], *, or_past: bool = False
    ) -> dict[str, StoredFact]:
        """Return those of these facts that have not ended, whatever their validity, with version and vector.

        With `or_past`, those that ended, too.
        """

    async def end_facts(
        self, tx: Transaction, scope: Scope, fact_endings: Sequence[FactEnd], *, now: datetime
    ) -> list[FactEnd]:
        """Store endings, noted at `now` unless they say when; return those that were not stored.

        That is one of an unknown fact, or of one that is not current in the version that the ending names: it was
        changed, ended or forgotten meanwhile. A fact that was said after its ending stays current, and one that has
        ended may end earlier, too. A fact ends once at a time by one fact: another such ending changes nothing.
        """

    async def endings(self, tx: Transaction, scope: Scope) -> list[FactEnd]:
        """Return all endings of facts, also those that were undone, in the order in which they were stored."""

    async def wordings(self, tx: Transaction, scope: Scope) -> dict[str, str]:
        """Return, for each past fact that is the earlier wording of another one, the id of that."""

    async def note_wordings(self, tx: Transaction, scope: Scope, wordings: Mapping[str, str]) -> None:
        """Mark past facts as earlier wordings of others."""

    async def expire(self, tx: Transaction, *, now: datetime, limit: int) -> int:
        """End at most `limit` facts of any scope whose validity is over; return how many."""

    async def begin(self, tx: Transaction, *, now: datetime, limit: int) -> int:
        """Put at most `limit` facts of any scope into the outbox that have begun to hold; return how many."""

    async def prompt_state(self, tx: Transaction, scope: Scope, *, now: datetime, due_until: datetime) -> PromptState:
        """Return what the prompts about a scope depend on; one statement."""

    async def history(self, tx: Transaction, scope: Scope, fact_id: str) -> list[PastFact]:
        """Return the periods of a fact and of all that it replaced or was replaced by, oldest first.

        An unknown or foreign id gives an empty list.
        """

    async def earlier_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return those of these facts that the scope has, current or past, with all past facts that they replaced."""

    async def lift_endings(self, tx: Transaction, scope: Scope, session_id: str, *, gone: Collection[str]) -> None:
        """Delete the endings that this conversation or these facts caused, before the facts are deleted.

        What one of these facts had replaced is then replaced by what replaced that.
        """

    async def past(
        self, tx: Transaction, scope: Scope, *, ended_after: datetime | None = None
    ) -> dict[str, StoredFact]:
        """Return the facts that ended, by id, in the order in which they were stored.

        With `ended_after`, only those with an ending after that time.
        """

    async def line(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return these facts, what they replaced or were replaced by, and so on."""

    async def rivals(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, dict[str, str]]:
        """Return, for those of these facts that have some, what they replaced or were replaced by directly.

        Each of them comes with the actor of that ending.
        """

    async def said_around(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str], moment: datetime
    ) -> dict[str, NearbySayings]:
        """Return when each of these facts was said before a time, if it was true at that time, and when after it."""

    async def ids_as_of(self, tx: Transaction, scope: Scope, moment: PointInTime) -> list[str]:
        """Return the ids of the facts that held at a time by what was known at another, oldest first."""

    async def get_any(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> dict[str, Fact]:
        """Return the facts of this scope with these ids, stored or past; other ids are left out."""

    async def are_sensitive(self, tx: Transaction, scope: Scope, new_facts: Sequence[NewFact]) -> list[bool]:
        """Return whether each fact, another of them, or a known one, current or past, keeps its text as sensitive."""

    async def past_index(self, tx: Transaction, scope: Scope, embedder: str) -> PastIndex:
        """Return what recall compares of the facts that ended, with the vectors that `embedder` made."""

    async def outdated(
        self, tx: Transaction, scope: Scope, fact_ids: Collection[str]
    ) -> dict[str, tuple[Fact, FactEnd]]:
        """Return those of these facts that have ended or expired, each with its last ending."""

    async def reword(
        self, tx: Transaction, scope: Scope, fact_id: str, draft: Draft, *, actor: str, now: datetime
    ) -> Fact | None:
        """Replace a current fact by `draft` and return what is current then; None if there is no such fact.

        The fact keeps its id, and the earlier wording goes to history under a new one. Where the new wording is that of
        another current fact, the two become one, which is returned.
        """

    async def hide_wordings(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Mark the earlier wordings of sensitive facts as sensitive, and delete the profile made of the facts."""

    async def restore(self, tx: Transaction, scope: Scope, fact_id: str, *, actor: str, now: datetime) -> Fact | None:
        """Undo the last ending of a fact or, if it is current, the last one by it; return the fact that is back.

        What replaced it goes to history, unless it was current before that. Returns None if nothing can be undone.
        """

    async def record_forgotten_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Note the ids of forgotten facts, so that the restore of an older copy leaves them out in every wording."""

    async def forgotten_ids(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> set[str]:
        """Return those of these ids that were noted as forgotten in this scope."""
