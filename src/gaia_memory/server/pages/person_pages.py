"""The pages of one person: timeline, what is due, the profile, conversations that wait, and forgetting everything."""

from __future__ import annotations

import json
from datetime import timedelta

from starlette.responses import Response

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Receipt
from gaia_memory.server.fact_json import receipt_to_json
from gaia_memory.server.pages.person_page import PersonPage, person_routes

_DUE_DAYS = 30


def show_receipt(page: PersonPage, receipt: Receipt) -> Response:
    """Return the page that says what was forgotten, to be saved."""
    text = json.dumps(receipt_to_json(receipt), indent=2)
    return page.render("receipt.html", receipt=receipt, text=text)


async def _timeline(page: PersonPage) -> Response:
    days = await page.memory.timeline(page.scope)
    most = max((each.added + each.ended for each in days), default=0)
    rows = [
        {"date": each.day.isoformat(), "added": each.added, "ended": each.ended}
        | {"percent": round(100 * (each.added + each.ended) / most) if most else 0}
        for each in reversed(days)
    ]
    return page.render("timeline.html", tab="/timeline", days=rows)


async def _due(page: PersonPage) -> Response:
    now = page.memory.clock.now()
    items = await page.memory.due(page.scope, within=timedelta(days=_DUE_DAYS))
    facts = [(page.view(each), each) for each in items]
    return page.render("due.html", tab="/due", facts=facts, now=now, days=_DUE_DAYS)


async def _profile(page: PersonPage) -> Response:
    preview = await page.memory.preview_profile(page.scope)
    profile = preview.profile or preview.fallback
    sessions = await page.memory.session_profiles(page.scope)
    return page.render("profile.html", tab="/profile", profile=profile, sessions=sessions)


async def _conversations(page: PersonPage, report: str = "") -> Response:
    waiting = await page.memory.pending(page.scope)
    return page.render("conversations.html", tab="/conversations", waiting=waiting, report=report)


async def _learn_now(page: PersonPage) -> Response:
    before = await page.memory.count(page.scope)
    await page.person.gaia.sweep(force=True)
    learned = await page.memory.count(page.scope) - before
    return await _conversations(page, f"{learned} more facts are known." if learned else "Nothing new was learned.")


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
        ("/forget", "GET"): _ask_to_forget,
        ("/forget", "POST"): _forget,
    }
)
