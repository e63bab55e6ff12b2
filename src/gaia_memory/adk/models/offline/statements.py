"""The statements that the offline model answers from, their words and what they are about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gaia_memory.adk.models.offline.topic_words import ALL_FUNCTION_WORDS, USER_WORDS
from gaia_memory.language import dates
from gaia_memory.language.function_words import FUNCTION_WORDS, Language
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import IN_DOUBT_MARK

if TYPE_CHECKING:
    from gaia_memory.truth.claims import Claim

_ADDED_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)")
_OWN_PROFESSION = re.compile(
    r"\b(?:I'?m|I am|(?:I|User) (?:now )?(?:runs?|owns?|drives?|manages?)|(?:is|was)(?: now| currently)? an?|"
    r"ich bin|ist (?!mein|unser)|je suis|est (?!m[ao]n?\b|notre)|soy|es (?!mi\b|nuestr))\b",
    re.IGNORECASE,
)
_WORKPLACE = re.compile(r" (?:at|in|bei[m]?|im|an|auf|à|aux?|chez|dans|en) .*")
"""Where somebody works may be of another category: "infirmière à l'hôpital"."""
_NOW = re.compile(
    r"\b(?:now(?:adays)?|currently|jetzt|inzwischen|mittlerweile|maintenant|désormais|ahora)\b", re.IGNORECASE
)


RECENT = timedelta(days=60)
"""Who says "I moved last month" speaks of the home that they named before, if only yesterday."""


_SINGLE_SLOTS = frozenset(("home", "employer", "role", "partner", "diet", "phone", "email", "weight", "nickname"))
"""Slots of the truth rules that hold one value at a time."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the person, or a fact about them or others (`is_fact`); a higher `order` is newer.

    One that `takes_back` answers nothing: it says that an earlier one with these words is wrong.
    """

    text: str
    order: int
    is_fact: bool = False
    is_in_doubt: bool = False
    takes_back: bool = False
    moment: str = ""
    """When it was said: statements of one message have the same."""


def remembered_statements(profile_lines: Sequence[str], memories: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """Return the facts of the profile and of look-ups, oldest first, each once and with its doubt.

    The lines of the profile have no age, but of one topic the newest comes first. Those that memory has returned stand
    where they belong.
    """
    by_age = sorted(memories, key=lambda memory: str(memory.get("timestamp", "")))
    recalled = {str(memory.get("text", "")): bool(memory.get("in_doubt")) for memory in by_age}
    moments = {str(memory.get("text", "")): str(memory.get("timestamp", "")) for memory in by_age}
    listed = {
        line.removeprefix(IN_DOUBT_MARK).strip(): line.startswith(IN_DOUBT_MARK) for line in reversed(profile_lines)
    }
    facts = {text: doubt for text, doubt in listed.items() if text not in recalled} | recalled
    known = [(text, doubt) for text, doubt in facts.items() if text]
    return [
        Statement(text, order, is_fact=True, is_in_doubt=doubt, moment=moments.get(text, ""))
        for order, (text, doubt) in enumerate(known)
    ]


def category_of(text: str) -> str | None:
    """Return what a statement is about, as far as one of its words tells."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import categories

    return categories.category_of(text)


def states_profession(text: str) -> bool:
    """Return whether a statement says what the person is by trade: "I'm a teacher"."""
    found = _OWN_PROFESSION.search(text)
    return found is not None and category_of(_WORKPLACE.sub("", text[found.start() :])) == "work"


def tells_new_profession(text: str) -> bool:
    """Return whether a statement says what the person is by trade by now, perhaps beside another one."""
    return _NOW.search(text) is not None and states_profession(text)


def names_workplace(text: str) -> bool:
    """Return whether a statement goes on with where somebody works: "… at the hospital"."""
    return _WORKPLACE.search(text) is not None


def topic_words(text: str, language: Language) -> tuple[str, ...]:
    """Return the distinct words of a text without the function words of its language."""
    words = dict.fromkeys(index_tokens(text))
    return tuple(word for word in words if word not in FUNCTION_WORDS[language] and word not in USER_WORDS)


def without_dates(text: str) -> str:
    """Return a text without the dates in it."""
    text = _ADDED_DATE.sub("", text)
    for mention in reversed(dates.read(text, datetime.now(UTC), UTC)):
        text = text[: mention.span[0]] + text[mention.span[1] :]
    return text


def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without its dates and the function words of all languages."""
    return tuple(word for word in topic_words(without_dates(text), "en") if word not in ALL_FUNCTION_WORDS)


def wrong_name(text: str) -> str:
    """Return the name that a statement says is wrong: "Ingrid" in "Her name is Astrid, not Ingrid"; else nothing."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    found = corrections.CONTRAST.search(text)
    return found["wrong"] if found and found["wrong"] and found["wrong"].istitle() else ""


def contradicts(statement: Statement, asked: str) -> bool:
    """Return whether a statement fills the slot that `asked` is about with another value: "I moved to Berlin"."""
    return any(
        (one.subject, one.slot) == (other.subject, other.slot)
        # "My friend Max" is another one than "my brother Max".
        and ("" in (one.relation, other.relation) or one.relation == other.relation)
        and one.slot in _SINGLE_SLOTS
        and (one.key == other.key or one.slot == "employer")
        and not one.is_denial
        and one.value != other.value
        for one in claims_of(statement.text)
        for other in claims_of(asked)
    )


def claims_of(text: str) -> tuple[Claim, ...]:
    """Return what the rules of truth read in a statement that is made today."""
    # The rules of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.truth.claims import read_statement

    return read_statement(text, today())


def is_long_past(claim: Claim) -> bool:
    """Return whether a change happened before what was said lately: "I moved to Portugal in 2019"."""
    return claim.happened_by is not None and claim.happened_by < today() - RECENT


def today() -> datetime:
    """Return the beginning of the day."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def tells_new_role(text: str) -> bool:
    """Return whether a statement tells of a new position at work: "I got promoted to head of sales"."""
    return any(claim.slot == "role" and claim.is_change and not claim.subject for claim in claims_of(text))
