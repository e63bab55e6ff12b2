"""What the tools that a model calls did to facts in a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

from gaia_memory.models.scope import SessionKey


class ToolTurn(NamedTuple):
    """A turn whose tools change facts: the conversation and the id of ADK's invocation."""

    key: SessionKey
    invocation_id: str


class ToolChange(TypedDict):
    """What the tools of a turn did to a fact, all in all. A new fact's `before` is what it took the place of."""

    action: Literal["remembered", "changed", "forgot"]
    id: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """One change by a tool, as it is noted in the database.

    `state` is what the fact was before, and all that was stored of one that is forgotten, until that is erased.
    `is_latest`: nothing has happened to the fact since.
    """

    row: int
    turn: ToolTurn
    change: ToolChange
    state: Mapping[str, Any] | None
    is_latest: bool


class Undone(NamedTuple):
    """The changes of a turn that were taken back, and those that were not: changed again since, or erased by now."""

    taken_back: list[ToolChange]
    changed_since: list[ToolChange]
    erased: list[ToolChange]


def join_changes(changes: Iterable[ToolChange]) -> list[ToolChange]:
    """Return what changes amount to, one for each fact; nothing of one that was remembered and forgotten."""
    found: dict[str, ToolChange] = {}
    for change in changes:
        earlier = found.setdefault(change["id"], change)
        if earlier is change:
            continue
        if change["action"] == "forgot" and earlier["action"] == "remembered":
            del found[change["id"]]
            continue
        action = earlier["action"] if change["action"] == "changed" else change["action"]
        found[change["id"]] = {**change, "action": action, "before": earlier["before"]}
    return list(found.values())
