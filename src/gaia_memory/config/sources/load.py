"""Loading a configuration: a file, a mapping or nothing, then the environment, then arguments."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gaia_memory.config.key_path import KeyPath, dotted_key, has_path
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.secrets import drop_secrets
from gaia_memory.config.sections.provider_section import normalize_provider
from gaia_memory.config.sources.environment import PROVIDER_SECTIONS, read_environment, variable_for
from gaia_memory.config.sources.yaml_file import FileSnapshot, read_snapshot
from gaia_memory.config.validate import split_known_keys, validate
from gaia_memory.errors import ConfigError, SecretInConfigError
from gaia_memory.log import logger_for
from gaia_memory.models.validation import format_value

Source = str | os.PathLike[str] | Mapping[str, Any] | GaiaConfig | None

FILE_NAME = "gaia.yaml"

_log = logger_for(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file of a configuration, the loaded version of it, and the layers above it.

    `version` is None if the configuration does not correspond to one version. `environ` is None for the environment
    of the process, which is read again with each version.
    """

    path: Path
    version: FileSnapshot | None
    arguments: Mapping[str, Any]
    environ: Mapping[str, str] | None

    def load(self, version: FileSnapshot) -> LoadedConfig:
        """Return the configuration for a version of the file.

        Raises:
            ConfigError: the file cannot be used, or a value is wrong.
        """
        environ = os.environ if self.environ is None else self.environ
        layers = _LayeredConfig(version.settings(), str(self.path), self.path, environ, self.arguments)
        return layers.build(replace(self, version=version))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A configuration and its source.

    `source` names the source in messages; `warnings` has a line for each ignored key. Two loads with the same
    `identity` (the file's absolute path or a hash of the content, and the home) are the same memory. `origin` is
    None without a file.
    """

    config: GaiaConfig
    source: str
    path: Path | None
    warnings: tuple[str, ...]
    identity: str
    origin: Origin | None = None


def locate(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the default configuration file: `GAIA_CONFIG`, else `gaia.yaml` in the home if it exists.

    It reads the disk: call it off the event loop.
    """
    environ = os.environ if environ is None else environ
    if configured := environ.get("GAIA_CONFIG", "").strip():
        return Path(os.path.expanduser(configured))
    home = environ.get("GAIA_HOME", "").strip() or str(GaiaConfig.model_fields["home"].default)
    default_path = Path(os.path.expanduser(home)) / FILE_NAME
    return default_path if default_path.exists() else None


def load(
    source: Source,
    *,
    home: str | os.PathLike[str] | None = None,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Return the checked configuration of `source`: a path, a mapping, or None for defaults and environment.

    Arguments override everything, including later versions of the file; `settings` can set any key. The environment
    overrides a file. A mapping comes from the program itself and overrides the environment. A `GaiaConfig` is used as
    it is, apart from the arguments. It reads the disk: call it off the event loop.

    Raises:
        ConfigError: the file cannot be read, or a value is not allowed; the error lists every problem.
        SecretInConfigError: the source contains a key or a password.
    """
    arguments = {name: value for name, value in (("home", home), ("model", model)) if value is not None}
    overrides = {**(settings or {}), **arguments}
    if isinstance(source, GaiaConfig):
        validated_config = validate(
            _deep_merge(source.model_dump(), overrides), lambda path: f"the argument {dotted_key(path)}"
        )
        if not isinstance(validated_config, GaiaConfig):
            raise ConfigError(validated_config, source="the given GaiaConfig")
        return _make_loaded(validated_config, "the given GaiaConfig", (), None)
    if source is None or isinstance(source, Mapping):
        name = "the environment" if source is None else "the given mapping"
        return _LayeredConfig(source or {}, name, None, os.environ if environ is None else environ, overrides).build(
            None
        )
    path = _absolute(source)
    version = read_snapshot(path)
    return Origin(path=path, version=version, arguments=overrides, environ=environ).load(version)


def _absolute(source: str | os.PathLike[str]) -> Path:
    try:
        return Path(source).expanduser().absolute()
    except RuntimeError:
        problem = "the path starts with `~`, whose folder is unknown; write the whole path"
    except TypeError:
        problem = f"the source is {format_value(source)}: pass a path, a mapping, a GaiaConfig or None"
    raise ConfigError([problem], source="what was passed")


class _LayeredConfig:
    """The source, the environment and the arguments merged, with the origin of each value."""

    def __init__(
        self,
        data: Mapping[Any, Any],
        name: str,
        path: Path | None,
        environ: Mapping[str, str],
        arguments: Mapping[str, Any],
    ) -> None:
        self._name, self._path, self._environ = name, path, environ
        clean, self._secrets = drop_secrets(data)
        self._file = normalize_providers(clean)
        self._arguments = _without_hiding(arguments, self._file)
        self._variables = _without_hiding(normalize_providers(read_environment(environ)), self._file)

    def build(self, origin: Origin | None) -> LoadedConfig:
        """Check everything, then return the configuration or raise an error."""
        data, warnings = split_known_keys(self._merged(), self._label)
        checked = validate(data, self._label)
        problems = [] if isinstance(checked, GaiaConfig) else checked
        secrets = [f"{dotted_key(path)}: does not belong here; {remedy}" for path, remedy in self._secrets]
        if secrets or not isinstance(checked, GaiaConfig):
            error_class = SecretInConfigError if secrets else ConfigError
            raise error_class([*secrets, *problems, *warnings], source=self._name)
        for line in warnings:
            warn_once(self._name, line)
        return _make_loaded(checked, self._name, tuple(warnings), origin)

    def _merged(self) -> dict[str, Any]:
        file = dict(self._file)
        home = file.get("home")
        if isinstance(home, str) and home.strip() and not home.startswith("~") and self._path is not None:
            file["home"] = str(self._path.parent / home)
        merged = _deep_merge(file, self._variables) if self._path is not None else _deep_merge(self._variables, file)
        return _deep_merge(merged, self._arguments)

    def _label(self, path: KeyPath) -> str:
        if has_path(self._arguments, path):
            return f"the argument {dotted_key(path)}"
        from_program = self._path is None and has_path(self._file, path)
        if has_path(self._variables, path) and not from_program:
            return variable_for(path, self._environ)
        return dotted_key(path)


def _make_loaded(config: GaiaConfig, source: str, warnings: tuple[str, ...], origin: Origin | None) -> LoadedConfig:
    path = origin.path if origin is not None else None
    # The last link is not followed: it may be switched to another file while memory is open.
    content_id = (
        f"sha256:{fingerprint(config)}" if path is None else os.path.join(os.path.realpath(path.parent), path.name)
    )
    identity = f"{content_id} in {os.path.realpath(config.home)}"
    return LoadedConfig(config=config, source=source, path=path, warnings=warnings, identity=identity, origin=origin)


def fingerprint(config: GaiaConfig, *, without: Mapping[str, set[str]] | None = None) -> str:
    """Return a hash of every setting but those `without` by section; comments, order and origin do not count."""
    settings = config.model_dump(mode="python", exclude=None if without is None else dict(without))
    content = json.dumps(settings, sort_keys=True, default=repr)
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


@lru_cache(maxsize=256)
def warn_once(source: str, line: str) -> None:
    """Log a warning only once per process: every part of an application, in each event loop, reads the same file."""
    _log.warning("%s: %s", source, line)


def normalize_providers(data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the data with each provider section in one form, so that two sources merge key by key."""
    memory = data.get("memory")
    if not isinstance(memory, Mapping):
        return dict(data)
    parts = {
        part: normalize_provider(memory[part]) for part in PROVIDER_SECTIONS if isinstance(memory.get(part), Mapping)
    }
    return {**data, "memory": {**memory, **parts}}


def _without_hiding(overrides: Mapping[str, Any], base: Mapping[Any, Any]) -> dict[str, Any]:
    """Return overrides without keys of a section that `base` has as a single value: all of it has to be refused."""
    return {
        name: value
        for name, value in overrides.items()
        if base.get(name) is None or isinstance(base[name], Mapping) or not isinstance(value, Mapping)
    }


def _deep_merge(base: Mapping[Any, Any], overrides: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = dict(base)
    for key, value in overrides.items():
        base_value = merged.get(key)
        if not (isinstance(value, Mapping) and isinstance(base_value, Mapping)):
            merged[key] = value
        elif "provider" in value and value["provider"] != base_value.get("provider", value["provider"]):
            # The settings of one provider mean nothing to another.
            merged[key] = value
        else:
            merged[key] = _deep_merge(base_value, value)
    return merged
