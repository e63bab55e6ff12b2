"""Reads facts from a file: JSON, such as mem0's `get_all`, or a fact per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value
from gaia_memory.transfer.export_format import EXPORT_FORMAT

_LIST_KEYS = ("memories", "results", "facts")
_TEXT_KEYS = ("text", "memory", "content", "fact")
_TIME_KEYS = ("said_at", "created_at")
_OWNER_KEYS = ("user_id", "user")
_BULLET = re.compile(r"\s{0,40}[-*•+]\s+(?:\[[ xX]\]\s+)?(?=\S)")
_COMMENT = re.compile(r"\s*#(?!\d)")
"""Not "#1 fan"."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """A fact of a file; `place` says where it stands there, `user` whom the file names as its owner."""

    fact: NewFact
    place: str
    user: str | None = None


def parse_facts(text: str) -> list[FileFact]:
    """Return the facts of a file, in its order.

    A file that begins with a bracket is JSON: a list of texts or of objects with `text`, `memory` or `content`, alone
    or under `memories` or `results`. In any other file each line is a fact, without its bullet; blank lines and lines
    that begin with `#` are skipped.

    Raises:
        InvalidInputError: the JSON is not valid, or an entry has another form or a value that cannot be stored; the
            message names its place.
    """
    if not text.lstrip().startswith(("[", "{")):
        return list(_parse_lines(text.splitlines()))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"it is not valid JSON: {error}") from error
    return [_parse_entry(entry, f"entry {number}") for number, entry in enumerate(_entry_list(data), 1)]


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
        fact = NewFact(
            text.strip(),
            said_at=None if said_at is None else _read_moment(said_at),
            metadata=_metadata(entry),
            key=entry.get("key"),
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error
    user = _first(entry, _OWNER_KEYS)
    return FileFact(fact, place, None if user is None else str(user))


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


def _read_moment(value: object) -> datetime:
    """Return a time of an entry; one without a zone is in UTC."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        fix = "pass an ISO 8601 time, such as 2026-03-01T12:00:00+01:00"
        raise InvalidInputError(f"a time is {format_value(value)}: {fix}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _without_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _parse_lines(lines: Sequence[str]) -> Iterator[FileFact]:
    """Yield a fact for each line that is not blank and does not begin with `#`, as comments and headings do."""
    for number, line in enumerate(lines, 1):
        if is_blank(line) or _COMMENT.match(line):
            continue
        place = f"line {number}"
        try:
            yield FileFact(NewFact(_without_bullet(line).strip()), place)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error}") from error
