"""The source of each setting: the file, an environment variable, or the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gaia_memory.config.describe import iter_settings
from gaia_memory.config.key_path import KeyPath, dotted_key, has_path, value_at
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.secrets import AUTH_METHOD_PATH
from gaia_memory.config.sources.environment import PROVIDER_SECTIONS, read_environment, variable_for
from gaia_memory.config.sources.load import LoadedConfig, normalize_providers
from gaia_memory.redaction.mask import is_secret_name, mask_secrets

MASK = "***"


def effective_settings(loaded: LoadedConfig, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return every setting without secrets, in the order of declaration: `key`, `value`, `from` and `variable`.

    `from` is `default`, `file` or `environment`; `variable` names the environment variable, or is None.
    """
    file = normalize_providers(_read_file(loaded.path))
    variables = normalize_providers(read_environment(environ))
    settings = []
    for path, value in _iter_values(loaded.config):
        source, variable = "file" if has_path(file, _stored_path(path)) else "default", None
        if has_path(variables, _stored_path(path)):
            source, variable = "environment", variable_for(path, environ)
        settings.append({"key": dotted_key(path), "value": value, "from": source, "variable": variable})
    return settings


def _iter_values(config: GaiaConfig) -> Iterator[tuple[KeyPath, Any]]:
    """Yield each setting with its JSON value; the keys of a provider one by one."""
    data = config.model_dump(mode="json")
    # The default of a database URL depends on other settings: show the one in force.
    data["sessions"]["database_url"], data["memory"]["database_url"] = config.sessions_url, config.memory_url
    for path, _ in iter_settings(GaiaConfig):
        value = value_at(data, path)
        if path[-1] in PROVIDER_SECTIONS:
            yield (*path, "provider"), value["provider"]
            for name, inner in value["config"].items():
                yield (*path, name), _redact(name, inner)
        else:
            yield path, _redact("" if path == AUTH_METHOD_PATH else path[-1], value)


def _redact(name: str, value: Any) -> Any:
    if is_secret_name(name):
        return MASK
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, Mapping):
        return {inner: _redact(str(inner), held) for inner, held in value.items()}
    return [_redact("", each) for each in value] if isinstance(value, list) else value


def _stored_path(path: KeyPath) -> KeyPath:
    """Return the path of a provider's own key in its normalized section."""
    if len(path) > 2 and path[1] in PROVIDER_SECTIONS and path[2] != "provider":
        return (*path[:2], "config", *path[2:])
    return path


def _read_file(path: Path | None) -> Mapping[Any, Any]:
    # `load` has just checked it.
    return {} if path is None else yaml.safe_load(path.read_text(encoding="utf-8-sig")) or {}
