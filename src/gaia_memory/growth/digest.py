"""Counts how a person uses their agent: by day and hour, tools and what follows what, commands, channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from gaia_memory.models import TurnUsage

MAX_LISTED = 10
"""Tools, and sequences of tools, in a digest."""

_MIN_REPETITIONS = 2
_NO_ERRORS = frozenset({"ok", "found", "nothing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDigest:
    """How a person used their agent in the last `days` days: names and counts, no words.

    `turns_by_day` and `turns_by_hour` are in the person's time zone. `sequences` are pairs and triples of tools that
    followed each other at least twice in a session. `errors` counts kinds of errors by tool. `searches` counts how
    often memory's own tools found something.
    """

    days: int
    turns: int = 0
    active_days: int = 0
    turns_by_day: Mapping[str, int] = field(default_factory=dict)
    turns_by_hour: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)
    sequences: Mapping[str, int] = field(default_factory=dict)
    commands: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    channels: Mapping[str, int] = field(default_factory=dict)
    searches: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the digest as data for JSON."""
        return asdict(self)

    def groups(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield each kind of count that there is, with the errors of each tool on their own."""
        names = ("turns_by_day", "turns_by_hour", "tools", "sequences", "commands", "channels", "searches")
        yield from ((name.replace("_", " "), counts) for name in names if (counts := getattr(self, name)))
        yield from ((f"errors of {tool}", counts) for tool, counts in self.errors.items())

    @property
    def figures(self) -> str:
        """The most telling figures in one line."""
        parts = [f"{self.turns} turns on {self.active_days} of {self.days} days"]
        for name, counts in (("hours", self.turns_by_hour), ("tools", self.tools), ("sequences", self.sequences)):
            top = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:2]
            parts += [f"{name} {', '.join(f'{value} ({count})' for value, count in top)}"] if top else []
        return "; ".join(parts)


def build_digest(used: Iterable[TurnUsage], *, days: int, zone: tzinfo | None) -> UsageDigest:
    """Count what was used; without a zone, days and hours are those of this machine."""
    rows = list(used)
    turns = [each for each in rows if each.command is None]
    moments = [datetime.fromtimestamp(each.ended_at, UTC).astimezone(zone) for each in turns]
    by_day = Counter(moment.date().isoformat() for moment in moments)
    calls = [call for each in turns for call in each.tools]
    errors: dict[str, Counter[str]] = {}
    for name, outcome in calls:
        if outcome not in _NO_ERRORS:
            errors.setdefault(name, Counter())[outcome] += 1
    return UsageDigest(
        days=days,
        turns=len(turns),
        active_days=len(by_day),
        turns_by_day=dict(sorted(by_day.items())),
        turns_by_hour=dict(sorted(Counter(f"{moment:%H}:00" for moment in moments).items())),
        tools=_top(Counter(name for name, _ in calls)),
        sequences=_top(_sequences(turns)),
        commands=_top(Counter(each.command for each in rows if each.command)),
        errors={name: _top(counts) for name, counts in sorted(errors.items())},
        channels=_top(Counter(each.channel for each in turns if each.channel)),
        searches=_top(Counter(outcome for _, outcome in calls if outcome in ("found", "nothing"))),
    )


def _sequences(turns: Sequence[TurnUsage]) -> Counter[str]:
    """Count the pairs and triples of tools that follow each other at least twice in one session."""
    by_session: dict[tuple[str, str], list[str]] = {}
    for each in turns:
        by_session.setdefault((each.key.app, each.key.session), []).extend(name for name, _ in each.tools)
    total = Counter[str]()
    for names in by_session.values():
        for size in (2, 3):
            parts = (names[start : start + size] for start in range(len(names) - size + 1))
            counts = Counter(" > ".join(part) for part in parts)
            total.update({each: count for each, count in counts.items() if count >= _MIN_REPETITIONS})
    return total


def _top(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MAX_LISTED])
