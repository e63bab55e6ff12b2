"""Facts without a model: the statements a person made, read from mem0's extraction prompt."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

from gaia_memory.backend.offline import relative_dates, sentences, third_person

_NEW = re.compile(r"^## New Messages\n(?P<inside>.*?)\n\n## Observation Date\n", re.DOTALL | re.MULTILINE)
_DATE = re.compile(r"^## Observation Date\n(?P<day>\d{4}-\d{2}-\d{2})", re.MULTILINE)
_LINE = re.compile(r"^(?P<role>user|assistant|system): ", re.MULTILINE)
_LONGEST = 600
"""Characters of a sentence: what is longer is pasted text, not a statement about oneself."""


def recognises(prompt: str) -> bool:
    """Say whether `prompt` is mem0's."""
    return _NEW.search(prompt) is not None


def facts(prompt: str) -> list[str]:
    """Return what the person stated in the new messages of mem0's prompt, each statement once."""
    found = _NEW.search(prompt)
    day = _observed(prompt)
    kept: dict[str, str] = {}
    for text in _said_by_user(found["inside"] if found else ""):
        for sentence in sentences.split(text):
            fact = _fact(sentence, day)
            if fact:
                kept.setdefault(fact.casefold(), fact)
    return list(kept.values())


def _fact(sentence: str, day: date) -> str | None:
    if len(sentence) > _LONGEST:
        return None
    if not third_person.reads_as_english(sentence):
        return sentence if sentences.states_something(sentence) else None
    told = third_person.told(sentence) if sentences.states_something(third_person.opened(sentence)) else None
    return relative_dates.anchored(told, day) if told else None


def _observed(prompt: str) -> date:
    found = _DATE.search(prompt)
    return date.fromisoformat(found["day"]) if found else datetime.now(UTC).date()


def _said_by_user(new_messages: str) -> list[str]:
    """Read both forms of mem0's section: a JSON list of messages, or lines that begin with a role."""
    try:
        listed = json.loads(new_messages, strict=False)
    except json.JSONDecodeError:
        parts = _LINE.split(new_messages)[1:]
        return [text for role, text in zip(parts[::2], parts[1::2], strict=False) if role == "user"]
    messages = listed if isinstance(listed, list) else []
    return [str(entry.get("content") or "") for entry in messages if isinstance(entry, dict) and _is_user(entry)]


def _is_user(entry: dict[str, object]) -> bool:
    return entry.get("role") == "user"
