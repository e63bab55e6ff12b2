"""Excerpts: the beginning of what a person said, kept with a source as evidence of a fact."""

from __future__ import annotations

from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.redaction.credentials import contains_credential
from gaia_memory.redaction.mask import mask_secrets

MAX_EXCERPT_CHARACTERS = 200

_SCREENED_CHARACTERS = 2 * MAX_EXCERPT_CHARACTERS
"""A credential that the excerpt would cut is recognised by what follows."""


def excerpt_of(message: str) -> str | None:
    """Return the first characters of a message with keys masked; None if it is blank or still states a credential."""
    screened = mask_secrets(replace_unstorable(message).strip()[: 10 * MAX_EXCERPT_CHARACTERS])[:_SCREENED_CHARACTERS]
    return None if contains_credential(screened) else screened[:MAX_EXCERPT_CHARACTERS].rstrip() or None
