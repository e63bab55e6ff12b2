"""The instructions for the extractor."""

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.learn.prompts import (
    ATTRIBUTION_INSTRUCTIONS,
    CATEGORY_INSTRUCTIONS,
    DEFAULT_INSTRUCTIONS,
    USER_ONLY_INSTRUCTIONS,
    extraction_instructions,
)


@pytest.mark.acceptance("L06")
def test_the_default_instructions_ask_for_durable_facts_only():
    """They apply if the configuration has none."""
    text = extraction_instructions(GaiaConfig())

    parts = [DEFAULT_INSTRUCTIONS, USER_ONLY_INSTRUCTIONS, ATTRIBUTION_INSTRUCTIONS, CATEGORY_INSTRUCTIONS]
    assert text == "\n".join(parts)
    assert "durable facts" in text
    assert "Extract nothing" in text


@pytest.mark.acceptance("L07")
def test_custom_instructions_replace_the_default_ones():
    """Only the rules for marking the assistant's statements and for categories are appended."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": " ONLY-CATS\n"}})

    assert extraction_instructions(config) == f"ONLY-CATS\n{ATTRIBUTION_INSTRUCTIONS}\n{CATEGORY_INSTRUCTIONS}"


@pytest.mark.parametrize(("own", "text"), [("", DEFAULT_INSTRUCTIONS), ("ONLY-CATS", "ONLY-CATS")])
def test_learn_from_both_includes_the_assistants_statements(own: str, text: str):
    """The setting is `memory.learn_from: both`."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": own, "learn_from": "both"}})

    assert extraction_instructions(config) == f"{text}\n{CATEGORY_INSTRUCTIONS}"
