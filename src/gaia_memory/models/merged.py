"""What became of one person's facts when they were made another's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """Counts of facts.

    `moved` are the other person's now, `joined` were known of both and stand once with all their sources,
    `dropped` are gone because the other person had forgotten them.
    """

    moved: int = 0
    joined: int = 0
    dropped: int = 0

    @property
    def count(self) -> int:
        """All of them."""
        return self.moved + self.joined + self.dropped
