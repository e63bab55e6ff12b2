"""The rendered pages match the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
import yaml
from docs.render import config_files
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gaia_memory.config import render
from gaia_memory.config.describe import allowed_values, iter_settings, takes_effect
from gaia_memory.config.key_path import dotted_key, env_variable
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import load

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.acceptance("G08")
def test_the_rendered_yaml_loads_as_the_defaults():
    """Users who start from it start with the defaults."""
    data = yaml.safe_load(config_files.render_yaml())
    found = load(data, environ={})

    assert found.config == GaiaConfig()
    assert found.warnings == ()


@pytest.mark.acceptance("G08")
def test_the_rendered_yaml_and_page_document_every_key():
    """Each key has a description, a range and a variable."""
    text, page = config_files.render_yaml(), config_files.render_reference()
    flat = " ".join(line.strip().lstrip("# ") for line in text.splitlines())

    for path, field in iter_settings(GaiaConfig):
        value = yaml.safe_load(text)
        for part in path:
            value = value[part]
        assert value == config_files.default_value(field)
        assert field.description
        assert field.description in flat
        when = f"A change takes effect {takes_effect(field)}."
        assert f"Allowed: {allowed_values(field)} Variable: {env_variable(path)}. {when} {path[-1]}:" in flat
        assert f"| `{dotted_key(path)}` |" in page
        assert field.description in page


def test_every_number_has_a_unit_and_a_range():
    """`30` alone is not clear."""
    for path, field in iter_settings(GaiaConfig):
        words = allowed_values(field)
        numeric = any(kind in str(field.annotation) for kind in ("int", "float"))

        assert not words.startswith("a number of from"), dotted_key(path)
        assert not numeric or " of " in words, dotted_key(path)
        assert not numeric or "from" in words or "above" in words, dotted_key(path)


@pytest.mark.parametrize(
    ("annotation", "field", "words"),
    [
        (bool, FieldInfo(), "true or false"),
        (Literal["a", "b", "c"], FieldInfo(), "`a`, `b` or `c`"),
    ],
)
def test_ranges_are_described_in_words(annotation, field, words):
    """The words are derived from the type, so they cannot become outdated."""
    field.annotation = annotation

    assert allowed_values(field) == words


def test_the_json_schema_contains_every_key_and_refuses_others():
    """Editors can then underline a typo."""
    schema = json.loads(render.render_json_schema())

    def properties(model: type[BaseModel], node: dict) -> None:
        assert set(node["properties"]) == set(model.model_fields)
        assert node["additionalProperties"] is False

    properties(GaiaConfig, schema)
    memory = schema["$defs"]["MemoryConfig"]
    assert memory["additionalProperties"] is False
    number, word = memory["properties"]["recall_limit"]["anyOf"]
    assert (number["minimum"], number["maximum"], word["const"]) == (1, 50, "auto")
    assert memory["properties"]["score_threshold"]["anyOf"] == [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "const": "auto"},
        {"type": "null"},
    ]
    assert schema["$defs"]["ProviderConfig"]["additionalProperties"] is True


@pytest.mark.acceptance("G08")
@pytest.mark.parametrize("name", sorted(config_files.rendered_files()))
def test_the_committed_files_are_up_to_date(name):
    """`python -m docs.render` in the checkout updates them."""
    committed = (CHECKOUT / name).read_text(encoding="utf-8")

    assert committed == config_files.rendered_files()[name], f"{name} is stale: run `python -m docs.render`"
