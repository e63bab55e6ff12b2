"""Reads `conversations.json` of ChatGPT and of Claude, and lists of messages with roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Role
from gaia_memory.models.validation import format_value
from gaia_memory.transfer.transcripts.imported_conversation import (
    ImportedConversation,
    ImportedMessage,
    build_conversation,
)
from gaia_memory.transfer.transcripts.values import ROLES, read_text, read_time

_ROLE_KEYS = ("role", "sender", "author")
_TEXT_KEYS = ("content", "text", "parts")
_TIME_KEYS = ("timestamp", "created_at", "create_time", "date", "time")
_SPOKEN_CONTENT = frozenset({"text", "multimodal_text"})
"""ChatGPT's kinds of content that somebody wrote or said; others are code, its output, thoughts and web pages."""


def parse_export(data: object, *, default_time: datetime, zone: tzinfo | None) -> list[ImportedConversation]:
    """Return the conversations of a JSON document; messages without a time have that of their conversation.

    Raises:
        InvalidInputError: it has none of the known forms, or a value in it is wrong.
    """
    entries = data if isinstance(data, list) else [data]
    if entries and all(_is_message(entry) for entry in entries):
        entries = [{"messages": entries}]
    conversations = []
    for number, entry in enumerate(entries, 1):
        place = f"conversation {number}"
        if not isinstance(entry, Mapping):
            raise InvalidInputError(f"{place} is {format_value(entry)}: pass an object with `messages`")
        began_at = _time(entry, ("create_time", "created_at", "timestamp", "date"), place, zone) or default_time
        messages = list(_messages(entry, place, began_at, zone))
        conversation = build_conversation(
            messages,
            id=_first_text(entry, ("conversation_id", "uuid", "id")),
            title=_first_text(entry, ("title", "name")),
        )
        if conversation is not None:
            is_kept_out = str(entry.get("is_do_not_remember")).casefold() == "true"
            conversations.append(replace(conversation, is_kept_out=is_kept_out))
    return conversations


def _is_message(entry: object) -> bool:
    return (
        isinstance(entry, Mapping)
        and any(key in entry for key in _ROLE_KEYS)
        and any(key in entry for key in _TEXT_KEYS)
    )


def _messages(
    entry: Mapping[str, Any], place: str, began_at: datetime, zone: tzinfo | None
) -> Iterator[ImportedMessage]:
    if isinstance(entry.get("mapping"), Mapping):
        rows: Sequence[Any] = _current_branch(entry["mapping"], entry.get("current_node"))
    else:
        lists = [entry[key] for key in ("chat_messages", "messages") if isinstance(entry.get(key), list)]
        rows = lists[0] if lists else []
        if not rows and "chat_messages" not in entry and "messages" not in entry:
            raise InvalidInputError(
                f"{place} has no messages: pass conversations.json of ChatGPT or Claude, or a list of messages with "
                "`role` and `content`"
            )
    said_at = began_at
    for number, row in enumerate(rows, 1):
        where = f"message {number} of {place}"
        if not isinstance(row, Mapping):
            raise InvalidInputError(f"{where} is {format_value(row)}: pass an object with `role` and `content`")
        role = _role(row)
        if role is None or _is_hidden(row):
            continue
        said_at = _time(row, _TIME_KEYS, where, zone) or said_at
        text = next((found for key in _TEXT_KEYS if (found := read_text(row.get(key)))), "")
        yield ImportedMessage(role=role, text=text, said_at=said_at, speaker=role, id=_first_text(row, ("uuid", "id")))


def _current_branch(nodes: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """Return the messages of ChatGPT's tree up to the node shown last; edited and repeated ones are not among them."""
    if not isinstance(current, str) or current not in nodes:
        parents = {node.get("parent") for node in nodes.values() if isinstance(node, Mapping)}
        current = next((name for name in reversed(list(nodes)) if name not in parents), None)
    branch: list[Mapping[str, Any]] = []
    visited: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in visited:
        visited.add(current)
        node = nodes[current]
        if not isinstance(node, Mapping):
            break
        if isinstance(node.get("message"), Mapping):
            branch.append(node["message"])
        current = node.get("parent")
    return branch[::-1]


def _role(row: Mapping[str, Any]) -> Role | None:
    value = next((row[key] for key in _ROLE_KEYS if row.get(key) is not None), None)
    if isinstance(value, Mapping):
        value = value.get("role")
    return ROLES.get(str(value).strip().casefold())


def _is_hidden(row: Mapping[str, Any]) -> bool:
    """Return whether a message of ChatGPT is not part of what both sides saw."""
    content, metadata = row.get("content"), row.get("metadata")
    kind = content.get("content_type", "text") if isinstance(content, Mapping) else "text"
    is_marked = isinstance(metadata, Mapping) and bool(metadata.get("is_visually_hidden_from_conversation"))
    return is_marked or kind not in _SPOKEN_CONTENT or row.get("recipient", "all") not in ("all", None)


def _time(row: Mapping[str, Any], keys: Sequence[str], place: str, zone: tzinfo | None) -> datetime | None:
    return read_time(next((row[key] for key in keys if row.get(key) is not None), None), place, zone=zone)


def _first_text(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((row[key] for key in keys if isinstance(row.get(key), str) and row[key]), "")
