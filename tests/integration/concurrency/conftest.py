"""A fake Gemini whose models answer and learn by rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.fake_gemini import FakeGemini
from support.servers.rule_based_gemini import RuleBasedGemini


@pytest.fixture
def gemini_rules() -> Iterator[RuleBasedGemini]:
    """Provide the models of all processes of a test."""
    with FakeGemini() as gemini:
        yield RuleBasedGemini(gemini)
