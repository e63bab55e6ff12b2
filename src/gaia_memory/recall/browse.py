"""Lists facts without a question, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_memory.models import FactPredicate, Page, PointInTime, Scope
from gaia_memory.models.validation import require_int

if TYPE_CHECKING:
    from gaia_memory.ledger.memory_stores import MemoryStores

MAX_PAGE_FACTS = 100
"""Facts on one page."""


async def load_page(
    stores: MemoryStores,
    scope: Scope,
    predicate: FactPredicate | None,
    moment: PointInTime | None = None,
    *,
    offset: int,
    limit: int,
    include_origins: bool = False,
) -> Page:
    """Return the facts from `offset` on for which `predicate` is true, at most `limit`, oldest first.

    With a `moment`, those that held then.

    Raises:
        InvalidInputError: `offset` is below 0, or `limit` is not from 1 to 100.
    """
    require_page(offset, limit)
    facts = stores.facts
    async with stores.database.read_transaction() as tx:
        if moment is not None:
            ids = await facts.past.ids_as_of(tx, scope, moment)
            if predicate is not None:
                held = await facts.past.get_any(tx, scope, ids)
                ids = [fact_id for fact_id in ids if predicate(held[fact_id])]
            total, page_ids = len(ids), ids[offset : offset + limit]
            found = await facts.past.get_any(tx, scope, page_ids)
            page_facts = [found[fact_id] for fact_id in page_ids]
        elif predicate is None:
            total = await facts.count(tx, scope)
            page_facts = await facts.facts(tx, scope, limit=limit, offset=offset)
        else:
            ids = await facts.ids_matching(tx, scope, predicate)
            total, page_ids = len(ids), ids[offset : offset + limit]
            found = await facts.get(tx, scope, page_ids)
            page_facts = [found[fact_id] for fact_id in page_ids]
        origins = await facts.provenance.origins(tx, scope, [fact.id for fact in page_facts]) if include_origins else {}
    return Page(facts=tuple(page_facts), total=total, offset=offset, origins=origins)


def require_page(offset: int, limit: int) -> None:
    """Check the place and the size of a page.

    Raises:
        InvalidInputError: `offset` is below 0, or `limit` is not from 1 to 100.
    """
    require_int("offset", offset, minimum=0, maximum=2**63 - 1, fix="pass how many facts to leave out, from 0 on")
    require_int("limit", limit, minimum=1, maximum=MAX_PAGE_FACTS, fix=f"pass 1 to {MAX_PAGE_FACTS}")
