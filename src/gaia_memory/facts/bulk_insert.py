"""Writes many rows in one call, as tuples in the order of the columns.

Hot path, measured in tests/benchmarks/scale.py: SQLAlchemy would process each row on the event loop. Here the rows are
prepared beforehand, large batches in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

from gaia_memory.facts.indexing import keyword_index
from gaia_memory.facts.tables import facts, outbox, sources

if TYPE_CHECKING:
    from sqlalchemy import Dialect, Table

    from gaia_memory.ports import Transaction

_AUTOINCREMENT_COLUMNS = {sources.name: "row", outbox.name: "place"}
"""Columns that the database numbers automatically."""

_INSERT_CACHE: dict[tuple[str, str], str] = {}
_LAST_ROW_SQL = (
    "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'gaia_facts'), 0),"
    " coalesce((SELECT max(row) FROM gaia_facts), 0))"
)
_NEXT_ROWS_SQL = "SELECT nextval(pg_get_serial_sequence('gaia_facts', 'row')) FROM generate_series(1, $1::INTEGER)"


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows of some new facts by table; those of all tables but the outbox lack the number of the fact's row."""

    facts: list[tuple[Any, ...]]
    words: list[str]
    sources: list[list[tuple[Any, ...]]]
    outbox: list[tuple[str, int]]

    def statements(self, numbers: Sequence[int], dialect: Dialect) -> Iterator[tuple[str, list[Any]]]:
        """Yield each statement with its rows, given the row numbers of the facts."""
        yield (
            _insert_statement(facts, dialect),
            [(number, *row) for number, row in zip(numbers, self.facts, strict=True)],
        )
        yield keyword_index.INSERT[dialect.name], list(zip(numbers, self.words, strict=True))
        sources_by_row = zip(numbers, self.sources, strict=True)
        yield (
            _insert_statement(sources, dialect),
            [(number, *source) for number, group in sources_by_row for source in group],
        )
        yield _insert_statement(outbox, dialect), self.outbox


async def upsert_rows(tx: Transaction, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows; a known source stays unchanged, a waiting change gets the new version."""
    if rows:
        await tx.exec_driver_sql(_insert_statement(table, tx.dialect), list(rows))


async def insert_facts(tx: Transaction, new: NewRows) -> None:
    """Write new facts with their words, sources and outbox rows, under the next free row numbers."""
    if not new.facts:
        return
    count = len(new.facts)
    numbers: Sequence[int]
    if tx.dialect.name == "sqlite":
        # No other connection writes until this transaction ends.
        last = (await tx.exec_driver_sql(_LAST_ROW_SQL)).scalar_one()
        numbers = range(last + 1, last + 1 + count)
    else:
        numbers = sorted((await tx.exec_driver_sql(_NEXT_ROWS_SQL, (count,))).scalars())
    for statement, rows in new.statements(numbers, tx.dialect):
        await tx.exec_driver_sql(statement, rows)


def _insert_statement(table: Table, dialect: Dialect) -> str:
    key = table.name, dialect.name
    if key not in _INSERT_CACHE:
        statement = (postgresql.insert if dialect.name == "postgresql" else sqlite.insert)(table)
        if table is sources:
            statement = statement.on_conflict_do_nothing(index_elements=[sources.c.fact_row, sources.c.origin])
        elif table is outbox:
            update_values = {"version": statement.excluded.version}
            statement = statement.on_conflict_do_update(index_elements=[outbox.c.fact_id], set_=update_values)
        names = [column.name for column in table.c if column.name != _AUTOINCREMENT_COLUMNS.get(table.name)]
        _INSERT_CACHE[key] = str(statement.compile(dialect=dialect, column_keys=names, for_executemany=True))
    return _INSERT_CACHE[key]
