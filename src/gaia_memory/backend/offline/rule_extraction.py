"""Extraction without a model: the user's statements in mem0's extraction prompt."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

from gaia_memory.backend.offline import corrections
from gaia_memory.backend.offline.conversation_reader import ConversationReader

_NEW_MESSAGES = re.compile(r"^## New Messages\n(?P<inside>.*?)\n\n## Observation Date\n", re.DOTALL | re.MULTILINE)
_OBSERVATION_DATE = re.compile(r"^## Observation Date\n(?P<day>\d{4}-\d{2}-\d{2})", re.MULTILINE)
_ROLE_PREFIX = re.compile(r"^(?P<role>user|assistant|system): ", re.MULTILINE)


def is_extraction_prompt(prompt: str) -> bool:
    """Return whether `prompt` is mem0's extraction prompt."""
    return _NEW_MESSAGES.search(prompt) is not None


def extract_facts(prompt: str) -> list[str]:
    """Return the user's statements in the new messages of mem0's prompt, without duplicates."""
    found = _NEW_MESSAGES.search(prompt)
    reader = ConversationReader(_observation_date(prompt))
    unique_facts: dict[str, str] = {}
    affirmed: dict[frozenset[str], list[str]] = {}
    for message in _user_messages(found["inside"] if found else ""):
        for spoken in reader.read(message):
            fact = spoken.fact
            key = fact.casefold()
            words, is_denial = corrections.words_and_denial(fact)
            if is_denial:
                for denied in affirmed.pop(words, []):
                    unique_facts.pop(denied, None)
            else:
                affirmed.setdefault(words, []).append(key)
            unique_facts.setdefault(key, fact)
    return list(unique_facts.values())


def _observation_date(prompt: str) -> date:
    found = _OBSERVATION_DATE.search(prompt)
    return date.fromisoformat(found["day"]) if found else datetime.now(UTC).date()


def _user_messages(new_messages: str) -> list[str]:
    """Parse both forms of mem0's section: a JSON list of messages, or lines that start with a role."""
    try:
        entries = json.loads(new_messages, strict=False)
    except json.JSONDecodeError:
        parts = _ROLE_PREFIX.split(new_messages)[1:]
        return [text for role, text in zip(parts[::2], parts[1::2], strict=False) if role == "user"]
    messages = entries if isinstance(entries, list) else []
    return [str(entry.get("content") or "") for entry in messages if isinstance(entry, dict) and _is_user(entry)]


def _is_user(entry: dict[str, object]) -> bool:
    return entry.get("role") == "user"
