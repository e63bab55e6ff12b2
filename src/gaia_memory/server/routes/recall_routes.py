"""What memory answers and what an agent is told: search, profile and prompt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gaia_memory.models import Profile
from gaia_memory.server.fact_json import hit_to_json, to_plain
from gaia_memory.server.json_reply import reply
from gaia_memory.server.routes.person import OfPerson
from gaia_memory.server.routes.request_forms import Due, Empty, Search
from gaia_memory.server.routes.session_prompts import prompt_to_json, read_prompts

router = APIRouter(prefix="/v1/apps/{app}/users/{user}", tags=["recall"])


@router.get("/search")
async def search(request: Request, person: OfPerson, query: Search) -> Response:
    """Return the facts that answer a question best, with reasons, and those that were left out."""
    found = await person.memory.explain(
        person.scope,
        query.q,
        limit=query.limit,
        filters=query.filters,
        include_sensitive=query.include_sensitive,
        as_of=query.as_of,
        known_at=query.known_at,
    )
    hits, left_out = (
        [hit_to_json(hit, allow_numbers=person.allow_numbers) for hit in hits] for hits in (found.hits, found.dropped)
    )
    more = {"limit": found.limit, "missing": list(found.missing), "expansions": list(found.expansions)}
    return reply(request, {"items": hits, "left_out": left_out, **more})


@router.get("/due")
async def list_due(request: Request, person: OfPerson, query: Due) -> Response:
    """List the facts that are due within some days or overdue, soonest first."""
    within = timedelta(days=query.days)
    due = await person.memory.due(person.scope, within, include_sensitive=query.include_sensitive)
    return reply(request, {"items": [person.to_json(fact) for fact in due]})


@router.get("/profile")
async def get_profile(request: Request, person: OfPerson, query: Empty) -> Response:
    """Return the profile that the next session gets; asks no model. `is_current`: it is written, from today's facts.

    Otherwise the model writes one when the session begins, and `bullets` are only what the session gets if that fails.
    """
    preview = await person.memory.preview_profile(person.scope)
    profile = _profile_to_json(preview.profile or preview.fallback)
    return reply(request, {**profile, "is_current": preview.profile is not None, "facts": preview.fact_count})


@router.get("/prompt")
async def get_prompt(request: Request, person: OfPerson, query: Empty) -> Response:
    """Return what models of running sessions are told; notes and search of a waiting message are made again for it."""
    items = [prompt_to_json(prompt, person) for prompt in await read_prompts(person)]
    return reply(request, {"items": items})


def _profile_to_json(profile: Profile) -> dict[str, Any]:
    return {"bullets": list(profile.bullets), "made_by": profile.made_by, "made_at": to_plain(profile.made_at)}
