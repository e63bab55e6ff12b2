"""Reads from when until when a fact holds: in its text, in a model's answer, and in its metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from gaia_memory.errors import InvalidInputError
from gaia_memory.language.dates import Anchor, Bound, DateMention, read
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value, require_time

TTL_KEY, EXPIRE_TIME_KEY = "ttl", "expire_time"
"""The names in metadata that limit the life of a fact, as in Vertex AI Memory Bank."""

_TTL = re.compile(r"(?P<seconds>\d{1,12}(?:\.\d{1,9})?)s")
_TTL_FIX = "pass seconds as text with an s, such as '3600s'"
_EXPIRE_TIME_FIX = "pass an ISO 8601 time with a zone, such as '2026-12-31T00:00:00Z'"

_UNTIL_WORDS = re.compile(r"(?:until|till|til|bis|jusqu\w*|hasta)\b", re.IGNORECASE)
"""What a date begins with that ends something; "by Friday" is a deadline, after which a task is overdue."""

_NOT_SURE = re.compile(
    r"\b(?:must|has to|have to|needs? to|should|usually|always|normally|often|if|whether"
    r"|muss|müssen|soll|sollen|spätestens|fertig|meistens|immer|normalerweise|falls|wenn|ob"
    r"|doit|dois|devoir|faut|toujours|souvent|d'habitude|si|debe|debo|tiene que|tengo que|siempre|suele|suelo)\b",
    re.IGNORECASE,
)
"""Words of a task, a habit or a condition, whose date need not end the statement."""


def read_validity(text: str, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return from when and until before when a text holds that was said at a local time; None where it does not say.

    "Until Friday" ends with that day. A beginning is one of the past ("since March"): what is planned is worth knowing
    before it begins. A text with several such dates, a repetition, a habit or a task gives none, because a fact that
    expires too early is lost to its person.
    """
    mentions = read(text, said_at, said_at.tzinfo or said_at.astimezone().tzinfo or "UTC")
    if any(mention.recurrence for mention in mentions):
        return None, None
    starts = {
        each.start for each in mentions if each.bound is Bound.SINCE and not each.has_time and each.start <= said_at
    }
    ends = set(_ends(text, mentions, said_at))
    return (starts.pop() if len(starts) == 1 else None), (ends.pop() if len(ends) == 1 else None)


def _ends(text: str, mentions: Iterable[DateMention], said_at: datetime) -> Iterator[datetime]:
    if _NOT_SURE.search(text):
        return
    for mention in mentions:
        is_until = mention.bound is Bound.UNTIL and _UNTIL_WORDS.match(text, mention.span[0])
        # "Until noon" may be that of every day.
        is_dated = not mention.has_time or mention.anchor is not Anchor.INFERRED
        if is_until and is_dated and mention.start > said_at and mention.valid_until is not None:
            yield mention.valid_until


def confirm_last_day(last_day: date, texts: Iterable[str], said_at: datetime) -> datetime | None:
    """Return the end of a day on which a fact ends by a model's answer, if one of the texts says so; else None."""
    midnight = datetime.combine(last_day + timedelta(days=1), time(), said_at.tzinfo)
    ends = (read_validity(text, said_at)[1] for text in texts)
    return next((end for end in ends if end is not None and midnight - timedelta(days=1) < end <= midnight), None)


def take_lifetime(fact: NewFact, now: datetime) -> NewFact:
    """Return a fact with the end that its metadata give as `ttl`, counted from `now`, or as `expire_time`.

    Both names leave the metadata.

    Raises:
        InvalidInputError: a value has another form, or the end is given more than once.
    """
    given = [name for name in (TTL_KEY, EXPIRE_TIME_KEY) if name in fact.metadata]
    if not given:
        return fact
    if len(given) > 1 or fact.valid_until is not None:
        names = [*(f"metadata[{name!r}]" for name in given), *(["valid_until"] if fact.valid_until is not None else [])]
        raise InvalidInputError(f"{' and '.join(names)} both say when the fact ends: pass one of them")
    [name] = given
    value = fact.metadata[name]
    end = now + _parse_ttl(value) if name == TTL_KEY else _parse_expire_time(value)
    metadata = {key: each for key, each in fact.metadata.items() if key != name}
    return replace(fact, metadata=metadata, valid_until=end)


def _parse_ttl(value: object) -> timedelta:
    found = _TTL.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found["seconds"]) if found else 0.0
    # More than a thousand years would leave the calendar.
    if not 0 < seconds < 3e10:
        raise InvalidInputError(f"metadata['ttl'] is {format_value(value)}: {_TTL_FIX}")
    return timedelta(seconds=seconds)


def _parse_expire_time(value: object) -> datetime:
    name = "metadata['expire_time']"
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.utcoffset() is None:
        raise InvalidInputError(f"{name} is {format_value(value)}: {_EXPIRE_TIME_FIX}")
    return require_time(name, moment)
