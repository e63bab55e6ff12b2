"""The wording in which a model joins a new fact with those that it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gaia_memory.language.distinctive_words import count_shared, distinctive_words, word_forms
from gaia_memory.models import DESCRIBING_FIELDS, DUE_FIELDS, MARKS_OF_DOUBT, Fact, NewFact, Scalar
from gaia_memory.models.new_fact import DEFAULT_CONTEXT
from gaia_memory.redaction.credentials import without_masks
from gaia_memory.truth.by_model.model_question import MAX_TEXT_CHARACTERS

MIN_KNOWN_SHARE = 2 / 3
"""Share of the words of a model's wording that the facts it joins have to contain."""

_OF_ONE_SAYING = frozenset({*MARKS_OF_DOUBT, "attributed_to", "speaker"})
"""Metadata that tell who said a fact, which a joined wording has from its own saying."""


def is_usable(text: str, joined: Sequence[str]) -> bool:
    """Return whether a model's wording, credentials masked, may be stored: short, in the words of what it joins."""
    words = distinctive_words(without_masks(text))
    return (
        len(text) <= MAX_TEXT_CHARACTERS
        and bool(words)
        and count_shared(words, word_forms(" ".join(joined))) >= MIN_KNOWN_SHARE * len(words)
    )


def merge_details(merged: NewFact, replaced: Sequence[Fact]) -> dict[str, Any]:
    """Return the fields that a fact has with the metadata and details of those it joins, where it has none itself."""
    metadata: dict[str, Scalar] = {}
    details: dict[str, Any] = {}
    for fact in sorted(replaced, key=lambda fact: fact.last_said_at):
        metadata |= {name: value for name, value in fact.metadata.items() if name not in _OF_ONE_SAYING}
        details |= {name: value for name in DESCRIBING_FIELDS if (value := getattr(fact, name))}
        if fact.due_at is not None and merged.due_at is None:
            details |= {name: getattr(fact, name) for name in DUE_FIELDS}
        if fact.valid_until is not None and merged.valid_until is None and _holds_until(merged, fact.valid_until):
            details["valid_until"] = fact.valid_until
    own = {name: getattr(merged, name) for name in DESCRIBING_FIELDS}
    details |= {name: value for name, value in own.items() if value and value != DEFAULT_CONTEXT}
    return {**details, "metadata": {**metadata, **merged.metadata}}


def _holds_until(merged: NewFact, end: datetime) -> bool:
    """Return whether an end of validity lies after a fact was said and begins to hold."""
    starts = [moment for moment in (merged.said_at, merged.valid_from) if moment is not None]
    return bool(starts) and end > max(starts)
