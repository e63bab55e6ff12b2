"""Where each setting in force comes from: the file, a variable of the environment, or its default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from gaia_memory.config.describe import KeyPath, dotted, settings
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.secrets import is_secret_name, masked
from gaia_memory.config.sections.provider_section import gathered
from gaia_memory.config.sources.environment import PROVIDER_PARTS, from_environment, origin
from gaia_memory.config.sources.load import LoadedConfig

HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it may be shown: its key, its value without secrets, and who set it."""

    key: str
    value: Any
    source: Literal["default", "file", "environment"]
    variable: str | None = None


def in_force(loaded: LoadedConfig, environ: Mapping[str, str]) -> list[Setting]:
    """Return every setting, in the order in which they are declared."""
    file = _gathered(_held(loaded.path))
    variables = _gathered(from_environment(environ))
    found = []
    for path, value in _values(loaded.config):
        if _holds(variables, _inner(path)):
            found.append(Setting(dotted(path), value, "environment", origin(path, environ)))
        else:
            found.append(Setting(dotted(path), value, "file" if _holds(file, _inner(path)) else "default"))
    return found


def _values(config: GaiaConfig) -> Iterator[tuple[KeyPath, Any]]:
    """Yield each setting with its value as JSON has it; a provider's keys one by one."""
    data = config.model_dump(mode="json")
    # What a database is when none is named follows from other settings: what is in force is told.
    data["sessions"]["database_url"], data["memory"]["database_url"] = config.sessions_url, config.memory_url
    for path, _ in settings(GaiaConfig):
        value: Any = data
        for name in path:
            value = value[name]
        if path[-1] in PROVIDER_PARTS:
            yield (*path, "provider"), value["provider"]
            for name, inner in value["config"].items():
                yield (*path, name), _shown(name, inner)
        else:
            yield path, _shown(path[-1], value)


def _shown(name: str, value: Any) -> Any:
    if is_secret_name(name):
        return HIDDEN
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {inner: _shown(str(inner), held) for inner, held in value.items()}
    return [_shown("", each) for each in value] if isinstance(value, list) else value


def _inner(path: KeyPath) -> KeyPath:
    """Return where a provider's own key lies once its section was brought into one form."""
    if len(path) > 2 and path[1] in PROVIDER_PARTS and path[2] != "provider":
        return (*path[:2], "config", *path[2:])
    return path


def _held(path: Path | None) -> Mapping[Any, Any]:
    # It was read and found right a moment ago.
    return {} if path is None else yaml.safe_load(path.read_text(encoding="utf-8-sig")) or {}


def _gathered(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    memory = data.get("memory")
    if not isinstance(memory, Mapping):
        return data
    parts = {part: gathered(memory[part]) for part in PROVIDER_PARTS if isinstance(memory.get(part), Mapping)}
    return {**data, "memory": {**memory, **parts}}


def _holds(data: Mapping[Any, Any], path: KeyPath) -> bool:
    value: Any = data
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True
