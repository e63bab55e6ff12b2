"""Facts as they are shown: without the credentials that an older release stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaia_memory.models.new_fact import LABELS
from gaia_memory.redaction.credentials import contains_credential, mask_credentials
from gaia_memory.redaction.mask import MASK

if TYPE_CHECKING:
    from gaia_memory.models.fact import Fact


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
