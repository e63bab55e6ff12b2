"""The list of a person's facts, and the card of one fact with its line through time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from urllib.parse import quote, urlencode

from starlette.responses import Response

from gaia_memory.models.fact import describe_missing
from gaia_memory.models.masked_fact import mask_origin
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.server.pages.page_wording import describe_source
from gaia_memory.server.pages.person_page import PersonPage, person_routes
from gaia_memory.server.pages.person_tabs import show_receipt

_PAGE_FACTS = 50
_FILTERS = ("category", "context", "source", "agent")


async def _facts(page: PersonPage) -> Response:
    query = page.query
    chosen = {name: query[name] for name in _FILTERS if name in query}
    counts = await page.memory.stats(page.scope)
    choices = [(name, list(_choices(name, getattr(counts, name)))) for name in _FILTERS]
    day = _to_day(query.get("as_of", ""))
    as_of = None if day is None or (end := _end_of(day)) > page.memory.clock.now() else end
    question = query.get("q", "")
    offset = int(query["offset"]) if query.get("offset", "").isdecimal() else 0
    if question:
        result = await page.memory.explain(page.scope, question, limit=_PAGE_FACTS, filters=chosen or None, as_of=as_of)
        facts, left_out = page.view_hits(result.hits), page.view_hits(result.dropped)
        total, offset, missing = len(facts), 0, describe_missing(result.missing)
    else:
        found = await page.memory.browse(
            page.scope, filters=chosen or None, offset=offset, limit=_PAGE_FACTS, as_of=as_of
        )
        facts, left_out, total, missing = [page.view(each) for each in found.facts], [], found.total, []
    return page.render(
        "facts.html",
        q=question,
        filters=[(name, names) for name, names in choices if len(names) > 1 or name in chosen],
        chosen=chosen,
        as_of="" if day is None else day.isoformat(),
        facts=facts,
        left_out=left_out,
        summary=_summary(len(facts), total, offset),
        missing=missing,
        pages=list(_neighbours(page, query, offset, total)),
    )


def _summary(shown: int, total: int, offset: int) -> str:
    if shown == total:
        return f"{total} fact" if total == 1 else f"{total} facts"
    return f"{offset + 1} to {offset + shown} of {total} facts" if shown else f"{total} facts"


def _choices(name: str, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield each value of a filter with its label, such as "food (3)"."""
    for value, count in sorted(counts.items()):
        if value:
            yield value, f"{describe_source(value) if name == 'source' else value} ({count})"


def _to_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _end_of(day: date) -> datetime:
    return datetime.combine(day, time.max, UTC)


def _neighbours(page: PersonPage, query: Mapping[str, str], offset: int, total: int) -> Iterable[tuple[str, str]]:
    """Yield the label and the address of the earlier and the later page, as far as there are any."""
    for label, start in (("Earlier facts", offset - _PAGE_FACTS), ("Later facts", offset + _PAGE_FACTS)):
        if -_PAGE_FACTS < start < total and start != offset:
            yield label, f"{page.path}?{urlencode({**query, 'offset': max(0, start)})}"


async def _add(page: PersonPage) -> Response:
    fact = await page.memory.remember(page.scope, await page.field("text"))
    return page.redirect(f"/facts/{quote(fact.id, safe='')}")


async def _fact(page: PersonPage) -> Response:
    fact_id, allow_numbers = page.request.path_params["id"], page.person.allow_numbers
    line = await page.memory.history(page.scope, fact_id)
    if not line:
        return page.render("unknown_fact.html", status=404)
    fact = await page.memory.fact(page.scope, fact_id)
    shows_sensitive = "show" in page.query
    is_veiled = not shows_sensitive and await _is_any_sensitive(page, {past.id for past in line})
    sources = await page.memory.sources(page.scope, fact_id)
    return page.render(
        "fact.html",
        fact=None if fact is None else page.view(fact, shows_sensitive=shows_sensitive),
        fact_id=fact_id,
        is_veiled=is_veiled,
        history=[(past, mask_credentials(past.text, allow_numbers=allow_numbers)) for past in line],
        can_undo=any(past.ended_at is not None for past in line),
        sources=[mask_origin(each, allow_numbers=allow_numbers) for each in sources],
    )


async def _is_any_sensitive(page: PersonPage, ids: Iterable[str]) -> bool:
    """Return whether a current fact of a line is sensitive: then all of the line is."""
    facts = [await page.memory.fact(page.scope, each) for each in ids]
    return any(each is not None and each.sensitive for each in facts)


async def _edit(page: PersonPage) -> Response:
    fact_id, text = page.request.path_params["id"], await page.field("text")
    fact = await page.memory.update(page.scope, fact_id, text=text, actor=page.person.caller.actor)
    return page.redirect(f"/facts/{quote(fact.id, safe='')}")


async def _undo(page: PersonPage) -> Response:
    fact_id = page.request.path_params["id"]
    fact = await page.memory.restore(page.scope, fact_id, actor=page.person.caller.actor)
    return page.redirect(f"/facts/{quote(fact.id, safe='')}")


async def _forget(page: PersonPage) -> Response:
    return show_receipt(page, await page.memory.forget(page.scope, fact_id=page.request.path_params["id"]))


ROUTES = person_routes(
    {
        ("", "GET"): _facts,
        ("/facts", "POST"): _add,
        ("/facts/{id}", "GET"): _fact,
        ("/facts/{id}/edit", "POST"): _edit,
        ("/facts/{id}/undo", "POST"): _undo,
        ("/facts/{id}/forget", "POST"): _forget,
    }
)
