"""The export format: writes it, and reads it with every value validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn, cast, get_args

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.learn.screen import reject_unkeepable
from gaia_memory.models import Draft, Fact, NewFact, Origin, PendingConversation, Profile, Scope, Source
from gaia_memory.models.validation import raise_invalid

EXPORT_FORMAT = "gaia-memory"
EXPORT_VERSION = 1

_FACT_KEYS = frozenset(
    {"id", "text", "metadata", "said_at", "session_id", "seq", "source", "sources", "created_at", "updated_at"}
)
_EARLIEST_TIME = datetime.min.replace(tzinfo=UTC)
_LATEST_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_ORIGIN_KEYS = frozenset({"source", "app", "session_id", "seq", "said_at", "event_ids"})


@dataclass(frozen=True, slots=True)
class ImportedFact:
    """A fact of an export: one draft for each source; the first has the fact's own date and conversation."""

    drafts: tuple[Draft, ...]

    @property
    def text(self) -> str:
        """The text of the fact."""
        return self.drafts[0].fact.text

    @property
    def created_at(self) -> datetime | None:
        """When the fact was created; None if the data does not say."""
        return self.drafts[0].created_at


def build_export(
    scope: Scope,
    facts: Sequence[tuple[Fact, Sequence[Origin]]],
    profile: Profile | None,
    pending: Sequence[PendingConversation],
    *,
    now: datetime,
) -> dict[str, Any]:
    """Return everything known about a user as JSON-compatible data."""
    return {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "exported_at": now.isoformat(),
        "scope": {"app": scope.app, "user": scope.user},
        "facts": [_fact_to_dict(fact, origins) for fact, origins in facts],
        "profile": None if profile is None else {"bullets": list(profile.bullets)},
        "pending": [_pending_to_dict(waiting) for waiting in pending],
    }


def parse_export(data: object) -> list[ImportedFact]:
    """Validate an export and return its facts.

    Only `format`, `version`, `facts` and each fact's `text` are required.

    Raises:
        InvalidInputError: a value is invalid; the message names its path, the value and the fix.
    """
    document = _require_mapping(data, "data")
    if document.get("format") != EXPORT_FORMAT:
        _raise_invalid(
            "data['format']", document.get("format"), f"pass the result of `export`, which contains {EXPORT_FORMAT!r}"
        )
    if document.get("version") != EXPORT_VERSION:
        _raise_invalid(
            "data['version']",
            document.get("version"),
            f"export again with a release that writes version {EXPORT_VERSION}",
        )
    facts = _require_sequence(document.get("facts"), "data['facts']")
    return [_parse_fact(fact, f"data['facts'][{at}]") for at, fact in enumerate(facts)]


def _parse_fact(data: object, path: str) -> ImportedFact:
    fact = _require_mapping(data, path, known_keys=_FACT_KEYS)
    text = _require_text(fact.get("text"), f"{path}['text']")
    metadata = {} if fact.get("metadata") is None else _require_mapping(fact["metadata"], f"{path}['metadata']")
    own_origin = _parse_origin({key: fact.get(key) for key in ("said_at", "session_id", "seq", "source")}, path)
    created, updated = (_parse_time(fact.get(key), f"{path}['{key}']") for key in ("created_at", "updated_at"))
    listed = _require_sequence(fact.get("sources") or [], f"{path}['sources']")
    origins = [_parse_origin(origin, f"{path}['sources'][{at}]") for at, origin in enumerate(listed)]
    if fact.get("source") is None:
        own_origin = replace(
            own_origin,
            source=next(
                (each.source for each in origins if _origin_position(each) == _origin_position(own_origin)),
                own_origin.source,
            ),
        )
    # The first draft determines the date, conversation and source of the fact.
    origins.sort(
        key=lambda each: (_origin_position(each), each.source) != (_origin_position(own_origin), own_origin.source)
    )
    if not origins or (_origin_position(origins[0]), origins[0].source) != (
        _origin_position(own_origin),
        own_origin.source,
    ):
        origins.insert(0, own_origin)
    try:
        drafts = tuple(
            replace(_build_draft(text, origin, metadata), created_at=created, updated_at=updated) for origin in origins
        )
        reject_unkeepable(drafts[0])
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}; nothing was imported") from error
    return ImportedFact(drafts)


def _build_draft(text: str, origin: Origin, metadata: Mapping[str, Any]) -> Draft:
    fact = NewFact(text, said_at=origin.said_at, session_id=origin.session_id, seq=origin.seq, metadata=dict(metadata))
    return Draft(fact=fact, source=origin.source, app=origin.app, event_ids=origin.event_ids)


def _origin_position(origin: Origin) -> tuple[str | None, int | None, datetime | None]:
    return origin.session_id, origin.seq, origin.said_at


def _parse_origin(data: object, path: str) -> Origin:
    origin = _require_mapping(data, path, known_keys=_ORIGIN_KEYS)
    seq = origin.get("seq")
    if seq is not None and (isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**63):
        _raise_invalid(f"{path}['seq']", seq, "pass a whole number from 0 to 2**63 - 1, or null")
    events = _require_sequence(origin.get("event_ids") or [], f"{path}['event_ids']")
    return Origin(
        source=_parse_source(origin.get("source"), f"{path}['source']"),
        app=_parse_optional_id(origin.get("app"), f"{path}['app']"),
        session_id=_parse_optional_id(origin.get("session_id"), f"{path}['session_id']"),
        seq=seq,
        said_at=_parse_time(origin.get("said_at"), f"{path}['said_at']"),
        event_ids=tuple(_require_text(event, f"{path}['event_ids'][{at}]") for at, event in enumerate(events)),
    )


def _require_mapping(value: object, path: str, *, known_keys: frozenset[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _raise_invalid(path, value, "pass a mapping (a JSON object)")
    for key in value:
        if not isinstance(key, str) or (known_keys is not None and key not in known_keys):
            _raise_invalid(
                f"a key of {path}", key, f"omit it or use one of {', '.join(sorted(known_keys or ['text']))}"
            )
    return value


def _require_sequence(value: object, path: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        _raise_invalid(path, value, "pass a list")
    return value


def _require_text(value: object, path: str) -> str:
    if not isinstance(value, str) or is_blank(value):
        _raise_invalid(path, value, "pass a non-blank text")
    return value


def _parse_optional_id(value: object, path: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        _raise_invalid(path, value, "pass an id as text, or null")
    return value


def _parse_source(value: object, path: str) -> Source:
    if value is None:
        return "import"
    if value not in (known := get_args(Source)):
        _raise_invalid(path, value, f"omit it or use one of {', '.join(known)}")
    return cast("Source", value)


def _parse_time(value: object, path: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        _raise_invalid(path, value, "pass a time with a time zone, such as '2026-03-01T12:00:00+00:00', or null")
    if not _EARLIEST_TIME <= moment <= _LATEST_TIME:
        _raise_invalid(path, value, "pass a time within the years 1 to 9999 in UTC")
    return moment


def _raise_invalid(path: str, value: object, fix: str) -> NoReturn:
    raise_invalid(path, value, f"{fix}; nothing was imported")


def _fact_to_dict(fact: Fact, origins: Sequence[Origin]) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "metadata": dict(fact.metadata),
        "said_at": _iso(fact.said_at),
        "session_id": fact.session_id,
        "seq": fact.seq,
        "source": fact.source,
        "sources": [origin_to_dict(origin) for origin in origins],
        "created_at": _iso(fact.created_at),
        "updated_at": _iso(fact.updated_at),
    }


def origin_to_dict(origin: Origin) -> dict[str, Any]:
    """Return one source of a fact as JSON-compatible data: kind, conversation, time and events."""
    return {
        "source": origin.source,
        "app": origin.app,
        "session_id": origin.session_id,
        "seq": origin.seq,
        "said_at": _iso(origin.said_at),
        "event_ids": list(origin.event_ids),
    }


def _pending_to_dict(conversation: PendingConversation) -> dict[str, Any]:
    return {
        "app": conversation.key.app,
        "session_id": conversation.key.session,
        "touched": conversation.touched,
        "attempts": conversation.attempts,
        "reason": conversation.reason,
        "parked": conversation.parked,
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
