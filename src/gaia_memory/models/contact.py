"""How a person's contact can be reached, as far as one number is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A phone number for somebody a person named.

    `number` is set only when the status is found: digits, with a leading plus where one was given. `candidates`
    are all numbers there are, so that an ambiguous one can be asked about.
    """

    status: Literal["found", "ambiguous", "not_found"]
    number: str | None = None
    candidates: tuple[str, ...] = ()
