"""The statements that the offline model answers from: what memory knows, and what was said since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gaia_memory.adk.models.offline.message_kinds import statements_in
from gaia_memory.adk.models.offline.offline_phrases import detect_language
from gaia_memory.adk.models.offline.second_person import to_second_person
from gaia_memory.adk.models.offline.subjects import subject_words
from gaia_memory.adk.models.offline.topic_words import ALL_FUNCTION_WORDS, USER_WORDS, has_word, implied_words
from gaia_memory.language import dates
from gaia_memory.language.answer_types import tells_age
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.models import IN_DOUBT_MARK

if TYPE_CHECKING:
    from gaia_memory.backend.offline.conversation_reader import MessageContent

_ADDED_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)")
_TRADE = re.compile(
    r"\b(?:User (?:now )?(?:is|runs|owns|manages|drives)|I'?m|I am|(?:is|was|'s)(?: now)? an?|ich bin|ist|je suis|est|"
    r"soy|es) (?P<what>.+)",
    re.IGNORECASE,
)
_WORKPLACE = re.compile(r" (?:at|in|bei[m]?|im|an|auf|à|aux?|chez|dans|en) .*")
"""Where somebody works may be of another category: "infirmière à l'hôpital"."""

_EMPLOYER_PHRASE = re.compile(r"\b(?:is|ist|est|es) (?:an? |now )*[\w ]{3,40} (?:at|bei|chez) (?:the )?[A-ZÀ-Þ]")
_ORIGIN = re.compile(
    r"\b(?:from|born in|aus|geboren in|(?:originaire|vien[st]) d[eu]|(?:es|soy) de) (?-i:[A-ZÀ-Þ])|\bd'(?-i:[A-ZÀ-Þ])|"
    r"\b(?:User is|I'?m) from\b",
    re.IGNORECASE,
)
_TRADES = ("work", "legal")
_HEALTH_TRADE = re.compile(
    r"\b(?:is|ist|est|es) (?:an? |une? )?(?:now |jetzt )?(?:\w*(?:arzt|ärztin|krankenschwester|pfleger(?:in)?)|nurse|"
    r"doctor|dentist|midwife|médecin|infirmi(?:er|ère)|dentiste|enfermer[oa]|médic[oa]|dentista)\b",
    re.IGNORECASE,
)
"""Trades that have the words of health."""


_EMPTY_WORDS = USER_WORDS | {
    *("anything", "something", "irgendetwas", "irgendwas", "algo"),
    *("mr", "mrs", "ms", "herr", "mme", "sr", "sra"),
}

_MIN_LOST_WORDS = 2
"""How many words of a message that no fact has show that a part of it is not kept: one may be an aside."""

_AGE_OF_MEMORY = timedelta(days=60)
"""How long before this conversation a remembered fact counts as said: "I moved last month" ends a home in memory."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact about the person or others in the third person, from memory (`is_fact`) or from this conversation."""

    text: str
    said: str = ""
    """The person's own words, unless it is from memory."""

    is_in_doubt: bool = False

    @property
    def is_fact(self) -> bool:
        """Whether it is from memory."""
        return not self.said


def remembered_statements(profile_lines: Sequence[str], memories: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """Return the facts of the profile and of look-ups, oldest first, each once and with its doubt.

    The lines of the profile have no age, but of one topic the newest comes first. Those that memory has returned stand
    where they belong.
    """
    by_age = sorted(memories, key=lambda memory: str(memory.get("timestamp", "")))
    recalled = {str(memory.get("text", "")): bool(memory.get("in_doubt")) for memory in by_age}
    listed = {
        line.removeprefix(IN_DOUBT_MARK).strip(): line.startswith(IN_DOUBT_MARK) for line in reversed(profile_lines)
    }
    facts = {text: doubt for text, doubt in listed.items() if text not in recalled} | recalled
    return [Statement(text, is_in_doubt=doubt) for text, doubt in facts.items() if text]


def current_statements(remembered: Sequence[Statement], readings: Iterable[MessageContent]) -> list[Statement]:
    """Return what memory would hold once this conversation is learned, oldest first.

    What a message denies in its words, takes back or replaces by the rules of learning is left out.
    """
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.conversation_reader import SpokenFact
    from gaia_memory.backend.offline.rule_extraction import KeptFacts

    kept = KeptFacts()
    for each in remembered:
        # As answers tell it, which a person may then call wrong.
        told = to_second_person(each.text, detect_language(each.text)) or each.text
        kept.add(SpokenFact(told, each.text, each.text, is_resolved=False))
    for reading in readings:
        kept.update(reading)
    known = {each.text: each for each in remembered}
    statements = (
        known.get(each.fact) or Statement(each.told, said=each.told if each.is_resolved else each.said)
        for each in kept.spoken
    )
    current: list[Statement] = []
    for statement in statements:
        ended = set[int]() if statement.is_fact else _ended_by(statement, current)
        current = [each for at, each in enumerate(current) if at not in ended] + [statement]
    return current


def _ended_by(new: Statement, current: Sequence[Statement]) -> set[int]:
    """Return which of the current statements learning a new one would replace."""
    from gaia_memory.truth import reconcile_by_rule

    # The beginning of the day, since what is read in a statement is cached with its time.
    now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    decision = reconcile_by_rule.decide_by_rule(
        reconcile_by_rule.Statement(text=new.text, said_at=now, id=f"{len(current):04}"),
        [
            reconcile_by_rule.Statement(
                text=each.text, said_at=now - _AGE_OF_MEMORY if each.is_fact else now, id=f"{at:04}"
            )
            for at, each in enumerate(current)
        ],
    )
    if decision is None or decision.action not in ("UPDATE", "DELETE"):
        return set()
    # "Rex died" does not tell what he was, so what he ends stays, to be told behind it.
    is_told_alone = decision.action == "UPDATE" or not subject_words(new.text)
    return {int(each) for each in decision.existing} if is_told_alone else set()


def is_partly_kept(message: str, reading: MessageContent) -> bool:
    """Return whether a message states more than the facts that are learned of it."""
    words = topic_words(statements_in(message, detect_language(message)))
    kept = topic_words(" ".join(text for fact in reading.facts for text in (fact.said, fact.told)))
    lost = [word for word in words if not has_word(kept, word)]
    # A correction has words for what it does, too.
    is_correction = bool(reading.taken_back) or reading.is_retraction
    return len(lost) >= _MIN_LOST_WORDS and not is_correction


def category_of(text: str) -> str | None:
    """Return what a statement is about, as far as one of its words tells."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import categories

    return categories.category_of(text)


def tells_trade(text: str) -> bool:
    """Return whether a statement says what somebody is by trade: "User is a teacher"."""
    found = _TRADE.search(text)
    is_trade = found is not None and category_of(_WORKPLACE.sub("", found["what"])) in _TRADES
    return is_trade or any(phrase.search(text) for phrase in (_EMPLOYER_PHRASE, _HEALTH_TRADE))


def topic_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text without function words and those for the user."""
    words = dict.fromkeys(index_tokens(text))
    return tuple(word for word in words if word not in ALL_FUNCTION_WORDS | _EMPTY_WORDS)


def without_added_dates(text: str) -> str:
    """Return a text without the dates that learning has added to it."""
    return _ADDED_DATE.sub("", text)


def without_dates(text: str) -> str:
    """Return a text without the dates in it."""
    text = without_added_dates(text)
    for mention in reversed(dates.read(text, datetime.now(UTC), UTC)):
        text = text[: mention.span[0]] + text[mention.span[1] :]
    return text


@lru_cache(maxsize=1_000)
def told_words(text: str) -> tuple[str, ...]:
    """Return the words for what a statement tells without them: "work" for "User is a nurse"."""
    implied = {"work": tells_trade(text), "age": tells_age(text), "origin": _ORIGIN.search(text)}
    return (*implied_words(text, without_dates(text)), *(word for word, is_told in implied.items() if is_told))
