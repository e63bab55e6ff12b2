"""A fake Gemini whose models answer and learn by rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.fake_gemini import FakeGemini
from support.mind_of_agents import RuleBasedGemini


@pytest.fixture
def mind() -> Iterator[RuleBasedGemini]:
    """Give the models of all processes of a test."""
    with FakeGemini() as gemini:
        yield RuleBasedGemini(gemini)
