"""Facts and their sources as they are shown: without the credentials that an older release stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaia_memory.models.new_fact import LABELS
from gaia_memory.redaction.credentials import contains_credential, mask_credentials
from gaia_memory.redaction.mask import MASK

if TYPE_CHECKING:
    from gaia_memory.models.fact import Fact, Origin
    from gaia_memory.models.history.endings import PastFact


def mask_fact(fact: Fact, *, allow_numbers: bool) -> Fact:
    """Return a fact with each credential in its text, labels and metadata masked.

    `allow_numbers` is `memory.allow_numbers`. An export is not masked: the data is the person's own.
    """
    text = mask_credentials(fact.text, allow_numbers=allow_numbers)
    labels: dict[str, Any] = {name: label for name in LABELS if (label := getattr(fact, name)) is not None}
    masked: dict[str, Any] = {
        name: mask_credentials(label, allow_numbers=allow_numbers) for name, label in labels.items()
    }
    metadata = {
        name: MASK if contains_credential(f"{name}: {value}", allow_numbers=allow_numbers) else value
        for name, value in fact.metadata.items()
    }
    if (text, masked, metadata) == (fact.text, labels, dict(fact.metadata)):
        return fact
    return replace(fact, text=text, metadata=metadata, **masked)


def mask_origin(origin: Origin, *, allow_numbers: bool) -> Origin:
    """Return a source with each credential in its excerpt masked; `allow_numbers` is `memory.allow_numbers`."""
    excerpt = origin.excerpt and mask_credentials(origin.excerpt, allow_numbers=allow_numbers)
    return origin if excerpt == origin.excerpt else replace(origin, excerpt=excerpt)


def mask_past_fact(past: PastFact, *, allow_numbers: bool) -> PastFact:
    """Return a period of a fact with each credential in its text masked."""
    return replace(past, text=mask_credentials(past.text, allow_numbers=allow_numbers))
