"""Results of looking up a phone number and of merging two scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A phone number for a relation or a name.

    `number` is set only if the status is `found`: digits, with a leading plus where one was given. `candidates` are all
    numbers found, so that an agent can ask about an ambiguous one.
    """

    status: Literal["found", "ambiguous", "not_found"]
    number: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """Counts of facts after a merge.

    `moved` facts belong to the other scope now, `joined` ones were known to both and are stored once with all their
    sources, `dropped` ones are deleted because the other scope had forgotten them.
    """

    moved: int = 0
    joined: int = 0
    dropped: int = 0

    @property
    def count(self) -> int:
        """The sum of all counts."""
        return self.moved + self.joined + self.dropped
