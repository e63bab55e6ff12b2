"""An excerpt is the beginning of what a person said, without secrets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.drafts.screen import build_drafts
from gaia_memory.models import ExtractedFact
from support.factories import make_chunk, make_turn

KEY = "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"


@pytest.mark.parametrize(
    ("message", "excerpt"),
    [
        ("  I like tea \n", "I like tea"),
        ("x" * 201, "x" * 200),
        ("a\x00b \ud800", "a\ufffdb \ufffd"),
        (f"My key is {KEY} and I like tea", "My key is [redacted: a key or token] and I like tea"),
        (KEY, None),
        # The key begins within the excerpt and ends behind it.
        ("x " * 85 + KEY, "x " * 85 + "[redacted: a key or token]"),
        # The mask would be cut.
        ("x " * 95 + KEY, ("x " * 95).rstrip()),
    ],
)
def test_an_excerpt_has_two_hundred_characters_and_no_secret(message: str, excerpt: str | None) -> None:
    """Keys and passwords are masked, and a mask is not cut; a message that is nothing else gives none."""
    assert excerpt_of(message) == excerpt


def test_a_draft_quotes_the_users_message_in_its_turn() -> None:
    """Not the agent's answer, nor a message that may be private."""
    chunk = make_chunk(make_turn(7, "I flew to Rome", "How was Rome?"), make_turn(8, "my sister Noa loves tea"))
    private = tuple(replace(message, may_be_private=True) for message in chunk.turns[0].messages)
    secret_chunk = make_chunk(replace(chunk.turns[0], messages=private))

    [rome, sister] = build_drafts(chunk, [ExtractedFact(text="Flew to Rome"), ExtractedFact(text="Has a sister Noa")])
    [secret] = build_drafts(secret_chunk, [ExtractedFact(text="Flew to Rome")])

    assert (rome.excerpt, sister.excerpt, secret.excerpt) == ("I flew to Rome", "my sister Noa loves tea", None)
