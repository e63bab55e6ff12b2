"""Conversations that are not learned yet."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gaia_memory.models import LearnedFacts, SessionKey
from gaia_memory.server.fact_json import conversation_to_json
from gaia_memory.server.json_reply import reply
from gaia_memory.server.routes.person import OfPerson
from gaia_memory.server.routes.request_forms import Empty, LearnForm

router = APIRouter(prefix="/v1/apps/{app}/users/{user}/conversations", tags=["conversations"])


@router.get("")
async def list_conversations(request: Request, person: OfPerson, query: Empty) -> Response:
    """List the conversations that wait to be learned, or are parked, and why."""
    now = person.memory.clock.now().timestamp()
    pending = await person.memory.pending(person.scope)
    return reply(request, {"items": [conversation_to_json(each, now=now) for each in pending]})


@router.post("")
async def learn_conversation(request: Request, person: OfPerson, query: Empty, form: LearnForm) -> Response:
    """Learn a waiting conversation now, quiet or not, and clear it as a sweep does."""
    key = SessionKey(person.app, person.scope.user, form.session_id)
    if all(each.key != key for each in await person.memory.pending(person.scope)):
        raise HTTPException(404, "no such conversation waits to be learned")
    learned = LearnedFacts()
    outcome = await person.gaia.engine.consolidate(key, learned=learned)
    facts = [person.to_json(fact) for fact in learned.first]
    return reply(request, {"outcome": outcome, "count": learned.count, "facts": facts})
