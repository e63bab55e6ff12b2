"""Settings as text: a value on one line of YAML, and the JSON schema of the file."""

from __future__ import annotations

import json
from typing import Any

import yaml

from gaia_memory.config.schema import GaiaConfig

_LINE_CHARACTERS = 110


def render_json_schema() -> str:
    """Return the JSON schema of gaia.yaml as text, for editors."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **GaiaConfig.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def yaml_scalar(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=_LINE_CHARACTERS)
    return text.removesuffix("\n").removesuffix("\n...")
