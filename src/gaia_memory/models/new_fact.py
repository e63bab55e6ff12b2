"""A fact before it is stored, with every field validated."""

from __future__ import annotations

from asyncio import _get_running_loop
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from math import isfinite
from operator import attrgetter
from typing import Any, TypedDict
from zoneinfo import ZoneInfo

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.models.recurrence import load_time_zone, parse_recurrence
from gaia_memory.models.validation import (
    format_value,
    is_label,
    parse_key,
    raise_invalid,
    require_bool,
    require_int,
    require_label,
    require_text,
    require_time,
)

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
RESERVED_METADATA = frozenset(
    {"user_id", "agent_id", "run_id", "actor_id", "role", "data", "hash", "text_lemmatized", "expiration_date"}
    | {"created_at", "updated_at", "said_at", "session_id", "seq", "source", "id"}
)
"""Names used by mem0's payload or by fields of a fact: some of them would change the owner of a fact."""

DEFAULT_CONTEXT = "global"
"""The context of a fact that belongs to no named one."""

LABELS: Mapping[str, str | None] = {"category": None, "entity": None, "context": DEFAULT_CONTEXT, "agent": None}
"""The fields of a fact that its metadata may set and filters find under the same name, with their defaults."""

DESCRIBING_FIELDS = (*LABELS, "sensitive")
DUE_FIELDS = ("due_at", "due_zone", "due_all_day", "every", "reminded_at")
"""What describes a fact, and what belongs to a due date."""

UNCONFIRMED_KEY = "unconfirmed"
"""Metadata of a fact that a model wrote and the person has not said: true until they do."""

UNVERIFIED_KEY = "unverified"
"""Metadata of a learned fact that its conversation neither shows nor excludes: true until it is said again."""

MAX_METADATA_NAMES = 64
MAX_METADATA_BYTES = 16_000
"""What one fact may hold. Its text has a bound where it is screened."""

MARKS_OF_DOUBT = (UNCONFIRMED_KEY, UNVERIFIED_KEY)
"""Metadata that goes once the person has said the fact."""

UNCONFIRMED_MARK = f"({UNCONFIRMED_KEY})"
"""Stands before such a fact in the question for a profile."""

IN_DOUBT = "in doubt"
IN_DOUBT_MARK = f"({IN_DOUBT})"
"""Stands before a fact that may hold no longer, in the question for a profile."""

_ZONE_FIX = "pass the IANA name of a time zone, such as Europe/Berlin, or None"
_OWN_METADATA = {*MARKS_OF_DOUBT, "attributed_to", "speaker", "author"}
"""Metadata that the package adds: not counted."""

_FIRST_RECURRENCE_YEAR = 1900
"""Each time since the first is counted: more of them would delay whoever asks what is due."""

_TIMES = ("said_at", "due_at", "reminded_at", "valid_from", "valid_until", "first_said_at", "in_doubt_since")

# Most facts have none of these: one comparison saves a hot path a loop.
_times, _NO_TIMES = attrgetter(*_TIMES), (None,) * len(_TIMES)
_labels, _NO_LABELS = attrgetter(*LABELS), tuple(LABELS.values())


class FactFields(TypedDict, total=False):
    """The fields of a fact besides its text and metadata that whoever remembers or corrects it may give."""

    category: str | None
    entity: str | None
    context: str
    agent: str | None
    key: str | None
    sensitive: bool
    due_at: datetime | None
    due_zone: str | None
    due_all_day: bool
    every: str | None
    valid_from: datetime | None
    valid_until: datetime | None


class FactDetails(FactFields, total=False):
    """The fields of a `NewFact` that whoever remembers a single fact may give."""

    metadata: Metadata


class FactChanges(FactFields, total=False):
    """The fields that a correction may set; None removes one."""

    reminded_at: datetime | None


def is_of_model(metadata: Metadata) -> bool:
    """Return whether metadata are those of what a model wrote, and neither the person nor the host has said."""
    return any(metadata.get(name) is True for name in MARKS_OF_DOUBT) or metadata.get("attributed_to") == "assistant"


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be stored verbatim.

    `said_at` is an aware time. `session_id` and `seq` (its position in that conversation) let recall use the neighbours
    of a fact. `metadata` are flat scalars under names that are not reserved.

    `category`, `entity` (whom or what it is about), `context` and `agent` (who wrote it) are short texts that filters
    find by these names. A text under one of these names in the metadata sets the field, unless the field is given.
    `key` names something of which there is one at a time, as `whose/what`: a later fact with it replaces this one.
    `due_at` may repeat (`every`: `daily`, `weekly`, `monthly`, `yearly` or an RRULE) in the zone `due_zone`, by default
    that of `due_at`. The fact holds from `valid_from` to before `valid_until`. `first_said_at` defaults to `said_at`.
    """

    text: str
    said_at: datetime | None = None
    session_id: str | None = None
    seq: int | None = None
    metadata: Metadata = field(default_factory=dict)
    _: KW_ONLY
    category: str | None = None
    entity: str | None = None
    context: str = DEFAULT_CONTEXT
    agent: str | None = None
    key: str | None = None
    sensitive: bool = False
    due_at: datetime | None = None
    due_zone: str | None = None
    due_all_day: bool = False
    every: str | None = None
    reminded_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    first_said_at: datetime | None = None
    in_doubt_since: datetime | None = None

    def __post_init__(self) -> None:
        """Validate the fields; replace NUL and lone surrogates in the text, which databases cannot store.

        Raises:
            InvalidInputError: the text is not a string or blank, a time has no time zone, `session_id` is not an id,
                `seq` not a whole number, a label is blank or too long, the key has another form, the due date or the
                validity contradicts itself, or the metadata is not flat, uses a reserved name, or has over 64 names or
                16 kB.
        """
        object.__setattr__(self, "text", replace_unstorable(require_text("NewFact.text", self.text)))
        if (moments := _times(self)) != _NO_TIMES:
            for name, moment in zip(_TIMES, moments, strict=True):
                if moment is not None:
                    require_time(f"NewFact.{name}", moment)
        session_id: object = self.session_id
        if session_id == "" or not isinstance(session_id, str | None):
            raise_invalid("NewFact.session_id", session_id, "pass the id of the conversation as text, or None")
        if self.seq is not None:
            fix = "pass a whole number from 0 to 2**63 - 1, or None"
            require_int("NewFact.seq", self.seq, minimum=0, maximum=2**63 - 1, fix=fix)
        _check_metadata(self.metadata)
        require_bounded(self.metadata)
        self._set_labels()
        if self.key is not None:
            object.__setattr__(self, "key", parse_key("NewFact.key", self.key))
        require_bool("NewFact.sensitive", self.sensitive)
        if self.metadata.get("sensitive") is True:
            object.__setattr__(self, "sensitive", True)
        self._check_due()
        if self.valid_from is not None and self.valid_until is not None and self.valid_from >= self.valid_until:
            raise_invalid(
                "NewFact.valid_until",
                self.valid_until.isoformat(),
                f"pass a time after valid_from, which is {self.valid_from.isoformat()}",
            )

    def _set_labels(self) -> None:
        """Validate the labels and make them and the metadata of the same names agree; a given label wins."""
        if not self.metadata and _labels(self) == _NO_LABELS:
            return
        for name, default in LABELS.items():
            label, noted = getattr(self, name), self.metadata.get(name) if self.metadata else None
            if label != default:
                require_label(f"NewFact.{name}", label)
                if isinstance(noted, str) and noted != label:
                    object.__setattr__(self, "metadata", {**self.metadata, name: label})
            elif is_label(noted):
                object.__setattr__(self, name, noted)

    def _check_due(self) -> None:
        require_bool("NewFact.due_all_day", self.due_all_day)
        if self.every is not None:
            object.__setattr__(self, "every", parse_recurrence("NewFact.every", self.every))
            if self.due_at is None:
                raise_invalid("NewFact.every", self.every, "pass due_at too, the first time it is due")
            if self.due_at.year < _FIRST_RECURRENCE_YEAR:
                fix = f"for a fact that comes back, pass a year from {_FIRST_RECURRENCE_YEAR} on"
                raise_invalid("NewFact.due_at", self.due_at.isoformat(), fix)
        zone: object = self.due_zone
        if zone is None:
            if self.due_at is not None and isinstance(self.due_at.tzinfo, ZoneInfo):
                object.__setattr__(self, "due_zone", self.due_at.tzinfo.key)
            return
        if not isinstance(zone, str) or not zone:
            raise_invalid("NewFact.due_zone", zone, _ZONE_FIX)
        if _get_running_loop() is None:
            require_known_zone(self)


def require_future_due(fact: NewFact, now: datetime) -> None:
    """Check that a fact is not due in the past; a day is past when it is over.

    Raises:
        InvalidInputError: it is.
    """
    if fact.due_at is not None and fact.due_at < now - timedelta(days=fact.due_all_day):
        fix = "is in the past: pass a time to come, for a fact that comes back its next time"
        raise InvalidInputError(f"due_at {fact.due_at.isoformat()} {fix}")


def require_known_zone(fact: NewFact) -> None:
    """Check that the due zone exists. It may read a file: on an event loop only the write checks it, in a thread.

    Raises:
        InvalidInputError: there is no such zone.
    """
    if fact.due_zone is not None:
        try:
            load_time_zone(fact.due_zone)
        except ValueError as error:
            raise InvalidInputError(f"NewFact.due_zone is {format_value(fact.due_zone)}: {_ZONE_FIX}") from error


def require_bounded(metadata: Metadata) -> None:
    """Check that metadata are no larger than a store takes; earlier releases stored larger ones.

    Raises:
        InvalidInputError: they are.
    """
    count = len(metadata.keys() - _OWN_METADATA) if len(metadata) > MAX_METADATA_NAMES else 0
    if count > MAX_METADATA_NAMES:
        problem = f"metadata has {count:,} names: pass at most {MAX_METADATA_NAMES}"
        raise InvalidInputError(f"NewFact.{problem}", hint=problem)
    texts = [*metadata, *map(str, metadata.values())]
    # No character has more than four bytes.
    if sum(map(len, texts)) * 4 <= MAX_METADATA_BYTES:
        return
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    if size > MAX_METADATA_BYTES:
        problem = f"metadata has {size:,} bytes in UTF-8: pass at most {MAX_METADATA_BYTES:,}"
        raise InvalidInputError(f"NewFact.{problem}", hint=problem)


def _check_metadata(metadata: object) -> None:
    if not isinstance(metadata, Mapping):
        raise_invalid("NewFact.metadata", metadata, "pass a mapping of names to text, numbers and true/false")
    for name, value in metadata.items():
        _check_metadata_entry(name, value)


def _check_metadata_entry(name: object, value: Any) -> None:
    if not isinstance(name, str) or replace_unstorable(name) != name or name.startswith("chroma:"):
        fix = "name it with text that has no NUL, no lone surrogate and does not begin with 'chroma:'"
        raise_invalid("a name in NewFact.metadata", name, fix)
    if name in RESERVED_METADATA:
        raise InvalidInputError(f"NewFact.metadata names {name!r}, which the store uses itself: rename it")
    if not isinstance(value, str | int | float):
        fix = "metadata is flat, with text, numbers and true/false"
        raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, fix)
    if isinstance(value, float) and not isfinite(value):
        raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, "pass a finite number, or leave it out")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise_invalid(f"NewFact.metadata[{format_value(name)}]", value, "pass a number of 64 bits, or text")
