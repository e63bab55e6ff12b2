"""Reads facts from a file: JSON of several forms, such as mem0's `get_all`, JSON Lines, bullets, or plain lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value
from gaia_memory.transfer.export_format import EXPORT_FORMAT

_LIST_KEYS = ("memories", "results", "facts")
_TEXT_KEYS = ("text", "memory", "content", "fact")
_TIME_KEYS = ("said_at", "created_at", "createdAt", "timestamp")
_OWNER_KEYS = ("user_id", "userId", "user", "owner")
_ENDED_WORDS = frozenset(
    ("archived", "deleted", "expired", "forgotten", "inactive", "invalid", "invalidated", "paused", "superseded")
)
"""Values of `state` or `status`, flags (`is_deleted`) and times (`deleted_at`) of what counts no longer."""

_END_TIMES = frozenset(
    ("expirationdate", "expiredat", "expiresat", "forgetafter", "invalidat", "validto", "validuntil")
)
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx", ".ods")
_JSON_START = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\"{\]\[])")
_BULLET = re.compile(r"\s{0,40}[-*•+]\s+(?:\[[ xX]\]\s+)?(?=\S)")
_NUMBER = re.compile(r"\s*(\d{1,4})[.)]\s+(?=\S)")
_COMMENT = re.compile(r"\s*#(?!\d)")
"""Not "#1 fan"."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """A fact of a file; `place` says where it stands there, `user` whom the file names as its owner.

    `ended` says in a word why the file itself no longer counts it, such as `deleted`; empty for one that it does.
    """

    fact: NewFact
    place: str
    user: str | None = None
    ended: str = ""


def parse_facts(text: str, *, suffix: str = "") -> list[FileFact]:
    """Return the facts of a file, in its order; `suffix` is that of its name.

    JSON may be a list of texts or of objects with `text`, `memory` or `content`, alone or under `memories` or
    `results`, or one such value per line. In any other file each line is a fact, without its bullet or number; blank
    lines and lines that begin with `#` are skipped.

    Raises:
        InvalidInputError: the file is a table, or JSON by its name alone, or an entry has another form or a value that
            cannot be stored; the message names its place.
    """
    if suffix.lower() in _TABLE_SUFFIXES:
        raise InvalidInputError("tables are not read: save one fact per line as text, or a list of facts as JSON")
    if suffix.lower() not in _JSON_SUFFIXES and not _JSON_START.match(text):
        return list(_parse_lines(text.splitlines()))
    return [_parse_entry(value, place) for value, place in _json_entries(text)]


def _json_entries(text: str) -> Iterator[tuple[object, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    yield json.loads(line), f"line {number}"
                except (ValueError, RecursionError) as error:
                    raise InvalidInputError(f"line {number} is not valid JSON: {error}") from error
        return
    yield from ((entry, f"entry {number}") for number, entry in enumerate(_entry_list(data), 1))


def _entry_list(data: object) -> Sequence[object]:
    """Return the entries of a JSON document."""
    if isinstance(data, Mapping):
        if data.get("format") == EXPORT_FORMAT:
            raise InvalidInputError("it is an export: use `gaia memory import`, which keeps its sources")
        lists = [data[key] for key in _LIST_KEYS if isinstance(data.get(key), list)]
        if lists:
            data = lists[0]
        elif any(key in data for key in _TEXT_KEYS):
            data = [data]
    if not isinstance(data, list):
        raise InvalidInputError("the JSON has no list of facts: pass a list, or one under `memories` or `results`")
    return data


def _parse_entry(entry: object, place: str) -> FileFact:
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, Mapping):
        raise InvalidInputError(f"{place} is {format_value(entry)}: pass a text, or an object with `text`")
    text = _first(entry, _TEXT_KEYS)
    if not isinstance(text, str) or is_blank(text):
        raise InvalidInputError(f"{place} has no text: write it as `text`, `memory` or `content`")
    said_at = _first(entry, _TIME_KEYS)
    try:
        ended, valid_until = read_end(entry, datetime.now(UTC))
        fact = NewFact(
            text.strip(),
            said_at=None if said_at is None else _read_moment(said_at),
            metadata=_metadata(entry),
            key=entry.get("key"),
            valid_until=valid_until,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error
    user = _first(entry, _OWNER_KEYS)
    return FileFact(fact, place, None if user is None else str(user), ended)


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((entry[key] for key in keys if entry.get(key) is not None), None)


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an entry and its category, which mem0 writes as a list."""
    given = entry.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"its metadata is {format_value(given)}: pass an object")
    categories = entry.get("categories")
    listed = categories[0] if isinstance(categories, list) and categories else None
    return {
        name: value
        for name, value in {"category": entry.get("category") or listed, **given}.items()
        if value is not None
    }


def read_end(entry: Mapping[str, Any], now: datetime) -> tuple[str, datetime | None]:
    """Return why a fact of another store counts no longer, empty for one that does, and when that one will end.

    Names are read without case, underscores and a leading `is`: mem0's `expiration_date`, OpenMemory's `state`.

    Raises:
        InvalidInputError: the time of an end is none.
    """
    ends = []
    for key, value in entry.items():
        name = "".join(filter(str.isalnum, str(key))).casefold()
        if name in _END_TIMES:
            ends += [] if value is None else [_read_moment(value, is_last_day=True)]
            continue
        word = str(value).casefold() if name in ("state", "status") else name.removeprefix("is").removesuffix("at")
        if value and word in _ENDED_WORDS:
            return word, None
    end = min(ends, default=None)
    return ("expired", None) if end is not None and end <= now else ("", end)


def _read_moment(value: object, *, is_last_day: bool = False) -> datetime:
    """Return a time of an entry; one without a zone is in UTC. A date that `is_last_day` ends with its day."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(str(value))
        if is_last_day and len(str(value)) == len("2026-03-01"):
            moment += timedelta(days=1)
    except (ValueError, OverflowError, OSError) as error:
        fix = "pass an ISO 8601 time, such as 2026-03-01T12:00:00+01:00"
        raise InvalidInputError(f"a time is {format_value(value)}: {fix}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_lines(lines: Sequence[str]) -> Iterator[FileFact]:
    """Yield a fact for each line that is not blank and does not begin with `#`, as comments and headings do."""
    numbers = [int(found[1]) for line in lines if (found := _NUMBER.match(line))]
    # "24. December" is a date, unless the lines are numbered from 1 on.
    is_numbered = numbers == list(range(1, len(numbers) + 1))
    patterns = [_BULLET, _NUMBER] if is_numbered else [_BULLET]
    for number, line in enumerate(lines, 1):
        if is_blank(line) or _COMMENT.match(line):
            continue
        marker = next((found for pattern in patterns if (found := pattern.match(line))), None)
        place = f"line {number}"
        try:
            yield FileFact(NewFact(line[marker.end() if marker else 0 :].strip()), place)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error}") from error
