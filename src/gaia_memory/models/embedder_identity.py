"""The identity of an embedder, whose vectors are compared with no other embedder's."""

from __future__ import annotations


def is_same_embedder(one: str, other: str) -> bool:
    """Return whether two identities, `provider/model/dimensions`, mean the same embedder.

    Unknown dimensions and models (`?`, `default`) match any.
    """
    if one == other:
        return True
    provider, _, rest = one.partition("/")
    other_provider, _, other_rest = other.partition("/")
    model, _, dimensions = rest.rpartition("/")
    other_model, _, other_dimensions = other_rest.rpartition("/")
    return (
        provider == other_provider
        and "?" in (dimensions, other_dimensions)
        and (model == other_model or "default" in (model, other_model))
    )
