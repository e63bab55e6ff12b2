"""Extraction without a model: the user's statements in mem0's extraction prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime

from gaia_memory.backend.offline import corrections
from gaia_memory.backend.offline.conversation_reader import ConversationReader, MessageContent, SpokenFact

_EARLIER_MESSAGES = re.compile(r"^## Earlier Messages\n(?P<inside>.*?)\n\n## ", re.DOTALL | re.MULTILINE)
_LATER_MESSAGES = re.compile(
    r"^## Later Messages[^\n]*\n(?P<inside>.*?)\n\n## New Messages\n", re.DOTALL | re.MULTILINE
)
_NEW_MESSAGES = re.compile(r"^## New Messages\n(?P<inside>.*?)\n\n## Observation Date\n", re.DOTALL | re.MULTILINE)
_OBSERVATION_DATE = re.compile(r"^## Observation Date\n(?P<day>\d{4}-\d{2}-\d{2})", re.MULTILINE)
_ROLE_PREFIX = re.compile(r"^(?P<role>user|assistant|system): ", re.MULTILINE)


def is_extraction_prompt(prompt: str) -> bool:
    """Return whether `prompt` is mem0's extraction prompt."""
    return _NEW_MESSAGES.search(prompt) is not None


def extract_facts(prompt: str) -> list[str]:
    """Return the user's statements in the new messages of an extraction prompt, without duplicates.

    Those before tell what "he" and "No, 7" stand for, and those behind may take a statement back.
    """
    reader = ConversationReader(_observation_date(prompt))
    kept = KeptFacts()
    for _ in _readings(reader, _EARLIER_MESSAGES.search(prompt)):
        pass
    for reading in _readings(reader, _NEW_MESSAGES.search(prompt)):
        kept.update(reading)
    for reading in _readings(reader, _LATER_MESSAGES.search(prompt)):
        kept.take_back(reading)
    return [spoken.fact for spoken in kept.spoken]


def _readings(reader: ConversationReader, section: re.Match[str] | None) -> Iterator[MessageContent]:
    """Read the user's messages in a section of the prompt."""
    answer: str | None = None
    for role, message in _messages(section["inside"] if section else ""):
        if role == "user":
            yield reader.read(message, answer)
            answer = None
        elif role == "assistant":
            answer = message


class KeptFacts:
    """The facts of a conversation that no later message denies or takes back."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[str, SpokenFact] = {}
        self._affirmed: dict[frozenset[str], list[str]] = {}

    @property
    def spoken(self) -> list[SpokenFact]:
        """The facts in the order in which they were said first."""
        return list(self._kept.values())

    def update(self, reading: MessageContent) -> None:
        """Take in the next message."""
        self.take_back(reading)
        for spoken in reading.facts:
            self.add(spoken)

    def take_back(self, reading: MessageContent) -> None:
        """Drop what a message takes back or corrects."""
        self._drop(spoken.fact.casefold() for spoken in reading.taken_back)
        for denial in reading.denials:
            denied, _ = corrections.words_and_denial(denial)
            self._drop(key for key in self._affirmed_keys() if self._words(key) <= denied)

    def add(self, spoken: SpokenFact) -> None:
        """Take in a fact; one that denies an earlier one takes its place."""
        key = spoken.fact.casefold()
        words, is_denial = corrections.words_and_denial(spoken.fact)
        if is_denial:
            for denied in corrections.denied_words(spoken.fact):
                self._drop(self._affirmed.pop(denied, []))
        else:
            self._affirmed.setdefault(words, []).append(key)
        self._kept.setdefault(key, spoken)

    def _affirmed_keys(self) -> list[str]:
        affirmed = {key for keys in self._affirmed.values() for key in keys}
        return [key for key in self._kept if key in affirmed]

    def _words(self, key: str) -> frozenset[str]:
        words, _ = corrections.words_and_denial(self._kept[key].said)
        return words

    def _drop(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            self._kept.pop(key, None)


def _observation_date(prompt: str) -> date:
    found = _OBSERVATION_DATE.search(prompt)
    return date.fromisoformat(found["day"]) if found else datetime.now(UTC).date()


def _messages(new_messages: str) -> list[tuple[str, str]]:
    """Parse both forms of mem0's section, a JSON list or lines that start with a role, into roles and texts."""
    try:
        entries = json.loads(new_messages, strict=False)
    except json.JSONDecodeError:
        parts = _ROLE_PREFIX.split(new_messages)[1:]
        return list(zip(parts[::2], parts[1::2], strict=False))
    messages = entries if isinstance(entries, list) else []
    return [(str(each.get("role")), str(each.get("content") or "")) for each in messages if isinstance(each, dict)]
