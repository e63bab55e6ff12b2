"""A fact as the pages present it: what is shown, veiled, and in which words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from gaia_memory.models import Fact
from gaia_memory.server.pages.page_wording import describe_source, format_moment


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
