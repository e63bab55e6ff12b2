"""A conversation that was held elsewhere, and the turns it gives."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gaia_memory.models import EventPosition, Message, Role, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMessage:
    """A message of the user or of the other side; without an `id` of its own, its content identifies it."""

    role: Role
    text: str
    said_at: datetime
    speaker: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """A conversation with its messages in order; `id` is that of the export, or of the first message.

    `is_kept_out`: the person has marked it as one that is not to be remembered.
    """

    id: str
    title: str
    messages: tuple[ImportedMessage, ...]
    is_kept_out: bool = False

    @property
    def began_at(self) -> datetime:
        """When the first message was written."""
        return self.messages[0].said_at

    @property
    def ended_at(self) -> datetime:
        """When the last message was written."""
        return self.messages[-1].said_at

    def turns(self) -> list[Turn]:
        """Return the turns, each of which begins with a message of the user."""
        groups: list[list[Message]] = []
        for message in self._identified_messages():
            if message.role == "user" or not groups:
                groups.append([])
            groups[-1].append(message)
        return [
            Turn(
                seq=number,
                messages=tuple(group),
                end=EventPosition(group[-1].said_at.timestamp(), group[-1].event_id),
            )
            for number, group in enumerate(groups, 1)
        ]

    def _identified_messages(self) -> Iterator[Message]:
        """Yield the messages with ids that are the same whenever the conversation is read, even if it has grown."""
        counts: Counter[str] = Counter()
        for message in self.messages:
            event_id = message.id or content_id(message)
            counts[event_id] += 1
            if counts[event_id] > 1:
                event_id = f"{event_id}-{counts[event_id]}"
            yield Message(
                role=message.role,
                text=message.text,
                said_at=message.said_at,
                event_id=event_id,
                speaker="user" if message.role == "user" else message.speaker,
            )


def build_conversation(
    messages: Sequence[ImportedMessage], *, id: str = "", title: str = ""
) -> ImportedConversation | None:
    """Return a conversation of the messages with text; None if the user wrote none of them."""
    kept = [replace(message, text=message.text.strip()) for message in messages if message.text.strip()]
    if not any(message.role == "user" for message in kept):
        return None
    return ImportedConversation(id=id or content_id(kept[0]), title=title, messages=tuple(kept))


def content_id(message: ImportedMessage) -> str:
    """Return an id that only a message with the same time, role and text has."""
    content = "\0".join([message.said_at.isoformat(), message.role, message.text])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:32]
