"""The extractor is told what to look for."""

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.learn.prompts import (
    ATTRIBUTION_INSTRUCTIONS,
    DEFAULT_INSTRUCTIONS,
    USER_ONLY_INSTRUCTIONS,
    extraction_instructions,
)


@pytest.mark.acceptance("L06")
def test_the_default_steering_asks_for_durable_facts_and_for_nothing_of_logs():
    """Without a key in the configuration our own text steers."""
    text = extraction_instructions(GaiaConfig())

    assert text == f"{DEFAULT_INSTRUCTIONS}\n{USER_ONLY_INSTRUCTIONS}\n{ATTRIBUTION_INSTRUCTIONS}"
    assert "durable facts" in text
    assert "Extract nothing" in text


@pytest.mark.acceptance("L07")
def test_own_instructions_replace_the_default_ones():
    """Only how to mark whose word a fact is stands behind them: what is marked as the assistant's is left out."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": " ONLY-CATS\n"}})

    assert extraction_instructions(config) == f"ONLY-CATS\n{ATTRIBUTION_INSTRUCTIONS}"


@pytest.mark.parametrize(("own", "text"), [("", DEFAULT_INSTRUCTIONS), ("ONLY-CATS", "ONLY-CATS")])
def test_where_the_assistants_word_counts_nothing_is_said_against_it(own: str, text: str):
    """`memory.learn_from: both`."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": own, "learn_from": "both"}})

    assert extraction_instructions(config) == text
