"""Settings as text: the lines of a commented gaia.yaml, and the JSON schema of the file."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sections.provider_section import ProviderConfig

_LINE_CHARACTERS = 110


def render_json_schema() -> str:
    """Return the JSON schema of gaia.yaml as text, for editors."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **GaiaConfig.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def default_value(field: FieldInfo) -> Any:
    """Return the default of a setting as a plain YAML value."""
    default = field.default
    if isinstance(default, ProviderConfig):
        return {"provider": default.provider}
    if isinstance(default, tuple):
        return list(default)
    return default.as_posix() if isinstance(default, Path) else default


def comment_lines(text: str, indent: str) -> list[str]:
    """Return a text as comment lines of a YAML file."""
    return textwrap.wrap(
        " ".join(text.split()),
        _LINE_CHARACTERS,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# ",
        break_on_hyphens=False,
    )


def yaml_scalar(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=_LINE_CHARACTERS)
    return text.removesuffix("\n").removesuffix("\n...")
