"""Reads `custom_metadata` as ADK's service for Vertex AI Memory Bank knows it; warns of what has no meaning here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from gaia_memory.errors import InvalidInputError
from gaia_memory.log import logger_for
from gaia_memory.models import Metadata
from gaia_memory.models.validation import format_value

logger = logger_for(__name__)

CONSOLIDATION_KEY = "enable_consolidation"

Method = Literal["add_memory", "add_events_to_memory"]

_COMMON_SWITCHES = {
    "wait_for_completion": (True, False),
    "force_flush": (True, False),
    "disable_memory_revisions": (False,),
}
SWITCHES: Mapping[Method, Mapping[str, tuple[bool, ...]]] = {
    "add_memory": {**_COMMON_SWITCHES, "disable_consolidation": (True,), CONSOLIDATION_KEY: (True, False)},
    "add_events_to_memory": {**_COMMON_SWITCHES, "disable_consolidation": (False,), CONSOLIDATION_KEY: (True,)},
}
"""The keys that are true or false, with the values that have an effect, or say what happens anyway."""

_KEYS_WITHOUT_MEANING = frozenset(
    (
        *("revision_ttl", "revision_expire_time", "revision_labels", "memory_id", "http_options"),
        *("metadata_merge_strategy", "stream_id", "generation_trigger_config", "allowed_topics"),
    )
)
IGNORED_KEYS: Mapping[Method, frozenset[str]] = {
    "add_memory": _KEYS_WITHOUT_MEANING,
    "add_events_to_memory": _KEYS_WITHOUT_MEANING | {"topics"},
}
"""The keys without a meaning here, which get one warning."""


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
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in SWITCHES[method] or name in IGNORED_KEYS[method]:
            _check_switch(name, value, SWITCHES[method].get(name), warned_keys)
        elif name == "metadata":
            found |= _flat_metadata(value)
        elif name == "topics":
            found["category"] = _single_topic(value)
        elif name == "expire_time" and isinstance(value, datetime):
            found[name] = value.isoformat()
        else:
            found[name] = _flat_value(value)
    return found


def _check_switch(name: str, value: object, effective: tuple[bool, ...] | None, warned_keys: set[str]) -> None:
    named = f"custom_metadata[{name!r}] is {format_value(value)}"
    if effective is not None and not isinstance(value, bool):
        raise InvalidInputError(f"{named}: pass True or False")
    if value not in (effective or ()) and name not in warned_keys:
        warned_keys.add(name)
        logger.warning("%s, which does nothing here: leave it out", named)


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
