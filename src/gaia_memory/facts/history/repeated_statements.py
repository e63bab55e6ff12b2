"""A repeated statement: what a further saying of a known fact changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts.rows import DETAIL_DEFAULTS, stored_detail, to_epoch_seconds
from gaia_memory.models import (
    DEFAULT_CONTEXT,
    DUE_FIELDS,
    LABELS,
    MARKS_OF_DOUBT,
    UNCONFIRMED_KEY,
    extract_fact_features,
    find_author,
    is_of_model,
)

if TYPE_CHECKING:
    from datetime import datetime

    from gaia_memory.models import Draft

SAYING_COLUMNS = ("said_at", "session_id", "seq", "source", "metadata", "traits", *DETAIL_DEFAULTS)
"""The columns of a fact that a further saying may change."""


def time_of(draft: Draft, now: datetime) -> float:
    """Return when a draft was said, as far as that is known, in seconds since the epoch."""
    return to_epoch_seconds(draft.fact.said_at or draft.created_at or now)


def add_sayings(fact: Mapping[str, Any], drafts: Sequence[Draft], now: datetime) -> dict[str, Any]:
    """Return those columns of a fact that further sayings of it change, the earliest first.

    `fact` has `text`, `created_at` and `SAYING_COLUMNS`. The latest saying gives date and conversation, and wins
    where another says something else, even if it was learned first. What a model wrote is no saying.
    """
    merged = dict(fact)
    for draft in sorted(drafts, key=lambda each: time_of(each, now)):
        if not is_of_model(draft.fact.metadata):
            _add_saying(merged, draft, time_of(draft, now))
    changed = {name: merged[name] for name in SAYING_COLUMNS if merged[name] != fact[name]}
    if "metadata" in changed and find_author(merged["metadata"]) != find_author(fact["metadata"]):
        changed["traits"] = extract_fact_features(fact["text"], merged["metadata"])
    return changed


def _add_saying(merged: dict[str, Any], draft: Draft, said: float) -> None:
    known_since = merged["created_at"] if merged["said_at"] is None else merged["said_at"]
    is_later = said > known_since
    details = {name: stored_detail(name, getattr(draft.fact, name)) for name in DETAIL_DEFAULTS}
    for name in (*LABELS, "key"):
        is_wanted = is_later or merged[name] == DETAIL_DEFAULTS[name]
        if is_wanted and details[name] != DETAIL_DEFAULTS[name]:
            merged[name] = details[name]
    if DEFAULT_CONTEXT not in (draft.active_context, merged["context"]) and draft.active_context != merged["context"]:
        # What is said in two contexts is true in both.
        merged["context"] = DEFAULT_CONTEXT
    merged["sensitive"] = merged["sensitive"] or details["sensitive"]
    _merge_due(merged, details, is_later=is_later)
    _merge_validity(merged, details, said if is_later else known_since, is_later=is_later)
    merged["metadata"] = _merge_metadata(merged["metadata"], draft, is_later=is_later)
    if merged["source"] == "grow" and UNCONFIRMED_KEY not in merged["metadata"]:
        # Nobody had said it.
        merged["source"] = draft.source
    if draft.fact.said_at is None:
        return
    date = to_epoch_seconds(draft.fact.said_at)
    if merged["first_said_at"] is not None:
        merged["first_said_at"] = min(merged["first_said_at"], details["first_said_at"] or date)
    if is_later:
        session_id = draft.fact.session_id
        merged["said_at"], merged["seq"] = date, draft.fact.seq
        merged["session_id"] = None if session_id is None else encode_id(session_id)
        merged["in_doubt_since"] = details["in_doubt_since"]


def _merge_due(merged: dict[str, Any], details: Mapping[str, Any], *, is_later: bool) -> None:
    """Take the due date that the later saying gives, with all that belongs to it: of a new one nobody was reminded."""
    if details["due_at"] is None:
        return
    if merged["due_at"] is None or (is_later and details["due_at"] != merged["due_at"]):
        merged |= {name: details[name] for name in DUE_FIELDS}
    elif details["due_at"] == merged["due_at"]:
        merged |= {name: details[name] for name in DUE_FIELDS if merged[name] == DETAIL_DEFAULTS[name]}


def _merge_validity(merged: dict[str, Any], details: Mapping[str, Any], latest: float, *, is_later: bool) -> None:
    """Take the validity that the later saying gives; one that had ended by then ends with it."""
    old, new = (merged, details) if is_later else (details, merged)
    start, end = new["valid_from"], new["valid_until"]
    has_ended = old["valid_until"] is not None and old["valid_until"] <= latest
    if start is None:
        start = old["valid_from"]
    if end is None and not has_ended:
        end = old["valid_until"]
    merged["valid_from"], merged["valid_until"] = start, None if end is None or (start or end) > end else end


def _merge_metadata(known: Mapping[str, Any], draft: Draft, *, is_later: bool) -> dict[str, Any]:
    """Return the metadata of both sayings; the marks of what nobody confirmed go once the person has said it."""
    merged = {**known, **draft.fact.metadata} if is_later else {**draft.fact.metadata, **known}
    if not draft.is_imported:
        for mark in MARKS_OF_DOUBT:
            merged.pop(mark, None)
    return merged
