"""Reads plain transcripts: `Ada: …` on each line, with or without a time, such as a chat exported by WhatsApp."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Role
from gaia_memory.transfer.transcripts.imported_conversation import (
    ImportedConversation,
    ImportedMessage,
    build_conversation,
)
from gaia_memory.transfer.transcripts.values import in_zone

USER_NAMES = frozenset({"user", "human", "me", "ich", "moi", "yo", "you"})
"""The speakers who are the user if no other name is given."""

_MAX_NAMED_SPEAKERS = 10

_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
_ISO = r"(?P<iso>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)"
_LOCAL = rf"(?P<a>\d{{1,2}})(?P<mark>[./])(?P<b>\d{{1,2}})\.?[./](?P<year>\d{{4}}|\d{{2}}),?\s+{_CLOCK}"
_TIMED_LINE = re.compile(rf"[\u200e\u200f]?\[?\s*(?:{_ISO}|{_LOCAL})\s*\]?\s*(?:[-\u2013]\s+)?(?P<rest>.*)")
_SPOKEN_LINE = re.compile(
    r"(?P<speaker>[^\W\d_][^:\n]{0,39}?)\s*:\s+(?P<text>.*)|(?P<alone>[^\W\d_][^:\n]{0,39}?)\s*:$"
)
_MAX_SPEAKER_WORDS = 4


@dataclass(slots=True)
class _Line:
    """A message as it is read, before it is known who the user is."""

    speaker: str
    text: str
    time: re.Match[str] | None
    number: int


def parse_transcript(
    text: str, *, speaker: str | None, user: str, default_time: datetime, zone: tzinfo | None
) -> ImportedConversation | None:
    """Return the conversation of a plain transcript; None if it has no message of the user.

    `speaker` is the user's name in it; without it, that is `user`, or one of `USER_NAMES`. Lines without a speaker
    continue the message before. Without times, all is said at `default_time`.

    Raises:
        InvalidInputError: no line has a speaker, it is not clear who the user is, or a date is not.
    """
    lines = list(_read_lines(text.splitlines()))
    if not lines:
        raise InvalidInputError("it has no line such as `Ada: …` or `[2026-11-22 15:00] Ada: …`: mark who speaks")
    names = list(dict.fromkeys(line.speaker for line in lines))
    own_name = _find_user(names, speaker, user)
    is_day_first = _is_day_first([line.time for line in lines if line.time is not None])
    messages, said_at = [], default_time
    for line in lines:
        if line.time is not None:
            said_at = _said_at(line.time, line.number, is_day_first=is_day_first, zone=zone)
        role: Role = "user" if line.speaker == own_name else "assistant"
        messages.append(ImportedMessage(role=role, text=line.text, said_at=said_at, speaker=line.speaker))
    return build_conversation(messages)


def _read_lines(lines: Sequence[str]) -> Iterator[_Line]:
    has_times = any((found := _TIMED_LINE.fullmatch(line)) and _speaker_of(found["rest"]) for line in lines)
    current: _Line | None = None
    for number, line in enumerate(lines, 1):
        timed = _TIMED_LINE.fullmatch(line) if has_times else None
        spoken = _speaker_of(timed["rest"] if timed else line) if timed or not has_times else None
        if spoken is not None:
            if current is not None:
                yield current
            current = _Line(*spoken, timed, number)
        elif current is not None and timed is None:
            # A timed line without a speaker is a notice of the program.
            current.text = f"{current.text}\n{line}"
    if current is not None:
        yield current


def _speaker_of(line: str) -> tuple[str, str] | None:
    found = _SPOKEN_LINE.fullmatch(line.strip())
    if found is None:
        return None
    speaker = found["speaker"] or found["alone"]
    return (speaker, found["text"] or "") if len(speaker.split()) <= _MAX_SPEAKER_WORDS else None


def _find_user(names: Sequence[str], speaker: str | None, user: str) -> str:
    if speaker is not None:
        wanted = [name for name in names if name.casefold() == speaker.casefold()]
    else:
        wanted = [name for name in names if name.casefold() == user.casefold()] or [
            name for name in names if name.casefold() in USER_NAMES
        ]
    if len(wanted) == 1:
        return wanted[0]
    shown = ", ".join(names[:_MAX_NAMED_SPEAKERS]) + (" …" if len(names) > _MAX_NAMED_SPEAKERS else "")
    problem = "nobody in it is called that" if speaker is not None else "it does not say which speaker is the user"
    raise InvalidInputError(f"{problem}: pass --speaker with one of these: {shown}")


def _is_day_first(times: Sequence[re.Match[str]]) -> bool | None:
    """Return whether dates are written with the day first; None if nothing tells."""
    local = [(int(time["a"]), int(time["b"]), time["mark"]) for time in times if time["a"]]
    if any(mark == "." or first > 12 for first, _, mark in local):
        return True
    return False if any(second > 12 for _, second, _ in local) else None


def _said_at(time: re.Match[str], number: int, *, is_day_first: bool | None, zone: tzinfo | None) -> datetime:
    if not time["iso"] and is_day_first is None:
        raise InvalidInputError(
            f"line {number}: {time['a']}/{time['b']} may be a day and a month, or a month and a day, and no other date "
            "in the file tells: write the dates as 2026-03-01"
        )
    try:
        if time["iso"]:
            return in_zone(datetime.fromisoformat(time["iso"]), zone)
        day, month = (int(time["a"]), int(time["b"])) if is_day_first else (int(time["b"]), int(time["a"]))
        year = int(time["year"]) + (2000 if len(time["year"]) == 2 else 0)
        hour, minute, second = (*map(int, time["clock"].split(":")), 0)[:3]
        if time["half"]:
            hour = hour % 12 + (12 if time["half"] in "pP" else 0)
        return in_zone(datetime(year, month, day, hour, minute, second), zone)  # noqa: DTZ001 - it gets its zone there
    except ValueError as error:
        raise InvalidInputError(f"line {number}: the date does not exist ({error}): correct it") from error
