"""The tabs of one person: timeline, what is due, profile, waiting conversations, use; and forgetting everything."""

from __future__ import annotations

import json
from datetime import timedelta

from starlette.responses import Response

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import LearnedFacts, Receipt, SessionKey
from gaia_memory.server.fact_json import conversation_to_json, receipt_to_json
from gaia_memory.server.pages.person_page import PersonPage, person_routes
from gaia_memory.server.routes.session_prompts import read_prompts

_DUE_DAYS = _USAGE_DAYS = 30


def show_receipt(page: PersonPage, receipt: Receipt) -> Response:
    """Return the page that says what was forgotten, to be saved."""
    text = json.dumps(receipt_to_json(receipt), indent=2)
    return page.render("receipt.html", receipt=receipt, text=text)


async def _timeline(page: PersonPage) -> Response:
    days = await page.memory.timeline(page.scope)
    most = max(1, *(each.added + each.ended for each in days))
    rows = [
        {"date": each.day.isoformat(), "added": each.added, "ended": each.ended}
        | {"added_percent": round(100 * each.added / most, 1), "ended_percent": round(100 * each.ended / most, 1)}
        for each in days
    ]
    added, ended = sum(each.added for each in days), sum(each.ended for each in days)
    return page.render("timeline.html", tab="/timeline", days=rows, added=added, ended=ended)


async def _due(page: PersonPage) -> Response:
    now = page.memory.clock.now()
    items = await page.memory.due(page.scope, within=timedelta(days=_DUE_DAYS), include_sensitive=True)
    facts = [(page.view(each), each) for each in items]
    return page.render("due.html", tab="/due", facts=facts, now=now, days=_DUE_DAYS)


async def _profile(page: PersonPage) -> Response:
    preview = await page.memory.preview_profile(page.scope)
    profile, is_written = preview.profile or preview.fallback, preview.profile is not None
    sessions = [
        {
            "profile": each.profile,
            "said_at": each.said_at,
            "notes": each.notes,
            "shown": [page.view(fact) for fact in each.shown],
            "due": [page.view(fact) for fact in each.due],
            "recalled": page.view_hits(each.recalled),
            "left_out": page.view_hits(each.left_out),
        }
        for each in await read_prompts(page.person)
    ]
    return page.render("profile.html", tab="/profile", profile=profile, is_written=is_written, sessions=sessions)


async def _conversations(page: PersonPage, report: str = "") -> Response:
    now = page.memory.clock.now().timestamp()
    waiting = [conversation_to_json(each, now=now) for each in await page.memory.pending(page.scope)]
    idle_minutes = page.person.gaia.config.sessions.idle_consolidate_minutes
    return page.render(
        "conversations.html", tab="/conversations", waiting=waiting, report=report, idle_minutes=f"{idle_minutes:g}"
    )


async def _learn_now(page: PersonPage) -> Response:
    key = SessionKey(await page.field("app"), page.scope.user, await page.field("session_id"))
    if all(each.key != key for each in await page.memory.pending(page.scope)):
        return await _conversations(page, "This conversation does not wait any more.")
    learned = LearnedFacts()
    outcome = await page.person.gaia.engine.consolidate(key, learned=learned)
    if outcome in ("failed", "skipped"):
        says = "It could not be learned" if outcome == "failed" else "Another process or a later attempt learns it"
        return await _conversations(page, f"{says}: see below.")
    facts = f"{learned.count} fact was" if learned.count == 1 else f"{learned.count or 'no'} facts were"
    return await _conversations(page, f"{facts[0].upper()}{facts[1:]} learned from {key.session}.")


async def _usage(page: PersonPage) -> Response:
    digest = await page.memory.usage(page.scope, days=_USAGE_DAYS)
    return page.render("usage.html", tab="/usage", digest=digest)


async def _ask_to_forget(page: PersonPage) -> Response:
    return page.render("forget.html", count=await page.memory.count(page.scope))


async def _forget(page: PersonPage) -> Response:
    if await page.field("confirm") != page.scope.user:
        raise InvalidInputError("The user id does not match. Nothing was forgotten.")
    return show_receipt(page, await page.memory.forget(page.scope))


ROUTES = person_routes(
    {
        ("/timeline", "GET"): _timeline,
        ("/due", "GET"): _due,
        ("/profile", "GET"): _profile,
        ("/conversations", "GET"): _conversations,
        ("/conversations", "POST"): _learn_now,
        ("/usage", "GET"): _usage,
        ("/forget", "GET"): _ask_to_forget,
        ("/forget", "POST"): _forget,
    }
)
