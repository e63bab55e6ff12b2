"""Shows what is known where nobody asks a question: page by page, or by a word."""

from __future__ import annotations

from gaia_memory.models import Fact, Holds, Page, Scope
from gaia_memory.models.validation import whole_number
from gaia_memory.ports import Database, FactStore
from gaia_memory.recall.retrievers import KeywordRetriever

MAX_PAGE = 100
"""Facts of one page."""


async def page_of(
    database: Database, facts: FactStore, scope: Scope, meant: Holds | None, *, offset: int, limit: int
) -> Page:
    """Return the facts from `offset` on that are meant, at most `limit`, oldest first.

    Raises:
        InvalidInputError: `offset` is below 0, or `limit` is not from 1 to 100.
    """
    whole_number("offset", offset, lowest=0, highest=2**63 - 1, fix="pass how many facts to leave out, from 0 on")
    whole_number("limit", limit, lowest=1, highest=MAX_PAGE, fix=f"pass 1 to {MAX_PAGE}")
    async with database.reading() as tx:
        if meant is None:
            total = await facts.count(tx, scope)
            shown = await facts.facts(tx, scope, limit=limit, offset=offset)
            return Page(facts=tuple(shown), total=total, offset=offset)
        ids = await facts.matching(tx, scope, meant)
        found = await facts.get(tx, scope, ids[offset : offset + limit])
        return Page(facts=tuple(found[each] for each in ids[offset : offset + limit]), total=len(ids), offset=offset)


async def holding(database: Database, facts: FactStore, scope: Scope, words: str, *, limit: int) -> list[Fact]:
    """Return the facts that hold one of these words, in any of its forms, best first."""
    found = await KeywordRetriever(database, facts).retrieve(scope, words, limit=limit)
    async with database.reading() as tx:
        held = await facts.get(tx, scope, [each.fact_id for each in found])
    return [held[each.fact_id] for each in found if each.fact_id in held]
