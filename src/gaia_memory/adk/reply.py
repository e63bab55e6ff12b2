"""What the person reads of an agent's events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.events.event import Event


def text_of(event: Event) -> str:
    """Return an agent's text in an event, without its thoughts; the user's own events have none."""
    if event.author == "user" or event.content is None:
        return ""
    return "".join(part.text for part in event.content.parts or [] if part.text and not part.thought)


def final_text(event: Event) -> str:
    """Return the text of a finished answer, empty for everything on the way to one."""
    return text_of(event).strip() if event.is_final_response() else ""


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
