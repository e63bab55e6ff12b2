"""Who ends facts, in the words that people read."""

from __future__ import annotations

_ACTORS = {
    "person": "the person",
    "host": "an admin or a program",
    "clock": "the passing of time",
    "rule": "a later statement",
    "model": "a later statement",
}


def describe_actor(actor: str | None) -> str:
    """Return who ended a fact: "the person", "the agent NAME", "a later statement"."""
    kind, _, name = (actor or "").partition(":")
    return f"the agent {name}" if kind == "agent" else _ACTORS.get(kind, actor or "somebody")
