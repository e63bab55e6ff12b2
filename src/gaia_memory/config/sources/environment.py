"""Settings from environment variables: `GAIA_MEMORY__RECALL_LIMIT=8` overrides `memory.recall_limit`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from gaia_memory.config.describe import iter_settings
from gaia_memory.config.key_path import KeyPath, env_variable
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.redaction.mask import is_secret_name

PROVIDER_SECTIONS = ("llm", "embedder", "vector_store", "reranker")

_LOCATION_VARIABLES = ("GAIA_CONFIG", "GAIA_HOME")
_TEST_PREFIXES = ("GAIA_TEST_", "GAIA_REQUIRE_")
"""Variables of this package's own tests."""


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings in `environ`, nested as in the file and not validated; blank variables are ignored."""
    values = _MappingEnvSource(environ)()
    memory = values.get("memory")
    for section in PROVIDER_SECTIONS:
        if isinstance(memory, dict) and isinstance(memory.get(section), dict):
            memory[section] = {key: _parse_scalar(key, value) for key, value in memory[section].items()}
    return values


def variable_for(path: KeyPath, environ: Mapping[str, str]) -> str:
    """Return the variable that set a setting: its own, or that of a section given as JSON."""
    names = {name.upper(): name for name, value in environ.items() if value}
    candidates = [env_variable(path[:length]) for length in range(len(path), 0, -1)]
    return next((names[name] for name in candidates if name in names), candidates[0])


def classify_variables(environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the variables that set something, and unknown `GAIA_` variables, each with a did-you-mean."""
    known = {env_variable(path[:length]) for path, _ in iter_settings(GaiaConfig) for length in range(1, len(path) + 1)}
    prefixes = (*(env_variable(("memory", part)) for part in PROVIDER_SECTIONS), env_variable(("people", "users")))
    in_force: list[str] = []
    unknown: dict[str, str] = {}
    for name in sorted(name for name, value in environ.items() if value.strip()):
        upper = name.upper()
        if not upper.startswith("GAIA_") or upper.startswith(_TEST_PREFIXES):
            continue
        if upper in {*known, *_LOCATION_VARIABLES} or upper.startswith(tuple(f"{section}__" for section in prefixes)):
            in_force.append(name)
        else:
            matches = difflib.get_close_matches(upper, [*sorted(known), *_LOCATION_VARIABLES], n=1, cutoff=0.7)
            unknown[name] = matches[0] if matches else ""
    return in_force, unknown


class _Variables(GaiaConfig, BaseSettings):
    """The settings under the names of their variables."""

    model_config = SettingsConfigDict(env_prefix="GAIA_", env_nested_delimiter="__", env_ignore_empty=True)


class _MappingEnvSource(EnvSettingsSource):
    """Reads a given environment; a value that is not JSON stays text, for validation to report."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(_Variables)
        self.env_vars = {name.lower(): value for name, value in environ.items() if value.strip()}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Return the parsed JSON, or the text if it is not JSON."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def _parse_scalar(key: str, value: Any) -> Any:
    """Parse numbers and booleans of a provider's own keys as in the file; an API key of digits stays text."""
    if not isinstance(value, str) or is_secret_name(key):
        return value
    try:
        parsed = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        return value
    return parsed if isinstance(parsed, bool | int | float) else value
