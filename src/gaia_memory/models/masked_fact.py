"""Facts and their sources without credentials, as they are stored; and as they are shown, if an older release did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_memory.models.new_fact import LABELS
from gaia_memory.redaction.credentials import contains_credential, mask_credentials

if TYPE_CHECKING:
    from gaia_memory.models.endings import PastFact
    from gaia_memory.models.fact import Fact, Origin
    from gaia_memory.models.new_fact import NewFact, Scalar

_Masked = TypeVar("_Masked", "Fact", "NewFact")


def mask_fact(fact: _Masked, *, allow_numbers: bool) -> _Masked:
    """Return a fact with each credential in its text, labels and metadata masked, and without a key that has one.

    `allow_numbers` is `memory.allow_numbers`.
    """
    text = mask_credentials(fact.text, allow_numbers=allow_numbers)
    labels: dict[str, Any] = {name: label for name in LABELS if (label := getattr(fact, name)) != LABELS[name]}
    masked: dict[str, Any] = {
        name: mask_credentials(label, allow_numbers=allow_numbers) for name, label in labels.items()
    }
    if fact.key is not None:
        labels["key"] = fact.key
        masked["key"] = None if contains_credential(fact.key, allow_numbers=allow_numbers) else fact.key
    metadata = dict(_mask_entry(name, value, allow_numbers) for name, value in fact.metadata.items())
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


def _mask_entry(name: str, value: Scalar, allow_numbers: bool) -> tuple[str, Scalar]:
    """Return an entry of metadata, whose name says what its value is: `{"password": "swordfish"}`."""
    text = f"{name}: {value}"
    masked = mask_credentials(text, allow_numbers=allow_numbers)
    if masked == text:
        return name, value
    if masked.startswith(f"{name}: "):
        return name, masked.removeprefix(f"{name}: ")
    return mask_credentials(name, allow_numbers=allow_numbers), mask_credentials(
        str(value), allow_numbers=allow_numbers
    )
