"""The form of exported data: written from what is held, and read with every value checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn, cast, get_args

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.learn.screen import refuse_unkeepable
from gaia_memory.models import Draft, Fact, NewFact, Origin, Pending, Profile, Scope, Source
from gaia_memory.models.validation import refuse

FORMAT = "gaia-memory"
VERSION = 1

_FACT_KEYS = frozenset(
    {"id", "text", "metadata", "said_at", "session_id", "seq", "source", "sources", "created_at", "updated_at"}
)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_ORIGIN_KEYS = frozenset({"source", "app", "session_id", "seq", "said_at", "event_ids"})


@dataclass(frozen=True, slots=True)
class Imported:
    """A fact of the data: a draft for each of its sources, the place it stands at first."""

    drafts: tuple[Draft, ...]

    @property
    def text(self) -> str:
        """The fact's words."""
        return self.drafts[0].fact.text

    @property
    def created_at(self) -> datetime | None:
        """When it was noted, as far as the data says."""
        return self.drafts[0].created_at


def written(
    scope: Scope,
    facts: Sequence[tuple[Fact, Sequence[Origin]]],
    profile: Profile | None,
    pending: Sequence[Pending],
    *,
    now: datetime,
) -> dict[str, Any]:
    """Return what is held about a person as data that JSON can hold."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": now.isoformat(),
        "scope": {"app": scope.app, "user": scope.user},
        "facts": [_fact_data(fact, origins) for fact, origins in facts],
        "profile": None if profile is None else {"bullets": list(profile.bullets)},
        "pending": [_pending_data(waiting) for waiting in pending],
    }


def read(data: object) -> list[Imported]:
    """Return the facts of exported data, everything checked.

    Only `format`, `version`, `facts` and each fact's `text` have to be there.

    Raises:
        InvalidInputError: a value is not what it should be; the message names its place, the value and the fix.
    """
    whole = _mapping(data, "data")
    if whole.get("format") != FORMAT:
        _refuse("data['format']", whole.get("format"), f"pass what `export` returned, which says {FORMAT!r}")
    if whole.get("version") != VERSION:
        _refuse("data['version']", whole.get("version"), f"this release reads version {VERSION}")
    facts = _sequence(whole.get("facts"), "data['facts']")
    return [_imported(fact, f"data['facts'][{at}]") for at, fact in enumerate(facts)]


def _imported(data: object, place: str) -> Imported:
    fact = _mapping(data, place, known=_FACT_KEYS)
    text = _text(fact.get("text"), f"{place}['text']")
    metadata = {} if fact.get("metadata") is None else _mapping(fact["metadata"], f"{place}['metadata']")
    own = _origin({key: fact.get(key) for key in ("said_at", "session_id", "seq", "source")}, place)
    created, updated = (_moment(fact.get(key), f"{place}['{key}']") for key in ("created_at", "updated_at"))
    listed = _sequence(fact.get("sources") or [], f"{place}['sources']")
    origins = [_origin(origin, f"{place}['sources'][{at}]") for at, origin in enumerate(listed)]
    if fact.get("source") is None:
        own = replace(own, source=next((each.source for each in origins if _place(each) == _place(own)), own.source))
    # The first draft says where the fact stands, and of what kind it is.
    origins.sort(key=lambda each: (_place(each), each.source) != (_place(own), own.source))
    if not origins or (_place(origins[0]), origins[0].source) != (_place(own), own.source):
        origins.insert(0, own)
    try:
        drafts = tuple(
            replace(_draft(text, origin, metadata), created_at=created, updated_at=updated) for origin in origins
        )
        refuse_unkeepable(drafts[0])
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}; nothing was imported") from error
    return Imported(drafts)


def _draft(text: str, origin: Origin, metadata: Mapping[str, Any]) -> Draft:
    fact = NewFact(text, said_at=origin.said_at, session_id=origin.session_id, seq=origin.seq, metadata=dict(metadata))
    return Draft(fact=fact, source=origin.source, app=origin.app, event_ids=origin.event_ids)


def _place(origin: Origin) -> tuple[str | None, int | None, datetime | None]:
    return origin.session_id, origin.seq, origin.said_at


def _origin(data: object, place: str) -> Origin:
    origin = _mapping(data, place, known=_ORIGIN_KEYS)
    seq = origin.get("seq")
    if seq is not None and (isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**63):
        _refuse(f"{place}['seq']", seq, "pass a whole number from 0 to 2**63 - 1, or null")
    events = _sequence(origin.get("event_ids") or [], f"{place}['event_ids']")
    return Origin(
        source=_source(origin.get("source"), f"{place}['source']"),
        app=_name(origin.get("app"), f"{place}['app']"),
        session_id=_name(origin.get("session_id"), f"{place}['session_id']"),
        seq=seq,
        said_at=_moment(origin.get("said_at"), f"{place}['said_at']"),
        event_ids=tuple(_text(event, f"{place}['event_ids'][{at}]") for at, event in enumerate(events)),
    )


def _mapping(value: object, place: str, *, known: frozenset[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(place, value, "pass a mapping (a JSON object)")
    for key in value:
        if not isinstance(key, str) or (known is not None and key not in known):
            _refuse(f"a key of {place}", key, f"leave it out or use one of {', '.join(sorted(known or ['text']))}")
    return value


def _sequence(value: object, place: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        _refuse(place, value, "pass a list")
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or is_blank(value):
        _refuse(place, value, "pass a text that is not blank")
    return value


def _name(value: object, place: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        _refuse(place, value, "pass an id as text, or null")
    return value


def _source(value: object, place: str) -> Source:
    if value is None:
        return "import"
    if value not in (known := get_args(Source)):
        _refuse(place, value, f"leave it out or use one of {', '.join(known)}")
    return cast("Source", value)


def _moment(value: object, place: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        _refuse(place, value, "pass a time with its zone, such as '2026-03-01T12:00:00+00:00', or null")
    if not _EARLIEST <= moment <= _LATEST:
        _refuse(place, value, "pass a time that lies in the years 1 to 9999 in UTC, too")
    return moment


def _refuse(place: str, value: object, fix: str) -> NoReturn:
    refuse(place, value, f"{fix}; nothing was imported")


def _fact_data(fact: Fact, origins: Sequence[Origin]) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "metadata": dict(fact.metadata),
        "said_at": _iso(fact.said_at),
        "session_id": fact.session_id,
        "seq": fact.seq,
        "source": fact.source,
        "sources": [origin_as_data(origin) for origin in origins],
        "created_at": _iso(fact.created_at),
        "updated_at": _iso(fact.updated_at),
    }


def origin_as_data(origin: Origin) -> dict[str, Any]:
    """Return one source of a fact as JSON shows it: of what kind, which conversation, when, and from which events."""
    return {
        "source": origin.source,
        "app": origin.app,
        "session_id": origin.session_id,
        "seq": origin.seq,
        "said_at": _iso(origin.said_at),
        "event_ids": list(origin.event_ids),
    }


def _pending_data(waiting: Pending) -> dict[str, Any]:
    return {
        "app": waiting.key.app,
        "session_id": waiting.key.session,
        "touched": waiting.touched,
        "attempts": waiting.attempts,
        "reason": waiting.reason,
        "parked": waiting.parked,
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
