"""The instructions for the extractor."""

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.learning.prompts import (
    ATTRIBUTION_INSTRUCTIONS,
    CATEGORY_INSTRUCTIONS,
    DEFAULT_INSTRUCTIONS,
    USER_ONLY_INSTRUCTIONS,
    WORDING_INSTRUCTIONS,
    extraction_instructions,
)


@pytest.mark.acceptance("L06")
def test_the_default_instructions_ask_for_durable_facts_only():
    """They apply if the configuration has none."""
    text = extraction_instructions(GaiaConfig())

    how = [WORDING_INSTRUCTIONS, USER_ONLY_INSTRUCTIONS, ATTRIBUTION_INSTRUCTIONS, CATEGORY_INSTRUCTIONS]
    assert text == "\n".join([DEFAULT_INSTRUCTIONS, *how])
    assert "durable facts" in text
    assert "Extract nothing" in text


@pytest.mark.acceptance("L07")
def test_custom_instructions_replace_the_default_ones():
    """How to word a fact, to mark the assistant's statements and to name a category is appended."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": " ONLY-CATS\n"}})

    how = [WORDING_INSTRUCTIONS, ATTRIBUTION_INSTRUCTIONS, CATEGORY_INSTRUCTIONS]
    assert extraction_instructions(config) == "\n".join(["ONLY-CATS", *how])


def test_custom_instructions_leave_the_wording_to_mem0s_prompt():
    """It has its own rules for that."""
    memory = {"extraction_instructions": "ONLY-CATS", "extraction_prompt": "mem0"}

    assert WORDING_INSTRUCTIONS not in extraction_instructions(GaiaConfig.model_validate({"memory": memory}))


@pytest.mark.parametrize(("own", "text"), [("", DEFAULT_INSTRUCTIONS), ("ONLY-CATS", "ONLY-CATS")])
def test_learn_from_both_includes_the_assistants_statements(own: str, text: str):
    """The setting is `memory.learn_from: both`."""
    config = GaiaConfig.model_validate({"memory": {"extraction_instructions": own, "learn_from": "both"}})

    assert extraction_instructions(config) == f"{text}\n{WORDING_INSTRUCTIONS}\n{CATEGORY_INSTRUCTIONS}"
