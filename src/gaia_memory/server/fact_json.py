"""Facts and what belongs to them as data for JSON, credentials masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import UTC, date, datetime
from typing import Any

from gaia_memory.models import Fact, Hit, Origin, PastFact, PendingConversation, Receipt
from gaia_memory.models.masked_fact import mask_fact, mask_origin
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.redaction.redact_locations import redact_locations

_FACT_FIELDS = tuple(each.name for each in fields(Fact) if each.name not in ("scope", "metadata"))
_ORIGIN_FIELDS = ("source", "said_at", "noted_at", "session_id", "channel", "agent", "excerpt", "extractor")


def to_plain(value: Any) -> Any:
    """Return a value of a fact as JSON has it: times and days as ISO text."""
    return value.isoformat() if isinstance(value, date | datetime) else value


def fact_to_json(fact: Fact, *, allow_numbers: bool) -> dict[str, Any]:
    """Return a fact; `allow_numbers` is `memory.allow_numbers`."""
    masked = mask_fact(fact, allow_numbers=allow_numbers)
    return {name: to_plain(getattr(masked, name)) for name in _FACT_FIELDS} | {"metadata": dict(masked.metadata)}


def fact_with_sources(fact: Fact, origins: Sequence[Origin], *, allow_numbers: bool) -> dict[str, Any]:
    """Return a fact with where it comes from."""
    sources = [
        {name: to_plain(getattr(mask_origin(each, allow_numbers=allow_numbers), name)) for name in _ORIGIN_FIELDS}
        for each in origins
    ]
    return fact_to_json(fact, allow_numbers=allow_numbers) | {"sources": sources}


def hit_to_json(hit: Hit, *, allow_numbers: bool) -> dict[str, Any]:
    """Return a hit with its reasons."""
    fact = fact_to_json(hit.fact, allow_numbers=allow_numbers)
    return {"fact": fact, "score": float(hit.score), "why": {name: float(part) for name, part in hit.why.items()}}


def past_fact_to_json(past: PastFact, *, allow_numbers: bool) -> dict[str, Any]:
    """Return a period in which a fact was true."""
    data = {name: to_plain(value) for name, value in asdict(past).items()}
    return data | {"text": mask_credentials(past.text, allow_numbers=allow_numbers)}


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """Return the receipt of a forget."""
    return asdict(receipt) | {"removed": dict(receipt.removed), "notes": list(map(redact_locations, receipt.notes))}


def conversation_to_json(pending: PendingConversation, *, now: float) -> dict[str, Any]:
    """Return a conversation that is not learned yet, and why."""
    return {
        "session_id": pending.key.session,
        "app": pending.key.app,
        "channel": pending.key.channel,
        "state": _state(pending, now),
        "messages": pending.messages,
        "last_message_at": to_utc_text(pending.touched),
        "attempts": pending.attempts,
        "failing_since": to_utc_text(pending.failing_since),
        "next_try_at": to_utc_text(pending.retry_at),
        "reason": redact_locations(pending.reason or "") or None,
    }


def _state(pending: PendingConversation, now: float) -> str:
    if pending.active_until is not None and pending.active_until > now:
        return "active"
    if pending.lease_until is not None and pending.lease_until > now:
        return "learning"
    if pending.parked:
        return "parked"
    if pending.is_private:
        return "private"
    return "failing" if pending.attempts else "waiting"


def to_utc_text(seconds: float | None) -> str | None:
    """Return seconds since the epoch as ISO text in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
