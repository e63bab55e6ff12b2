"""The person whom a request is about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request

from gaia_memory.adk.gaia import Gaia
from gaia_memory.config.schema import is_app_name
from gaia_memory.memory import Memory
from gaia_memory.models import Fact, Scope, SessionKey
from gaia_memory.server.access.access_tokens import Caller
from gaia_memory.server.fact_json import fact_to_json, fact_with_sources
from gaia_memory.server.routes.request_forms import AppName, UserId


@dataclass(frozen=True, slots=True)
class Person:
    """The memory that a request is about, and who sent the request."""

    gaia: Gaia
    app: str
    scope: Scope
    caller: Caller

    @property
    def memory(self) -> Memory:
        """The memory of everybody."""
        return self.gaia.memory

    @property
    def allow_numbers(self) -> bool:
        """Whether numbers of cards and accounts may be shown."""
        return self.gaia.config.memory.allow_numbers

    def to_json(self, fact: Fact) -> dict[str, Any]:
        """Return a fact as data for JSON."""
        return fact_to_json(fact, allow_numbers=self.allow_numbers)

    async def shown_facts(self, key: SessionKey) -> list[Fact]:
        """Return the current facts that the model of a session was shown in turns, by its tools or unasked."""
        return await self.gaia.engine.conversations.shown_facts(key, self.scope)

    async def short_ids(self, key: SessionKey, fact_ids: Collection[str]) -> dict[str, str]:
        """Return the short ids under which the model of a session sees facts."""
        return await self.gaia.engine.conversations.show_facts(key, self.scope, fact_ids, is_noted=False)

    async def describe(self, fact: Fact) -> dict[str, Any]:
        """Return a fact with its sources as data for JSON."""
        origins = await self.memory.sources(self.scope, fact.id)
        return fact_with_sources(fact, origins, allow_numbers=self.allow_numbers)


def gaia_of(request: Request) -> Gaia:
    """Return the open memory of the application."""
    gaia: Gaia = request.app.state.gaia
    return gaia


def person_of(request: Request, app: AppName, user: UserId) -> Person:
    """Return the person in the path of a request."""
    if not is_app_name(app):
        raise HTTPException(422, "the path names no app: use a letter, then letters, digits, `_` and `-`; not `user`")
    gaia = gaia_of(request)
    return Person(gaia, app, gaia.engine.scope(app, user), request.state.caller)


async def require_database(request: Request) -> None:
    """Check that what is read is in the database still.

    Raises:
        MemoryUnavailable: it is not, or damage was found.
    """
    await gaia_of(request).memory.require_intact()


OfPerson = Annotated[Person, Depends(person_of)]
OpenMemory = Annotated[Gaia, Depends(gaia_of)]
