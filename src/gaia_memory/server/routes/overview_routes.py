"""How memory is doing, for one person and for all."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gaia_memory.models import PersonSummary
from gaia_memory.redaction.redact_locations import redact_locations
from gaia_memory.server.fact_json import to_plain
from gaia_memory.server.json_reply import reply
from gaia_memory.server.routes.person import OfPerson, OpenMemory
from gaia_memory.server.routes.request_forms import Empty, People, Sweep, Timeline, Usage

router = APIRouter(tags=["overview"])
_PERSON = "/v1/apps/{app}/users/{user}"
_STATUS_COUNTS = ("facts", "unconfirmed", "unverified", "queued", "lag", "erasures")


@router.get(f"{_PERSON}/status")
async def get_status(request: Request, person: OfPerson, query: Empty) -> Response:
    """Return how memory is doing for a person: `ok`, `degraded` or `disabled`, why, and what to do.

    `usage` has the tokens of everybody's memory, of `today` (UTC) and of the `last_30_days`, by purpose.
    """
    pending = await person.memory.pending(person.scope)
    status = await person.memory.status(person.scope)
    counts = {name: getattr(status, name) for name in _STATUS_COUNTS} | {"pending": len(pending)}
    words = {name: redact_locations(getattr(status, name)) for name in ("reason", "remedy", "model", "embedder")}
    notes = list(map(redact_locations, status.notes))
    usage = {time: {name: asdict(each) for name, each in used.items()} for time, used in status.usage.items()}
    return reply(request, {"state": status.state, **words, **counts, "notes": notes, "usage": usage})


@router.get(f"{_PERSON}/stats")
async def get_stats(request: Request, person: OfPerson, query: Empty) -> Response:
    """Count the facts by category, context, source, agent and day (UTC)."""
    counts = asdict(await person.memory.stats(person.scope))
    days = {day.isoformat(): number for day, number in counts.pop("day").items()}
    total = counts.pop("total")
    return reply(request, {"total": total, **{f"by_{name}": each for name, each in counts.items()}, "by_day": days})


@router.get(f"{_PERSON}/timeline")
async def get_timeline(request: Request, person: OfPerson, query: Timeline) -> Response:
    """Count the statements that were stored and that ended on each day (UTC), oldest first."""
    days = await person.memory.timeline(person.scope, days=query.days)
    return reply(request, {"items": [{**asdict(each), "day": each.day.isoformat()} for each in days]})


@router.get(f"{_PERSON}/usage")
async def get_usage(request: Request, person: OfPerson, query: Usage) -> Response:
    """Count what a person used in turns: tools, commands, channels, by day and hour of `memory.time_zone`."""
    return reply(request, (await person.memory.usage(person.scope, days=query.days)).to_dict())


@router.get("/v1/people")
async def list_people(request: Request, gaia: OpenMemory, query: People) -> Response:
    """List everybody with a fact or a waiting conversation; for admins."""
    folded = query.q.casefold()
    people = [each for each in await gaia.memory.people() if folded in each.scope.user.casefold()]
    shown = people[query.offset : query.offset + query.limit]
    counts = {"total": len(people), "offset": query.offset, "limit": query.limit}
    has_more = query.offset + len(shown) < len(people)
    return reply(
        request, {"items": [_to_json(each, gaia.config.app) for each in shown], **counts, "has_more": has_more}
    )


@router.post("/v1/sweep")
async def sweep(request: Request, gaia: OpenMemory, query: Empty, form: Sweep) -> Response:
    """Learn from every quiet conversation of everybody; for admins."""
    report = await gaia.sweep(force=form.force)
    names = ("consolidated", "failed", "skipped", "private", "nothing_left", "without_model", "fact_count")
    counts = {name: getattr(report, name) for name in names}
    return reply(request, {**counts, "reason": redact_locations(report.reason)})


@router.get("/health", tags=["health"])
async def get_health(request: Request, gaia: OpenMemory, query: Empty) -> Response:
    """Say whether the database answers; needs no token."""
    await gaia.memory.pending_erasures()
    return reply(request, {"status": "ok"})


def _to_json(person: PersonSummary, default_app: str) -> dict[str, Any]:
    """Return a person; where all apps share one memory, any app leads to it."""
    return {
        "app": person.scope.app or default_app,
        "user": person.scope.user,
        "facts": person.facts,
        "pending": person.pending,
        "last_message_at": to_plain(person.last_message_at),
        "last_change_at": to_plain(person.last_change_at),
    }
