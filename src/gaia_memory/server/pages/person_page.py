"""What the pages of one person share: whose they are, their paths, their errors, and how a fact is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gaia_memory.errors import GaiaMemoryError, InvalidInputError, MemoryUnavailable
from gaia_memory.models import Fact, Hit
from gaia_memory.models.masked_fact import mask_fact
from gaia_memory.redaction.redact_locations import redact_locations
from gaia_memory.server.pages.page_renderer import path_to, render, show_http_error
from gaia_memory.server.pages.page_wording import describe_source, format_moment
from gaia_memory.server.routes.person import person_of, require_database
from gaia_memory.server.routes.request_forms import refuse_repeated_parameters

Page = Callable[[Request], Awaitable[Response]]


class PersonPage:
    """A request for a page of one person."""

    def __init__(self, request: Request) -> None:
        """Read the person from the path of the request."""
        self.request = request
        app, user = request.path_params["app"], unquote(request.path_params["user"])
        self.person = person_of(request, app, user)
        self.memory, self.scope = self.person.memory, self.person.scope
        self.path = path_to(request, "people", app, user)
        self.rest_path = path_to(request, "v1", "apps", app, "users", user)
        self.may_write = self.person.caller.may_write(user)

    @property
    def query(self) -> dict[str, str]:
        """The values in the address that are not blank."""
        return {name: value.strip() for name, value in self.request.query_params.items() if value.strip()}

    async def field(self, name: str) -> str:
        """Return a field of the submitted form, empty if it is missing."""
        async with self.request.form() as form:
            value = form.get(name)
        return value.strip() if isinstance(value, str) else ""

    def view(self, fact: Fact, *, shows_sensitive: bool = False, why: str = "") -> FactView:
        """Return a fact as a page shows it, credentials masked."""
        masked = mask_fact(fact, allow_numbers=self.person.allow_numbers)
        return view_fact(masked, self.path, shows_sensitive=shows_sensitive, why=why)

    def view_hits(self, hits: Iterable[Hit]) -> list[FactView]:
        """Return found facts as a page shows them, with their scores."""
        return [self.view(hit.fact, why=describe_score(hit.score, hit.why)) for hit in hits]

    def render(self, template: str, *, tab: str = "", status: int = 200, **values: Any) -> Response:
        """Return a page; `tab` is the end of the path of its tab."""
        return render(
            self.request,
            template,
            status=status,
            tab=tab,
            app=self.person.app,
            user=self.scope.user,
            person=self.path,
            rest=self.rest_path,
            events=f"{self.rest_path}/events",
            may_write=self.may_write,
            is_admin=self.person.caller.is_admin,
            **values,
        )

    def redirect(self, path: str = "") -> Response:
        """Return a redirection to a page of this person, for the answer to a form."""
        return RedirectResponse(f"{self.path}{path}", 303)


def person_routes(pages: Mapping[tuple[str, str], Callable[[PersonPage], Awaitable[Response]]]) -> list[Route]:
    """Return the routes below `/people/{app}/{user}` for functions by the end of the path and the method."""
    prefix = "/people/{app}/{user}"
    return [Route(prefix + path, _endpoint(page), methods=[method]) for (path, method), page in pages.items()]


def _endpoint(page: Callable[[PersonPage], Awaitable[Response]]) -> Page:
    async def endpoint(request: Request) -> Response:
        await require_database(request)
        return await page(PersonPage(request))

    return with_error_page(endpoint)


def with_error_page(page: Page) -> Page:
    """Return an endpoint that shows an error of this package as a page."""

    async def endpoint(request: Request) -> Response:
        refuse_repeated_parameters(request)
        try:
            return await page(request)
        except InvalidInputError as error:
            return render(request, "error.html", status=422, title="That is not accepted", detail=str(error))
        except MemoryUnavailable as error:
            detail = ". ".join(redact_locations(each) for each in (error.reason, error.remedy) if each)
            return render(request, "error.html", status=503, title="Memory cannot answer now", detail=detail)
        except HTTPException as error:
            return show_http_error(request, error)
        except GaiaMemoryError as error:
            detail = redact_locations(str(error))
            return render(request, "error.html", status=503, title="Memory cannot do that now", detail=detail)

    return endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """One fact of a list or a card; `why` says how it was found. `is_veiled`: its text is only shown when asked for."""

    id: str
    text: str
    path: str
    said_at: datetime
    told: str
    agent: str | None
    category: str | None
    context: str
    marks: tuple[str, ...]
    is_veiled: bool
    why: str = ""
    details: tuple[tuple[str, str], ...] = ()


def view_fact(fact: Fact, person: str, *, shows_sensitive: bool = False, why: str = "") -> FactView:
    """Return a fact for a page of the person with the path `person`."""
    return FactView(
        id=fact.id,
        text=fact.text,
        path=f"{person}/facts/{quote(fact.id, safe='')}",
        said_at=fact.said_at or fact.created_at,
        told=describe_source(fact.source),
        agent=fact.agent,
        category=fact.category,
        context=fact.context,
        marks=tuple(dict.fromkeys(fact.marks)),
        is_veiled=fact.sensitive and not shows_sensitive,
        why=why,
        details=tuple(_details(fact)),
    )


def describe_score(score: float, why: Mapping[str, float]) -> str:
    """Return a hit's score with its largest parts, such as "score 1.42: keywords 1.2, vectors 0.2"."""
    parts = sorted(why.items(), key=lambda part: -abs(part[1]))[:3]
    shown = ", ".join(f"{name} {value:.2g}" for name, value in parts if value)
    return f"score {score:.2f}" + (f": {shown}" if shown else "")


def _details(fact: Fact) -> Iterator[tuple[str, str]]:
    yield "Said", format_moment(fact.said_at or fact.created_at)
    if fact.first_said_at is not None and fact.first_said_at != fact.said_at:
        yield "First said", format_moment(fact.first_said_at)
    yield "How", describe_source(fact.source)
    labels = ("agent", "category", "key", "entity", "session_id", "every")
    yield from ((_label(name), value) for name in labels if (value := getattr(fact, name)))
    yield "Context", fact.context
    times = ("due_at", "valid_from", "valid_until", "in_doubt_since")
    yield from ((_label(name), format_moment(value)) for name in times if (value := getattr(fact, name)) is not None)
    yield from ((name, str(value)) for name, value in sorted(fact.metadata.items()))


def _label(name: str) -> str:
    return {"session_id": "Conversation"}.get(name, name.replace("_", " ").removesuffix(" at").capitalize())
