"""Facts: list, add, correct, forget, history and undo."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Fact, Receipt
from gaia_memory.server.fact_json import past_fact_to_json, receipt_to_json
from gaia_memory.server.json_reply import reply, require_unchanged
from gaia_memory.server.routes.person import OfPerson, Person
from gaia_memory.server.routes.request_forms import (
    CorrectionForm,
    Deletion,
    DeletionForm,
    Empty,
    FactForm,
    FactId,
    Facts,
    RetirementForm,
)

router = APIRouter(prefix="/v1/apps/{app}/users/{user}/facts", tags=["facts"])


@router.get("")
async def list_facts(request: Request, person: OfPerson, query: Facts) -> Response:
    """List the facts that are current, or were at a time, oldest first."""
    filters, words, offset, limit = query.filters, query.q.split(), query.offset, query.limit
    is_plain = filters is None and query.as_of is None and query.known_at is None
    if words and not is_plain:
        filters = {"AND": [filters or {}, *({"text": {"icontains": word}} for word in words)]}
    if words and is_plain:
        # Search as you type: some ten times as fast as a filter.
        page = await person.memory.containing(person.scope, query.q, offset=offset, limit=limit)
    else:
        page = await person.memory.browse(
            person.scope, filters=filters, offset=offset, limit=limit, as_of=query.as_of, known_at=query.known_at
        )
    items = [person.to_json(fact) for fact in page.facts]
    counts = {"total": page.total, "offset": offset, "limit": limit, "has_more": page.has_more}
    return reply(request, {"items": items, **counts})


@router.post("", status_code=201)
async def add_fact(request: Request, person: OfPerson, query: Empty, form: FactForm) -> Response:
    """Store a fact word for word. A known fact is said again by this."""
    fact = await person.memory.remember(person.scope, **form.model_dump(exclude_unset=True))
    return reply(request, await person.describe(fact), status=201)


@router.delete("")
async def forget_facts(request: Request, person: OfPerson, query: Deletion, form: DeletionForm) -> Response:
    """Forget everything, or what one conversation alone taught; the answer is the receipt."""
    if not hmac.compare_digest(form.confirm.encode(errors="replace"), person.scope.user.encode(errors="replace")):
        raise HTTPException(422, "confirm: pass the id of the user whose memory is to be forgotten")
    receipt = await person.memory.forget(person.scope, session_id=form.session_id)
    return reply(request, receipt_to_json(await _settle(person, receipt, is_wanted=query.settled)))


@router.get("/{fact_id}")
async def get_fact(request: Request, person: OfPerson, fact_id: FactId, query: Empty) -> Response:
    """Return a current fact with its sources."""
    return reply(request, await person.describe(_found(await person.memory.fact(person.scope, fact_id))))


@router.patch("/{fact_id}")
async def correct_fact(
    request: Request, person: OfPerson, fact_id: FactId, query: Empty, form: CorrectionForm
) -> Response:
    """Correct a fact, which keeps its id; the earlier wording goes to its history."""
    changes = form.model_dump(exclude_unset=True)
    if "key" not in changes and all(change is None for change in changes.values()):
        raise HTTPException(422, "there is nothing to change: pass text, key or metadata")
    async with _unchanged(request, person, fact_id):
        _found(await person.memory.fact(person.scope, fact_id))
        fact = await person.memory.update(person.scope, fact_id, **changes, actor=person.caller.actor)
    return reply(request, await person.describe(fact))


@router.delete("/{fact_id}")
async def forget_fact(request: Request, person: OfPerson, fact_id: FactId, query: Deletion) -> Response:
    """Forget a fact with its earlier wordings; the answer is the receipt, with count 0 if there is no such fact."""
    async with _unchanged(request, person, fact_id):
        receipt = await person.memory.forget(person.scope, fact_id=fact_id)
    return reply(request, receipt_to_json(await _settle(person, receipt, is_wanted=query.settled)))


@router.get("/{fact_id}/history")
async def get_history(request: Request, person: OfPerson, fact_id: FactId, query: Empty) -> Response:
    """Return when a fact was true, and all that it replaced or was replaced by, oldest first."""
    line = await person.memory.history(person.scope, fact_id)
    if not line:
        raise _not_found()
    return reply(request, {"items": [past_fact_to_json(each, allow_numbers=person.allow_numbers) for each in line]})


@router.post("/{fact_id}/retire")
async def retire_fact(
    request: Request, person: OfPerson, fact_id: FactId, query: Empty, form: RetirementForm
) -> Response:
    """Say that a fact, current or past, was never true: it answers for no time any more; return its history."""
    async with _unchanged(request, person, fact_id):
        if not await person.memory.history(person.scope, fact_id):
            raise _not_found()
        await person.memory.retire(person.scope, fact_id, why=form.why, actor=person.caller.actor)
    return await get_history(request, person, fact_id, query)


@router.post("/{fact_id}/restore")
async def restore_fact(request: Request, person: OfPerson, fact_id: FactId, query: Empty) -> Response:
    """Undo the last ending of a fact, or the last correction of a current one; return what is current again."""
    if not await person.memory.history(person.scope, fact_id):
        raise _not_found()
    try:
        fact = await person.memory.restore(person.scope, fact_id, actor=person.caller.actor)
    except InvalidInputError as error:
        raise HTTPException(409, "nothing of this fact has ended that could be undone") from error
    return reply(request, await person.describe(fact))


@asynccontextmanager
async def _unchanged(request: Request, person: Person, fact_id: str) -> AsyncIterator[None]:
    """Refuse a request whose `If-Match` names another state of the fact; such requests wait for each other."""
    if "if-match" not in request.headers:
        yield
        return
    lock: asyncio.Lock = request.app.state.conditional_writes
    async with lock:
        fact = await person.memory.fact(person.scope, fact_id)
        require_unchanged(request, None if fact is None else await person.describe(fact))
        yield


async def _settle(person: Person, receipt: Receipt, *, is_wanted: bool) -> Receipt:
    if not is_wanted:
        return receipt
    await person.memory.settled()
    return replace(receipt, pending=False)


def _found(fact: Fact | None) -> Fact:
    if fact is None:
        raise _not_found()
    return fact


def _not_found() -> HTTPException:
    return HTTPException(404, "there is no such fact in this memory")
