"""Reads facts from a file: JSON of several forms, such as mem0's `get_all`, JSON Lines, bullets, or plain lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gaia_memory.cli.memory.files.fact_ends import read_end, read_moment
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value
from gaia_memory.transfer.export_format import EXPORT_FORMAT

_LIST_KEYS = ("memories", "results", "facts")
_TEXT_KEYS = ("text", "memory", "content", "fact")
_TIME_KEYS = ("said_at", "created_at", "createdAt", "timestamp")
_OWNER_KEYS = ("user_id", "userId", "user", "owner")

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
    except RecursionError as error:
        raise InvalidInputError("the JSON is nested too deeply: pass a list of facts") from error
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise InvalidInputError(f"it is not valid JSON: {error}") from error
        yield from _json_lines(lines)
        return
    entries = _entry_list(data)
    yield from ((entry, f"entry {number}") for number, entry in enumerate(entries, 1))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _json_lines(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[object, str]]:
    for number, line in lines:
        try:
            yield json.loads(line), f"line {number}"
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"line {number} is not valid JSON: correct it") from error


def _entry_list(data: object) -> Sequence[object]:
    """Return the entries of a JSON document."""
    if isinstance(data, Mapping):
        if data.get("format") == EXPORT_FORMAT:
            raise InvalidInputError(
                "it is an export of this package: use `gaia memory import`, which keeps its sources"
            )
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
    text = next((entry[key] for key in _TEXT_KEYS if entry.get(key) is not None), None)
    if not isinstance(text, str) or is_blank(text):
        raise InvalidInputError(f"{place} has no text: write it as `text`, `memory` or `content`")
    try:
        ended, valid_until = read_end(entry, datetime.now(UTC))
        fact = NewFact(
            text.strip(),
            said_at=_said_at(entry),
            metadata=_metadata(entry),
            key=entry.get("key"),
            valid_until=valid_until,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error
    user = next((entry[key] for key in _OWNER_KEYS if entry.get(key) is not None), None)
    return FileFact(fact, place, None if user is None else str(user), ended)


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an entry and its category, which mem0 writes as a list."""
    given = entry.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"its metadata is {format_value(given)}: pass an object")
    category = entry.get("category")
    categories = entry.get("categories")
    if category is None and isinstance(categories, list) and categories:
        category = categories[0]
    named = {} if category is None else {"category": category}
    return {**named, **{name: value for name, value in given.items() if value is not None}}


def _said_at(entry: Mapping[str, Any]) -> datetime | None:
    """Return the time of an entry; one without a zone is in UTC."""
    key = next((key for key in _TIME_KEYS if entry.get(key) is not None), None)
    return None if key is None else read_moment(key, entry[key])


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
