"""Reads `custom_metadata` as ADK's service for Vertex AI Memory Bank knows it; warns of what has no meaning here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from gaia_memory.errors import InvalidInputError
from gaia_memory.log import logger_for
from gaia_memory.models import Metadata
from gaia_memory.models.validation import format_value

logger = logger_for(__name__)

CONSOLIDATION_KEY = "enable_consolidation"

Method = Literal["add_memory", "add_events_to_memory"]

_KEPT_HISTORY = "earlier wordings stay in history until they are forgotten"
_NO_HTTP = "nothing is sent over HTTP"


@dataclass(frozen=True, slots=True)
class BankKey:
    """What a key of Memory Bank does here, in words of the docs; `ignored` is why it does nothing, and the fix.

    `switch` lists the values that have their effect, because that is what happens anyway.
    """

    effect: str = ""
    ignored: str = ""
    switch: tuple[bool, ...] = ()


def _ignored(reason: str, fix: str = "leave it out") -> BankKey:
    return BankKey(ignored=f"{reason}: {fix}")


_TTL = BankKey("the facts expire after this time, such as `'3600s'`")
_EXPIRE_TIME = BankKey("the facts expire at this time, a `datetime` or ISO 8601 text with a zone")
_METADATA = BankKey("metadata of the facts")
_COMPLETION_KEY = BankKey("both values: the call returns when it is done", switch=(True, False))
_TEXT = BankKey("metadata of the facts under this name")
_SHARED_KEYS = {
    "ttl": _TTL,
    "expire_time": _EXPIRE_TIME,
    "metadata": _METADATA,
    "display_name": _TEXT,
    "description": _TEXT,
    "wait_for_completion": _COMPLETION_KEY,
    "force_flush": _COMPLETION_KEY,
    "disable_memory_revisions": BankKey("`False` is what happens", f"{_KEPT_HISTORY}: leave it out", (False,)),
    "revision_ttl": _ignored(_KEPT_HISTORY, "leave it out, or pass ttl for the fact itself"),
    "revision_expire_time": _ignored(_KEPT_HISTORY, "leave it out, or pass expire_time for the fact itself"),
    "revision_labels": _ignored("history keeps no labels", "pass them as metadata"),
    "memory_id": _ignored("each fact gets an id of its own"),
    "http_options": _ignored(_NO_HTTP),
    "metadata_merge_strategy": _ignored("the metadata of the latest saying win"),
    "stream_id": _ignored("events belong to a session", "pass session_id"),
    "generation_trigger_config": _ignored("`sessions.idle_consolidate_minutes` says when a session is learned"),
}

MEMORY_BANK_KEYS: Mapping[Method, Mapping[str, BankKey]] = {
    "add_memory": {
        **_SHARED_KEYS,
        "topics": BankKey("one topic becomes the category; several are an error"),
        "allowed_topics": _ignored("facts are stored as they are given"),
        "disable_consolidation": BankKey(
            "`True`: the facts end nothing", f"facts end nothing by default: pass {CONSOLIDATION_KEY} instead", (True,)
        ),
        CONSOLIDATION_KEY: BankKey(
            "`True`: the model decides which known facts the new ones replace; `False`: none. Only in "
            "the metadata of the call",
            switch=(True, False),
        ),
    },
    "add_events_to_memory": {
        **_SHARED_KEYS,
        "topics": _ignored("the model gives each fact its category"),
        "allowed_topics": _ignored("`memory.extraction_instructions` says what to learn"),
        "disable_consolidation": BankKey("`False` is what happens", "set `memory.reconcile: off`", (False,)),
        "enable_consolidation": BankKey("`True` is what happens", "set `memory.reconcile: off`", (True,)),
    },
}
"""What each key does, by method; any other name is metadata of the facts."""


def wants_consolidation(
    custom_metadata: Mapping[str, object] | None, of_entries: Sequence[Mapping[str, object]]
) -> bool:
    """Return whether `add_memory` compares its facts with the known ones.

    Raises:
        InvalidInputError: an entry says something else than the call: all are stored in one transaction.
    """
    given = custom_metadata or {}
    for metadata in of_entries:
        value = metadata.get(CONSOLIDATION_KEY)
        if value is not None and value != given.get(CONSOLIDATION_KEY, False):
            named = f"custom_metadata[{CONSOLIDATION_KEY!r}] of an entry is {format_value(value)}"
            raise InvalidInputError(f"{named}: pass it in the metadata of the call, for all entries")
    return given.get(CONSOLIDATION_KEY) is True and given.get("disable_consolidation") is not True


_VALUE_KEYS = ("bool_value", "double_value", "string_value", "timestamp_value")
_TOPIC_KEYS = ("custom_memory_topic_label", "managed_memory_topic")


def read_custom_metadata(
    custom_metadata: Mapping[str, object] | None, method: Method, warned_keys: set[str]
) -> Metadata:
    """Return the metadata of facts, flat, with `ttl`, `expire_time` and a topic as `category`; None is no value.

    A key without a meaning here is left out, with a warning unless it is among the `warned_keys`.

    Raises:
        InvalidInputError: a value has another form; the message names key, value and fix.
    """
    if custom_metadata is not None and not isinstance(custom_metadata, Mapping):
        raise InvalidInputError(f"custom_metadata is {format_value(custom_metadata)}: pass a mapping")
    given = {name: value for name, value in (custom_metadata or {}).items() if value is not None}
    keys, found = MEMORY_BANK_KEYS[method], dict[str, Any]()
    for name, value in given.items():
        key = keys.get(name)
        if key is not None and (key.switch or key.ignored):
            _check_switch(name, value, key, warned_keys)
        elif name == "metadata":
            found |= _flat_metadata(value)
        elif name == "topics":
            found["category"] = _single_topic(value)
        elif name == "expire_time" and isinstance(value, datetime):
            found[name] = value.isoformat()
        else:
            found[name] = _flat_value(value)
    return found


def _check_switch(name: str, value: object, key: BankKey, warned_keys: set[str]) -> None:
    named = f"custom_metadata[{name!r}] is {format_value(value)}"
    if key.switch and not isinstance(value, bool):
        raise InvalidInputError(f"{named}: pass True or False")
    if value not in key.switch and name not in warned_keys:
        warned_keys.add(name)
        logger.warning("%s, which does nothing here: %s", named, key.ignored)


def _flat_metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"custom_metadata['metadata'] is {format_value(value)}: pass a mapping")
    return {name: _flat_value(each) for name, each in value.items() if each is not None}


def _flat_value(value: object) -> object:
    """Return text for a time, and the value inside of Memory Bank's form; `NewFact` checks all others."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _VALUE_KEYS:
        [value] = value.values()
    return value.isoformat() if isinstance(value, datetime) else value


def _single_topic(value: object) -> str:
    topics = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    labels = [_topic_label(topic) for topic in topics]
    if len(labels) != 1 or not isinstance(labels[0], str):
        fix = "pass one topic, because a fact has one category"
        raise InvalidInputError(f"custom_metadata['topics'] is {format_value(value)}: {fix}")
    return labels[0]


def _topic_label(topic: object) -> object:
    if isinstance(topic, Mapping):
        return next((topic[name] for name in _TOPIC_KEYS if topic.get(name)), None)
    return topic
