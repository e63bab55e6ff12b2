"""Collects the text that the user sees from an agent's events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gaia_memory.adk.sessions.event_mapping import CHANGES_KEY

if TYPE_CHECKING:
    from google.adk.events.event import Event

_NO_CONTENT_CODE = "MODEL_RETURNED_NO_CONTENT"
"""ADK's error code for an answer without text; ADK sets it for whole answers, not for streamed ones."""


def text_of(event: Event) -> str:
    """Return an agent's text in an event, without its thoughts; empty for events of the user."""
    if event.author == "user" or event.content is None:
        return ""
    return "".join(part.text for part in event.content.parts or [] if part.text and not part.thought)


class ReplyCollector:
    """Collects the text of a turn's events and decides whether it is an answer."""

    def __init__(self) -> None:
        self._answers: list[str] = []
        self._interim_texts: list[str] = []
        self._error_code: str | None = None
        self._has_visible_content = False
        self.tool_turn: str | None = None
        """The id of the invocation, once a tool may have changed facts in it."""

    def add(self, event: Event) -> None:
        """Add the next event."""
        if event.author == "user":
            return
        self._error_code = self._error_code or event.error_code
        if event.get_function_responses() or CHANGES_KEY in (event.custom_metadata or {}):
            self.tool_turn = event.invocation_id
        if event.partial:
            return
        is_final = event.is_final_response()
        self._has_visible_content = is_final and _has_non_text_part(event)
        visible_text = text_of(event).strip()
        if visible_text:
            (self._answers if is_final else self._interim_texts).append(visible_text)

    @property
    def text(self) -> str:
        """The final answers; without any, the text that came with tool calls."""
        return "\n".join(self._answers or self._interim_texts)

    @property
    def failure(self) -> str | None:
        """The reason why there is no answer; None if there is one, or none is needed."""
        if self._answers:
            return None
        if self._error_code not in (None, _NO_CONTENT_CODE):
            return self._error_code
        return None if self._interim_texts or self._has_visible_content else "no words"


def _has_non_text_part(event: Event) -> bool:
    """Return True if an event contains a file, a question to the user, or a tool's result that is the answer."""
    parts = (event.content.parts if event.content else None) or []
    return any(part.text is None for part in parts)


class StreamDeduplicator:
    """Turns a streamed turn into pieces of text, each part of an answer once.

    A model streams an answer in partial events and then sends it again as a whole.
    """

    def __init__(self) -> None:
        self.has_yielded = False
        self._streamed: dict[str, str] = {}

    def new_text(self, event: Event) -> Iterator[str]:
        """Yield the text of an event that was not yielded before."""
        text = text_of(event)
        if not text:
            return
        streamed = self._streamed.get(event.author, "")
        if event.partial:
            self._streamed[event.author] = streamed + text
            yield from self._emit(text, is_start=not streamed)
            return
        self._streamed.pop(event.author, None)
        if not streamed:
            yield from self._emit(text, is_start=True)
        elif text.startswith(streamed):
            yield from self._emit(text[len(streamed) :], is_start=False)

    def _emit(self, text: str, *, is_start: bool) -> Iterator[str]:
        if not text:
            return
        if is_start and self.has_yielded:
            yield "\n"
        self.has_yielded = True
        yield text
