"""Recalled facts as a tool answers them to a model."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.models import Hit


def render_hits(hits: Sequence[Hit]) -> list[dict[str, str]]:
    """Return one compact row a hit: its id, its text, and when it was said (or else stored) in ISO form."""
    return [
        {
            "id": hit.fact.id,
            "text": hit.fact.text,
            "timestamp": (hit.fact.said_at or hit.fact.created_at).isoformat(timespec="seconds"),
        }
        for hit in hits
    ]
