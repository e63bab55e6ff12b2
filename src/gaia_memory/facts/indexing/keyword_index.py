"""The keyword index: FTS5 on SQLite, a tsvector with a GIN index on PostgreSQL, one ranking for both."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, text

from gaia_memory.facts.current import current_sql
from gaia_memory.facts.indexing.index_stats import IndexStats, measure
from gaia_memory.language.tokenizer import compound_tokens, index_tokens, query_tokens
from gaia_memory.models import Candidate

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

INSERT = {
    "sqlite": "INSERT INTO gaia_words (rowid, words) VALUES (?, ?)",
    "postgresql": (
        "INSERT INTO gaia_words (fact_row, words) VALUES ($1::BIGINT, to_tsvector('gaia_text', $2::VARCHAR))"
    ),
}
"""Takes the row of a fact and the result of `index_entry` for its text."""

_KEY_COLUMN = {"sqlite": "rowid", "postgresql": "fact_row"}
_MATCH_CONDITION = {"sqlite": "gaia_words MATCH {0}", "postgresql": "words @@ to_tsquery('gaia_text', {0})"}
_OR_OPERATOR = {"sqlite": " OR ", "postgresql": " | "}
_LENGTH_JOIN = {"sqlite": "CROSS JOIN", "postgresql": "JOIN"}
_LENGTH_INDEX = {"sqlite": "INDEXED BY ix_gaia_facts_partition_row_words", "postgresql": ""}
"""Makes SQLite read the number of words from a narrow index: each row of the table contains a vector."""

_PREFIX_ALPHABET = "bcdfghjklmnpqrstvwxz"
_LENGTH_WEIGHT = 0.75


def count_words(fact_text: str) -> int:
    """Count the words of a text in the index."""
    return len(index_tokens(fact_text))


def scope_prefix(number: int) -> str:
    """Return the prefix of each word of scope `number`, which keeps the words of scopes apart.

    A search then reads the words of one scope only. The prefix has only consonants, because a stemmer counts vowels,
    and ends with a digit, so that no prefix is the beginning of another.
    """
    prefix = ""
    while True:
        number, digit = divmod(number, len(_PREFIX_ALPHABET))
        prefix = _PREFIX_ALPHABET[digit] + prefix
        if not number:
            return prefix + "0"


def index_entry(prefix: str, words: Iterable[str], compounds: Iterable[str]) -> str:
    """Return the index entry of a text with these words and compounds, in the scope with this prefix."""
    tokens = [*words, *compounds]
    return prefix + f" {prefix}".join(tokens) if tokens else ""


async def index(tx: Transaction, number: int, rows: Iterable[tuple[int, str]]) -> None:
    """Add texts, each with its fact's row, to the index of scope `number`."""
    prefix = scope_prefix(number)
    entries = [(row, index_entry(prefix, index_tokens(body), compound_tokens(body))) for row, body in rows]
    if entries:
        await tx.exec_driver_sql(INSERT[tx.dialect.name], entries)


async def unindex(tx: Transaction, rows: Sequence[int]) -> None:
    """Remove facts from the index."""
    statement = text(f"DELETE FROM gaia_words WHERE {_KEY_COLUMN[tx.dialect.name]} IN :rows")
    await tx.execute(statement.bindparams(bindparam("rows", expanding=True)), {"rows": list(rows)})


async def unindex_all(tx: Transaction, partition: str) -> None:
    """Remove all facts of a scope from the index."""
    key = _KEY_COLUMN[tx.dialect.name]
    statement = f"DELETE FROM gaia_words WHERE {key} IN (SELECT row FROM gaia_facts WHERE partition = :partition)"
    await tx.execute(text(statement), {"partition": partition})


async def match(tx: Transaction, stats: IndexStats, query: str, *, limit: int) -> list[Candidate]:
    """Return the facts of a scope that contain words of the query, those with the rarest words first."""
    terms = [_quoted(scope_prefix(stats.number) + word, tx.dialect.name) for word in query_tokens(query)]
    if not terms or limit < 1:
        return []
    weights = [pair for pair in zip(terms, await _idf(tx, terms, stats.fact_count), strict=True) if pair[1]]
    if not weights:
        return []
    matches, key = _MATCH_CONDITION[tx.dialect.name], _KEY_COLUMN[tx.dialect.name]
    weighted_matches = " UNION ALL ".join(
        f"SELECT {key} AS row, CAST(:w{position} AS double precision) AS weight"
        f" FROM gaia_words WHERE {matches.format(f':t{position}')}"
        for position in range(len(weights))
    )
    statement = text(
        f"WITH best AS (SELECT row, SUM(weight) AS weight FROM ({weighted_matches}) AS found GROUP BY row), first AS ("
        "SELECT f.row, best.weight"
        " / (CAST(:base AS double precision) + f.words * CAST(:a_word AS double precision)) AS score"
        f" FROM best {_LENGTH_JOIN[tx.dialect.name]} gaia_facts AS f {_LENGTH_INDEX[tx.dialect.name]}"
        f" ON f.row = best.row WHERE f.partition = :partition AND {current_sql('f')}"
        " ORDER BY score DESC, f.row DESC LIMIT :limit)"
        " SELECT f.id, first.score FROM first JOIN gaia_facts AS f ON f.row = first.row"
        " ORDER BY first.score DESC, f.row DESC"
    )
    values: dict[str, Any] = {"partition": stats.partition, "limit": limit}
    values |= {"base": 1 - _LENGTH_WEIGHT, "a_word": _LENGTH_WEIGHT / stats.average_words}
    for position, (term, weight) in enumerate(weights):
        values |= {f"t{position}": term, f"w{position}": weight}
    rows = await tx.execute(statement, values)
    return [Candidate(fact_id=row.id, score=row.score) for row in rows]


async def idf(tx: Transaction, stats: IndexStats, words: Sequence[Collection[str]]) -> list[float]:
    """Return the IDF of each set of synonyms; 0 when no fact of the scope contains any."""
    prefix, or_operator = scope_prefix(stats.number), _OR_OPERATOR[tx.dialect.name]
    terms = [or_operator.join(_quoted(prefix + word, tx.dialect.name) for word in sorted(same)) for same in words]
    return await _idf(tx, terms, stats.fact_count)


async def document_counts(tx: Transaction, partition: str, number: int, words: Sequence[str]) -> tuple[int, list[int]]:
    """Return how many facts a scope has, and how many of them contain each word."""
    total = (await measure(tx, partition, number)).fact_count
    return total, await _document_counts(tx, [_quoted(scope_prefix(number) + word, tx.dialect.name) for word in words])


async def _idf(tx: Transaction, terms: Sequence[str], total: int) -> list[float]:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)) of each term that n of N facts contain; 0 where n is 0."""
    document_counts = await _document_counts(tx, terms)
    return [math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0 for count in document_counts]


async def _document_counts(tx: Transaction, terms: Sequence[str]) -> list[int]:
    matches = _MATCH_CONDITION[tx.dialect.name]
    columns = ", ".join(
        f"(SELECT count(*) FROM gaia_words WHERE {matches.format(f':t{position}')})" for position in range(len(terms))
    )
    values = {f"t{position}": term for position, term in enumerate(terms)}
    return list((await tx.execute(text(f"SELECT {columns}"), values)).one())


def _quoted(word: str, dialect: str) -> str:
    # A word is letters and digits; quoted, it is a plain string in both query languages.
    return f'"{word}"' if dialect == "sqlite" else f"'{word}'"
