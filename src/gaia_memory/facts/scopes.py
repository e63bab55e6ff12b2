"""What every write to a scope shares: its row, which is a lock, the outbox and the log of changes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, case, delete, func, insert, select, update

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.database.metadata import dialect_insert as dialect_insert
from gaia_memory.database.sqlite import READ_ONLY_OPTION
from gaia_memory.facts.rows import in_chunks
from gaia_memory.facts.tables import changes, outbox, scopes
from gaia_memory.models import Scope

if TYPE_CHECKING:
    from gaia_memory.models import ChangeKind
    from gaia_memory.ports import Transaction


_SELECT_SCOPE = select(scopes).where(scopes.c.partition == bindparam("its"))
"""Built once, because every recall uses it."""


async def load_scope(tx: Transaction, scope: Scope) -> Row[Any] | None:
    """Return the row of a scope, None if there is none; a write transaction locks it until its end."""
    if tx.dialect.name == "postgresql" and not (await tx.run_sync(Connection.get_execution_options)).get(
        READ_ONLY_OPTION
    ):
        # A missing row cannot be locked.
        return await ensure_scope(tx, scope)
    return (await tx.execute(_SELECT_SCOPE, {"its": scope.partition})).one_or_none()


async def ensure_scope(tx: Transaction, scope: Scope) -> Row[Any]:
    """Return the row of a scope, created if missing, and lock it until the transaction ends."""
    await tx.execute(dialect_insert(tx, scopes).values(_new_row(scope)).on_conflict_do_nothing())
    statement = select(scopes).where(scopes.c.partition == scope.partition).with_for_update()
    return (await tx.execute(statement)).one()


async def bump_revision(tx: Transaction, scope: Scope, *, forgotten_at: float | None = None) -> Row[Any]:
    """Raise the revision by one and return the row; other writers of the scope wait from here on."""
    statement = dialect_insert(tx, scopes).values(_new_row(scope) | {"revision": 1, "forgotten_at": forgotten_at})
    latest: ColumnElement[Any] = scopes.c.forgotten_at
    if forgotten_at is not None:
        requested = statement.excluded.forgotten_at
        latest = case(
            (func.coalesce(scopes.c.forgotten_at, requested) > requested, scopes.c.forgotten_at), else_=requested
        )
    statement = statement.on_conflict_do_update(
        index_elements=[scopes.c.partition], set_={"revision": scopes.c.revision + 1, "forgotten_at": latest}
    )
    row: Row[Any] = (await tx.execute(statement.returning(scopes))).one()
    return row


async def bump_revisions(tx: Transaction, partitions: list[str]) -> None:
    """Raise the revision of existing scopes."""
    for partition in sorted(partitions):
        await tx.execute(update(scopes).where(scopes.c.partition == partition).values(revision=scopes.c.revision + 1))


async def mark_dirty(tx: Transaction, fact_ids: list[str], version: int) -> None:
    """Put changed or deleted facts into the outbox.

    Pass ids that may be in the outbox already in sorted order: transactions that lock rows in one order cannot
    deadlock.
    """
    if fact_ids:
        statement = dialect_insert(tx, outbox)
        statement = statement.on_conflict_do_update(
            index_elements=[outbox.c.fact_id], set_={"version": statement.excluded.version}
        )
        await tx.execute(statement, [{"fact_id": fact_id, "version": version} for fact_id in fact_ids])


async def log_changes(tx: Transaction, partition: str, kind: ChangeKind, fact_ids: Iterable[str | None]) -> None:
    """Note what happened to facts of a scope, which the transaction has locked."""
    for chunk in in_chunks(fact_ids):
        rows = [{"partition": partition, "fact_id": fact_id, "kind": kind} for fact_id in chunk]
        await tx.execute(insert(changes), rows)


async def drop_changes(tx: Transaction, partition: str, fact_id: str | None = None) -> None:
    """Remove what happened to a fact, or to all of a scope, from the log."""
    statement = delete(changes).where(changes.c.partition == partition)
    await tx.execute(statement if fact_id is None else statement.where(changes.c.fact_id == fact_id))


def _new_row(scope: Scope) -> dict[str, Any]:
    return {
        "partition": scope.partition,
        "app": None if scope.app is None else encode_id(scope.app),
        "user_id": encode_id(scope.user),
        "revision": 0,
        "salt": secrets.token_hex(16),
    }
