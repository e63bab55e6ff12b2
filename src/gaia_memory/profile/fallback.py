"""Ranks facts without a model, for when none answers."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.profile.bullets import truncate_line
from gaia_memory.profile.fact_categories import ACTIVITIES, categorize


def rank_by_category(facts: Sequence[str]) -> list[str]:
    """Return facts (given oldest first) by what they are about, and within that the newest first."""
    newest_first = list(reversed(facts))
    return sorted(newest_first, key=categorize)


def fallback_bullets(facts: Sequence[str], projects: Sequence[str]) -> tuple[str, ...]:
    """Return a bullet for each fact and project as they stand, the most important first."""
    ordered = rank_by_category(facts)
    before_projects = [text for text in ordered if categorize(text) <= ACTIVITIES]
    lines = (truncate_line(text) for text in [*before_projects, *projects, *ordered[len(before_projects) :]])
    return tuple(dict.fromkeys(line for line in lines if line))
