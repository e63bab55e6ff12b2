"""The keyword index, which counts the facts with a word: FTS5 on SQLite, a tsvector with a GIN index on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select, text

from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.tables import facts
from gaia_memory.language.tokenizer import compound_tokens, index_tokens

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
_QUOTE = {"sqlite": '"', "postgresql": "'"}

_PREFIX_ALPHABET = "bcdfghjklmnpqrstvwxz"


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


async def document_counts(tx: Transaction, partition: str, number: int, words: Sequence[str]) -> tuple[int, list[int]]:
    """Return how many facts a scope has, and how many of them contain each word."""
    dialect, prefix = tx.dialect.name, scope_prefix(number)
    total = select(func.count()).select_from(facts).where(facts.c.partition == partition, current_or_past())
    columns = [
        f"(SELECT count(*) FROM gaia_words WHERE {_MATCH_CONDITION[dialect].format(f':t{position}')})"
        for position in range(len(words))
    ]
    # A word is letters and digits; quoted, it is a plain string in both query languages.
    quote = _QUOTE[dialect]
    values = {f"t{position}": f"{quote}{prefix}{word}{quote}" for position, word in enumerate(words)}
    counts = (await tx.execute(text(f"SELECT {', '.join(columns)}"), values)).one()
    return (await tx.execute(total)).scalar_one(), list(counts)
