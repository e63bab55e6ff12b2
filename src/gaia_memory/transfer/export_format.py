"""The export format: writes it, and reads it with every value validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.drafts.screen import screen_draft
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import (
    LABELS,
    REMEMBERED_SOURCES,
    Draft,
    Fact,
    FactEnd,
    NewFact,
    Origin,
    PendingConversation,
    Profile,
    Scope,
)
from gaia_memory.models.validation import raise_invalid, require_int, require_text
from gaia_memory.redaction.credentials import contains_credential
from gaia_memory.transfer.export_values import (
    ending_to_dict,
    parse_ids,
    parse_optional_id,
    parse_optional_text,
    parse_source,
    parse_time,
    require_mapping,
    require_sequence,
    to_iso,
)

EXPORT_FORMAT = "gaia-memory"
EXPORT_VERSION = 2
READABLE_VERSIONS = (1, 2)

_PLAIN_DETAILS = (*LABELS, "key", "sensitive", "due_zone", "due_all_day", "every")
_TIME_DETAILS = ("due_at", "reminded_at", "valid_from", "valid_until", "first_said_at", "in_doubt_since")
_ORIGIN_TEXTS = ("agent", "channel", "excerpt", "extractor", "origin_scope", "origin_id")
_FACT_KEYS = frozenset(
    {"id", "text", "metadata", "said_at", "session_id", "seq", "source", "sources", "created_at", "updated_at"}
    | {*_PLAIN_DETAILS, *_TIME_DETAILS}
)
_ORIGIN_KEYS = frozenset(
    {"source", "app", "session_id", "seq", "said_at", "event_ids", "turn_event_ids", "noted_at", "imported"}
    | {*_ORIGIN_TEXTS}
)


@dataclass(frozen=True, slots=True)
class ImportedFact:
    """A fact of an export: one draft for each source; the first has the fact's own date and conversation.

    `id` is its id in the export. A past one may be an earlier wording of the fact `wording_of`.
    """

    drafts: tuple[Draft, ...]
    id: str | None = None
    is_past: bool = False
    wording_of: str | None = None

    @property
    def text(self) -> str:
        """The text of the fact."""
        return self.drafts[0].fact.text

    @property
    def created_at(self) -> datetime | None:
        """When the fact was created; None if the data does not say."""
        return self.drafts[0].created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was true before: past facts with their sources, endings, and which wordings are earlier ones of others."""

    past: Sequence[tuple[Fact, Sequence[Origin]]] = ()
    endings: Sequence[FactEnd] = ()
    wordings: Mapping[str, str] = field(default_factory=dict)


def build_export(
    scope: Scope,
    facts: Sequence[tuple[Fact, Sequence[Origin]]],
    history: History,
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
        "history": [
            {**_fact_to_dict(fact, origins), "wording_of": history.wordings.get(fact.id)}
            for fact, origins in history.past
        ],
        "endings": [ending_to_dict(ending) for ending in history.endings],
        "profile": None if profile is None else {"bullets": list(profile.bullets)},
        "pending": [_pending_to_dict(waiting) for waiting in pending],
    }


def parse_export(data: object, *, allow_numbers: bool = False) -> list[ImportedFact]:
    """Validate an export of any version and return its facts, current and past.

    Only `format`, `version`, `facts` and each fact's `text` are required. Every source is marked as imported and names
    the fact it was copied from. `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: a value is invalid; the message names its path, the value and the fix.
    """
    try:
        document = require_mapping(data, "data")
        if (written_format := document.get("format")) != EXPORT_FORMAT:
            fix = f"pass the result of `export`, which contains {EXPORT_FORMAT!r}"
            raise_invalid("data['format']", written_format, fix)
        if (version := document.get("version")) not in READABLE_VERSIONS or isinstance(version, bool):
            fix = f"export again with a release that writes version {EXPORT_VERSION}"
            raise_invalid("data['version']", version, fix)
        partition = _parse_partition(document.get("scope"))
        listed = [("facts", each) for each in enumerate(require_sequence(document.get("facts"), "data['facts']"))]
        past = require_sequence(document.get("history") or [], "data['history']")
        listed += [("history", each) for each in enumerate(past)]
        return [
            _parse_fact(
                fact, f"data[{name!r}][{at}]", partition, allow_numbers=allow_numbers, is_past=name == "history"
            )
            for name, (at, fact) in listed
        ]
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; nothing was imported") from error


def drop_refused(data: Mapping[str, Any], *, allow_numbers: bool) -> tuple[Mapping[str, Any], list[tuple[str, str]]]:
    """Return an export without the facts that are too long or nothing but a credential, and where and why each one is.

    Whatever else is wrong stays, for `parse_export` to name it.
    """
    document, refused = dict(data), list[tuple[str, str]]()
    for name in ("facts", "history"):
        if isinstance(data.get(name), list):
            reasons = [_why_refused(fact, allow_numbers=allow_numbers) for fact in data[name]]
            document[name] = [fact for fact, reason in zip(data[name], reasons, strict=True) if reason is None]
            refused += [(f"data[{name!r}][{at}]", reason) for at, reason in enumerate(reasons) if reason is not None]
    return document, refused


def _why_refused(fact: Any, *, allow_numbers: bool) -> str | None:
    try:
        labels = {name: fact[name] for name in LABELS if fact.get(name) is not None}
        new_fact = NewFact(fact["text"], metadata=fact.get("metadata") or {}, **labels)
    except (AttributeError, KeyError, TypeError, InvalidInputError):
        return None
    try:
        screen_draft(Draft(fact=new_fact, source="import"), allow_numbers=allow_numbers)
    except InvalidInputError as error:
        return str(error)
    return None


def _parse_fact(data: object, path: str, partition: str | None, is_past: bool, *, allow_numbers: bool) -> ImportedFact:
    fact = require_mapping(data, path, known_keys=_FACT_KEYS | {"wording_of"} if is_past else _FACT_KEYS)
    text = require_text(f"{path}['text']", fact.get("text"))
    metadata = {} if fact.get("metadata") is None else require_mapping(fact["metadata"], f"{path}['metadata']")
    own = _parse_origin({key: fact.get(key) for key in ("said_at", "session_id", "seq", "source")}, path)
    created, updated = (parse_time(fact.get(key), f"{path}['{key}']") for key in ("created_at", "updated_at"))
    listed = require_sequence(fact.get("sources") or [], f"{path}['sources']")
    origins = [_parse_origin(origin, f"{path}['sources'][{at}]") for at, origin in enumerate(listed)]
    first = next((each for each in origins if _is_of_fact(each, own, fact.get("source"))), own)
    fact_id = parse_optional_text(fact.get("id"), f"{path}['id']")
    copied_from = {"origin_scope": partition, "origin_id": fact_id}
    try:
        new_fact = NewFact(text, metadata=dict(metadata), **_parse_details(fact, path))
        # The first draft determines the date and conversation of the fact.
        drafts = tuple(
            _to_draft(new_fact, origin, copied_from, created_at=created, updated_at=updated)
            for origin in (first, *(each for each in origins if each is not first))
        )
        kept = screen_draft(drafts[0], allow_numbers=allow_numbers).fact
        masked: dict[str, Any] = {"text": kept.text, "metadata": kept.metadata, "key": kept.key}
        masked |= {name: getattr(kept, name) for name in LABELS}
        drafts = tuple(replace(draft, fact=replace(draft.fact, **masked)) for draft in drafts)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    wording_of = parse_optional_text(fact.get("wording_of"), f"{path}['wording_of']")
    return ImportedFact(drafts, fact_id, is_past, wording_of)


def _is_of_fact(origin: Origin, own: Origin, source: object) -> bool:
    """Return whether a source is the one that gave the fact its conversation and date."""
    may_differ = source in (None, "import") or {origin.source, own.source} <= REMEMBERED_SOURCES
    return _position(origin) == _position(own) and (may_differ or origin.source == own.source)


def _parse_details(fact: Mapping[str, Any], path: str) -> dict[str, Any]:
    details = {name: fact[name] for name in _PLAIN_DETAILS if fact.get(name) is not None}
    return details | {name: parse_time(fact.get(name), f"{path}['{name}']") for name in _TIME_DETAILS}


def _to_draft(
    fact: NewFact,
    origin: Origin,
    copied_from: Mapping[str, str | None],
    *,
    created_at: datetime | None,
    updated_at: datetime | None,
) -> Draft:
    return Draft(
        fact=replace(fact, said_at=origin.said_at, session_id=origin.session_id, seq=origin.seq),
        source=origin.source,
        app=origin.app,
        event_ids=origin.event_ids,
        turn_event_ids=origin.turn_event_ids,
        noted_at=origin.noted_at or created_at,
        agent=origin.agent,
        channel=origin.channel,
        excerpt=origin.excerpt,
        extractor=origin.extractor,
        is_imported=True,
        origin_scope=origin.origin_scope or copied_from["origin_scope"],
        origin_id=origin.origin_id or copied_from["origin_id"],
        created_at=created_at,
        updated_at=updated_at,
    )


def _parse_partition(scope: object) -> str | None:
    """Return the partition of the exported scope; None if the data names none."""
    app, user = (scope.get("app"), scope.get("user")) if isinstance(scope, Mapping) else (None, None)
    if not isinstance(user, str) or not isinstance(app, str | None) or app == "" or not (app or user):
        return None
    return Scope(app, user).partition if user else Scope.app_wide(app or "").partition


def _position(origin: Origin) -> tuple[str | None, int | None, datetime | None]:
    return origin.session_id, origin.seq, origin.said_at


def _parse_origin(data: object, path: str) -> Origin:
    origin = require_mapping(data, path, known_keys=_ORIGIN_KEYS)
    if (seq := origin.get("seq")) is not None:
        fix = "pass a whole number from 0 to 2**63 - 1, or null"
        require_int(f"{path}['seq']", seq, minimum=0, maximum=2**63 - 1, fix=fix)
    event_ids, turn_event_ids = (
        parse_ids(origin.get(key), f"{path}['{key}']") for key in ("event_ids", "turn_event_ids")
    )
    source = parse_source(origin.get("source"), f"{path}['source']")
    texts: dict[str, Any] = {name: parse_optional_text(origin.get(name), f"{path}['{name}']") for name in _ORIGIN_TEXTS}
    for name in ("agent", "channel", "extractor"):
        if texts[name] is not None and contains_credential(texts[name]):
            texts[name] = None
    texts["excerpt"] = excerpt_of(texts["excerpt"] or "")
    return Origin(
        # Version 1 wrote `remember` for a model's tool call, too; only that one has events.
        source="agent" if source == "remember" and event_ids else source,
        app=parse_optional_id(origin.get("app"), f"{path}['app']"),
        session_id=parse_optional_id(origin.get("session_id"), f"{path}['session_id']"),
        seq=seq,
        said_at=parse_time(origin.get("said_at"), f"{path}['said_at']"),
        event_ids=event_ids,
        turn_event_ids=turn_event_ids,
        noted_at=parse_time(origin.get("noted_at"), f"{path}['noted_at']"),
        **texts,
    )


def _fact_to_dict(fact: Fact, origins: Sequence[Origin]) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "metadata": dict(fact.metadata),
        "said_at": to_iso(fact.said_at),
        "session_id": fact.session_id,
        "seq": fact.seq,
        "source": fact.source,
        **{name: getattr(fact, name) for name in _PLAIN_DETAILS},
        **{name: to_iso(getattr(fact, name)) for name in _TIME_DETAILS},
        "sources": [origin_to_dict(origin) for origin in origins],
        "created_at": to_iso(fact.created_at),
        "updated_at": to_iso(fact.updated_at),
    }


def origin_to_dict(origin: Origin) -> dict[str, Any]:
    """Return one source of a fact as JSON-compatible data."""
    return {
        "source": origin.source,
        "app": origin.app,
        "session_id": origin.session_id,
        "seq": origin.seq,
        "said_at": to_iso(origin.said_at),
        "event_ids": list(origin.event_ids),
        "turn_event_ids": list(origin.turn_event_ids),
        "noted_at": to_iso(origin.noted_at),
        **{name: getattr(origin, name) for name in _ORIGIN_TEXTS},
        "imported": origin.is_imported,
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
