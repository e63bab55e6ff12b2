"""Take everything known of a person along, and bring it back."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body
from starlette.requests import Request
from starlette.responses import Response

from gaia_memory.server.json_reply import reply
from gaia_memory.server.routes.person import OfPerson
from gaia_memory.server.routes.request_forms import Empty
from gaia_memory.threads import run_in_thread

router = APIRouter(prefix="/v1/apps/{app}/users/{user}", tags=["export"])


@router.get("/export")
async def export_memory(request: Request, person: OfPerson, query: Empty) -> Response:
    """Return everything stored about a person."""
    data = await person.memory.export(person.scope)
    return await run_in_thread(partial(reply, request, data))


@router.post("/import")
async def import_memory(
    request: Request,
    person: OfPerson,
    query: Empty,
    data: Annotated[dict[str, Any], Body(description="What `export` returned.")],
) -> Response:
    """Store what an export returned, all or none. What was forgotten stays forgotten."""
    return reply(request, {"count": await person.memory.import_(person.scope, data)})
