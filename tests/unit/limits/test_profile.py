"""How roughly the length of a profile is measured."""

from __future__ import annotations

from gaia_memory.language.printable_text import estimate_tokens


def test_tokens_are_estimated_from_characters() -> None:
    """No tokenizer of a model is asked: three letters count as one token, also where a model needs fewer."""
    assert estimate_tokens("international" * 3) == 13
