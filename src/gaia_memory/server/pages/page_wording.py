"""How pages put values of memory: times, sources, and who did something."""

from __future__ import annotations

from datetime import UTC, datetime

_MAX_LISTED_CHARACTERS = 300
_SOURCES = {
    "remember": "told directly",
    "agent": "noted by an agent",
    "conversation": "learned from a conversation",
    "add": "added by a program",
    "import": "imported",
    "grow": "proposed from counts of use",
}


def describe_source(source: str) -> str:
    """Return how memory came to know a fact."""
    return _SOURCES.get(source, source)


def format_moment(moment: datetime | float | str | None) -> str:
    """Return a time as text, in UTC; a hyphen for None. A text is a time in ISO form."""
    if moment is None:
        return "-"
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    at = datetime.fromtimestamp(moment, UTC) if isinstance(moment, int | float) else moment.astimezone(UTC)
    return at.strftime("%Y-%m-%d %H:%M")


def shorten(text: str) -> str:
    """Return the beginning of a text for a list."""
    return text if len(text) <= _MAX_LISTED_CHARACTERS else f"{text[:_MAX_LISTED_CHARACTERS].rstrip()}…"
