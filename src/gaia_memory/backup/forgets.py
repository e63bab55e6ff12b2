"""What a memory database knows about forgets, and how an older copy of it learns of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from gaia_memory.database.files.snapshot import FileConnection, read_rows
from gaia_memory.database.id_encoding import decode_id
from gaia_memory.facts import FactStore
from gaia_memory.facts.current import current_or_past_sql
from gaia_memory.facts.rows import scope_of
from gaia_memory.facts.tables import tombstones
from gaia_memory.facts.tombstones import GONE_PREFIX, ID_PREFIX, copy_tombstones
from gaia_memory.forget.delete import Forgetter
from gaia_memory.ledger import Ledger
from gaia_memory.ledger.usage_log import forget_usage
from gaia_memory.models import Scope, SessionKey
from gaia_memory.ports import Transaction

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts.outbox import Outbox


@dataclass(slots=True)
class ScopeForgets:
    """The forgets of one person: everything up to `forgotten_at`, and single facts by salted hashes.

    `hashes` also has ids of forgotten facts and salts of merged scopes, each with its prefix; `words` has (row of the
    fact, hash of a word, time of the forget).
    """

    salt: str
    forgotten_at: float | None
    hashes: list[str] = field(default_factory=list)
    words: list[tuple[int, int, float]] = field(default_factory=list)


@dataclass(slots=True)
class Forgets:
    """The forgets of a database. `is_complete` is false if a part of it could not be read."""

    scopes: dict[Scope, ScopeForgets] = field(default_factory=dict)
    sessions: dict[SessionKey, float] = field(default_factory=dict)
    skipped: dict[SessionKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    current_ids: set[str] = field(default_factory=set)
    is_complete: bool = True


def read_forgets(connection: FileConnection | None) -> Forgets:
    """Return what a memory database of any version knows about forgets, as far as it can be read; None: nothing."""
    forgets = Forgets()
    by_partition: dict[str, ScopeForgets] = {}

    def rows(statement: str) -> list[tuple[Any, ...]]:
        found, is_complete = read_rows(connection, statement)
        forgets.is_complete &= is_complete
        return found

    for partition, app, user, salt, forgotten_at in rows(
        "SELECT partition, app, user_id, salt, forgotten_at FROM gaia_scopes"
    ):
        scope = scope_of(app, user)
        forgets.scopes[scope] = by_partition[partition] = ScopeForgets(salt, forgotten_at)
    for partition, value in rows("SELECT partition, hash FROM gaia_tombstones"):
        if partition in by_partition:
            by_partition[partition].hashes.append(value)
    for partition, row, word, moment in rows(
        "SELECT partition, fact_row, word, forgotten_at FROM gaia_forgotten_words"
    ):
        if partition in by_partition:
            by_partition[partition].words.append((row, word, moment))
    session = "SELECT app, user_id, session_id"
    for *key, until in rows(f"{session}, forgotten_at FROM gaia_conversations WHERE forgotten_at IS NOT NULL"):
        forgets.sessions[_session_key(*key)] = until
    for *key, event in rows(f"{session}, event_id FROM gaia_skips JOIN gaia_conversations USING (conversation)"):
        forgets.skipped[_session_key(*key)].add(decode_id(event))
    current = f"SELECT id FROM gaia_facts AS f WHERE {current_or_past_sql('f')}"
    forgets.current_ids.update(fact_id for (fact_id,) in rows(current))
    # An empty database may be all that is left of a lost one.
    forgets.is_complete &= bool(forgets.scopes)
    return forgets


def _session_key(app: str, user: str, session: str) -> SessionKey:
    return SessionKey(decode_id(app), decode_id(user), decode_id(session))


async def apply_forgets(database: Database, outbox: Outbox, forgets: Forgets) -> int:
    """Forget in `database`, an older copy, what was forgotten since; return how many facts that removed."""
    facts, ledger = FactStore(), Ledger()
    forgetter, count = Forgetter(database, facts, ledger, outbox), 0
    async with database.transaction() as tx:
        earlier = await _marks(tx)
        scope_of_salt = {known.salt: scope for scope, known in forgets.scopes.items()}
        for scope, known in forgets.scopes.items():
            count += await _apply_to_scope(tx, forgetter, scope, known)
            for mark in set(known.hashes) - earlier:
                merged = scope_of_salt.get(mark.partition("-")[2])
                if merged is not None:
                    # Of what was merged, everything is forgotten, or single facts; here it is still apart.
                    forgotten_at = known.forgotten_at if mark.startswith(GONE_PREFIX) else None
                    hashes = [value for value in known.hashes if "-" not in value]
                    of_both = replace(known, forgotten_at=forgotten_at, hashes=hashes)
                    count += await _apply_to_scope(tx, forgetter, merged, of_both)
        count += await _apply_ids(tx, forgetter, forgets, earlier)
        for key, until in forgets.sessions.items():
            for scope in {Scope(key.app, key.user), Scope(None, key.user)} & forgets.scopes.keys():
                if (await ledger.forgotten_sessions(tx, user=key.user, app=key.app)).get(key, 0.0) < until:
                    removed = await forgetter.forget_conversation(tx, scope, key.session, until)
                    count += removed.get("facts", 0)
        for key, event_ids in forgets.skipped.items():
            await ledger.skip_events(tx, key, event_ids)
    return count


async def _marks(tx: Transaction) -> set[str]:
    """Return the rows with a prefix among the tombstones of a database."""
    return set((await tx.execute(select(tombstones.c.hash).where(tombstones.c.hash.like("%-%")))).scalars())


async def _apply_ids(tx: Transaction, forgetter: Forgetter, forgets: Forgets, earlier: Collection[str]) -> int:
    """Remove facts by their ids: their wording or their scope may have changed since the copy was made."""
    marks = {mark for known in forgets.scopes.values() for mark in known.hashes if mark.startswith(ID_PREFIX)}
    fact_ids = {mark.removeprefix(ID_PREFIX) for mark in marks.difference(earlier)} - forgets.current_ids
    count = 0
    for scope in {*forgets.scopes, *await forgetter.facts.scopes(tx)} if fact_ids else ():
        if line := await forgetter.facts.history.earlier_ids(tx, scope, fact_ids):
            count += (await forgetter.remove_facts(tx, scope, line))["facts"]
    return count


async def _apply_to_scope(tx: Transaction, forgetter: Forgetter, scope: Scope, known: ScopeForgets) -> int:
    facts, count = forgetter.facts, 0
    state = await facts.state(tx, scope)
    if known.forgotten_at is not None and known.forgotten_at > (state.forgotten_at or 0.0):
        # It came after the copy was made, so it covers everything in the copy.
        count += (await facts.delete_all(tx, scope, forgotten_at=known.forgotten_at))["facts"]
        await forgetter.ledger.drop_profiles(tx, user=scope.user, app=scope.app)
        await forget_usage(tx, scope)
    if known.hashes or known.words:
        await copy_tombstones(tx, scope, known.salt, known.hashes, known.words)
        past = [each.fact for each in (await facts.history.past(tx, scope)).values()]
        found = [*await facts.facts(tx, scope, all_stored=True), *past]
        is_forgotten = await facts.tombstones.have_tombstones(tx, scope, [fact.text for fact in found])
        fact_ids = [fact.id for fact, is_gone in zip(found, is_forgotten, strict=True) if is_gone]
        if fact_ids:
            line = await facts.history.earlier_ids(tx, scope, fact_ids)
            count += (await forgetter.remove_facts(tx, scope, line))["facts"]
    return count
