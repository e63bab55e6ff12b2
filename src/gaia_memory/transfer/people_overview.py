"""Everybody who is known, with counts."""

from __future__ import annotations

from dataclasses import replace

from gaia_memory.models import PersonSummary, Scope
from gaia_memory.ports import MemoryStores


async def load_people(stores: MemoryStores, *, app_scoped: bool) -> list[PersonSummary]:
    """Return everybody with a fact or a pending conversation, sorted by user and app; no fact is read.

    Somebody who was forgotten is not among them. Unless memory is `app_scoped`, the conversations of all apps count for
    the memory that they share.
    """
    async with stores.database.read_transaction() as tx:
        people = {each.scope: each for each in await stores.facts.summaries(tx)}
        for talk in await stores.ledger.summaries(tx):
            scope = talk.scope if app_scoped else Scope(None, talk.scope.user)
            known = people.get(scope, PersonSummary(scope=scope))
            times = [each for each in (known.last_message_at, talk.last_message_at) if each is not None]
            people[scope] = replace(
                known, pending=known.pending + talk.pending, last_message_at=max(times, default=None)
            )
    known_people = [person for person in people.values() if person.facts or person.pending]
    return sorted(known_people, key=lambda person: (person.scope.user, person.scope.app or ""))
