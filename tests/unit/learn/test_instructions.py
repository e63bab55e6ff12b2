"""The extractor is told what to look for."""

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.learn.prompts import DEFAULT_INSTRUCTIONS, instructions


@pytest.mark.acceptance("L06")
def test_the_default_steering_asks_for_durable_facts_and_for_nothing_of_logs():
    """Without a key in the configuration our own text steers."""
    text = instructions(GaiaConfig())

    assert text == DEFAULT_INSTRUCTIONS
    assert "durable facts" in text
    assert "extract nothing" in text


@pytest.mark.acceptance("L07")
def test_own_instructions_replace_the_default_ones():
    """`memory.extraction_instructions` is all that is said."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": "ONLY-CATS"}})

    assert instructions(config) == "ONLY-CATS"
