"""What the person reads of an agent's events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.events.event import Event

_NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""ADK's error code for an answer without words; it sets it for whole answers and not for streamed ones."""


def text_of(event: Event) -> str:
    """Return an agent's text in an event, without its thoughts; the user's own events have none."""
    if event.author == "user" or event.content is None:
        return ""
    return "".join(part.text for part in event.content.parts or [] if part.text and not part.thought)


class Heard:
    """What a turn's events say to the person, and whether that is an answer."""

    def __init__(self) -> None:
        self._answers: list[str] = []
        self._on_the_way: list[str] = []
        self._refused: str | None = None
        self._shows_something = False

    def hear(self, event: Event) -> None:
        """Take the next event."""
        if event.author == "user":
            return
        self._refused = self._refused or event.error_code
        if event.partial:
            return
        ends = event.is_final_response()
        self._shows_something = ends and _shows_more_than_text(event)
        said = text_of(event).strip()
        if said:
            (self._answers if ends else self._on_the_way).append(said)

    @property
    def text(self) -> str:
        """The finished answers; what was said beside calls where nothing was said after them."""
        return "\n".join(self._answers or self._on_the_way)

    @property
    def failure(self) -> str | None:
        """Why nothing that was said is an answer; None where something is, or where none is due."""
        if self._answers:
            return None
        if self._refused not in (None, _NO_CONTENT):
            return self._refused
        return None if self._on_the_way or self._shows_something else "no words"


def _shows_more_than_text(event: Event) -> bool:
    """Say whether an event holds a file, a question to the person, or a tool's result that is the answer."""
    parts = (event.content.parts if event.content else None) or []
    return any(part.text is None for part in parts)


class Pieces:
    """Turns a streamed turn into pieces of text, each part of an answer once.

    A model streams an answer in partial events and then sends the whole of it again.
    """

    def __init__(self) -> None:
        self.any = False
        self._streamed: dict[str, str] = {}

    def of(self, event: Event) -> Iterator[str]:
        """Yield what an event adds to what was yielded before."""
        text = text_of(event)
        if not text:
            return
        streamed = self._streamed.get(event.author, "")
        if event.partial:
            self._streamed[event.author] = streamed + text
            yield from self._new(text, starts=not streamed)
            return
        self._streamed.pop(event.author, None)
        if not streamed:
            yield from self._new(text, starts=True)
        elif text.startswith(streamed):
            yield from self._new(text[len(streamed) :], starts=False)

    def _new(self, text: str, *, starts: bool) -> Iterator[str]:
        if not text:
            return
        if starts and self.any:
            yield "\n"
        self.any = True
        yield text
