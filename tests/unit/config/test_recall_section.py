"""The section `memory.recall`."""

from __future__ import annotations

import pytest

from gaia_memory.config.sources.load import load
from gaia_memory.errors import ConfigError, SecretInConfigError


def test_keys_come_from_the_file_and_from_the_environment() -> None:
    """The others keep their defaults."""
    told = {"weights": {"speaker": 0, "subject": 2}, "tokens": 400, "rewrite": True, "rerank_share": 0.5}
    environ = {"GAIA_MEMORY__RECALL__WEIGHTS__DATES": "3", "GAIA_MEMORY__RECALL_LIMIT": "auto"}
    config = load({"memory": {"recall": told}}, environ=environ).config
    settings, weights = config.memory.recall, config.memory.recall.weights

    assert (weights.speaker, weights.subject, weights.dates, weights.keywords) == (0, 2, 3, 1)
    assert (settings.tokens, settings.rewrite, settings.rerank_share, config.memory.recall_limit) == (
        400,
        True,
        0.5,
        "auto",
    )


@pytest.mark.parametrize(
    ("recall", "told"),
    [
        ({"weights": {"speaker": -1}}, "memory.recall.weights.speaker: -1 is not allowed; give a number of points"),
        ({"weights": {"asking": 2}}, "memory.recall.weights.asking: 2 is not allowed"),
        ({"weights": {"keywords": 0, "vectors": 0}}, "keywords and vectors are both 0"),
        ({"tokens": 1}, "memory.recall.tokens: 1 is not allowed; give a whole number of tokens from 10"),
        ({"seconds": 0}, "memory.recall.seconds: 0 is not allowed; give a number of seconds from 0.1 to 60"),
        ({"rewrite": "perhaps"}, "memory.recall.rewrite: 'perhaps' is not allowed; give true or false"),
    ],
)
def test_an_invalid_value_is_refused_with_its_key_and_range(recall: dict[str, object], told: str) -> None:
    """No default is used instead."""
    with pytest.raises(ConfigError) as refused:
        load({"memory": {"recall": recall}}, environ={})

    assert told in str(refused.value)


def test_a_misspelt_weight_causes_a_warning_with_a_suggestion() -> None:
    """The other weights are loaded."""
    loaded = load({"memory": {"recall": {"weights": {"speakers": 1, "dates": 0}}}}, environ={})

    assert loaded.warnings == (
        "memory.recall.weights.speakers: unknown key, ignored; did you mean `memory.recall.weights.speaker`?",
    )
    assert loaded.config.memory.recall.weights.dates == 0


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("cohere", "COHERE_API_KEY"),
        ("zero_entropy", "ZERO_ENTROPY_API_KEY"),
        ("other", "GAIA_MEMORY__RERANKER__API_KEY"),
    ],
)
def test_the_key_of_a_reranker_is_refused_in_the_file(provider: str, variable: str) -> None:
    """The error names the variable to use instead."""
    with pytest.raises(SecretInConfigError, match=variable):
        load({"memory": {"reranker": {"provider": provider, "api_key": "s3cret"}}}, environ={})
