"""Ranks facts without a model, for when none answers."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.profile.bullets import shorten
from gaia_memory.profile.fact_categories import DOINGS, kind_of


def ranked(facts: Sequence[str]) -> list[str]:
    """Return facts (given oldest first) by what they are about, and within that the newest first."""
    newest_first = list(reversed(facts))
    return sorted(newest_first, key=kind_of)


def plain_bullets(facts: Sequence[str], projects: Sequence[str]) -> tuple[str, ...]:
    """Return a bullet for each fact and project as they stand, the most important first."""
    ordered = ranked(facts)
    before = [text for text in ordered if kind_of(text) <= DOINGS]
    lines = (shorten(text) for text in [*before, *projects, *ordered[len(before) :]])
    return tuple(dict.fromkeys(line for line in lines if line))
