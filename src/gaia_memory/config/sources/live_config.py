"""The configuration in force while memory is open: the last good version of its file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from gaia_memory.config.describe import AFTER_RESTART, iter_settings, takes_effect
from gaia_memory.config.key_path import KeyPath, coerce_like, dotted_key, value_at, with_value
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, Origin, fingerprint, warn_once
from gaia_memory.config.sources.yaml_file import FileSnapshot, read_snapshot
from gaia_memory.errors import ConfigError
from gaia_memory.log import logger_for
from gaia_memory.threads import run_in_thread

logger = logger_for(__name__)

ConfigCheck = Callable[[GaiaConfig], Awaitable[None]]
"""Raises `ConfigError` for a configuration that is valid in the schema and cannot be used."""

ConfigListener = Callable[[GaiaConfig], None]
"""Applies a configuration; it must not fail."""

_EMPTY_FILE_MESSAGE = "the file contains no setting; write `{}` for the defaults"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """The reason why the newest version of the file is not fully in force, and the fix."""

    reason: str
    remedy: str


class LiveConfig:
    """The configuration of one engine, which takes up each valid version of its file.

    An invalid version changes nothing and is logged once. A key that takes effect after a restart keeps its old value
    and is logged once, too; the other keys take effect. Without a file only `change` changes anything.
    """

    def __init__(
        self, loaded: LoadedConfig, *, check: ConfigCheck | None = None, apply: ConfigListener | None = None
    ) -> None:
        """Start with `loaded`; `apply` is called with each later version that passes the schema and `check`."""
        self._current = loaded
        self._profile_fingerprint = _profile_fingerprint(loaded.config)
        self._seen_snapshot = loaded.origin.version if loaded.origin is not None else None
        self._problem: ConfigProblem | None = None
        self._check = check
        self._apply = apply
        self._reload_lock = asyncio.Lock()
        self._change_lock = asyncio.Lock()

    @property
    def current(self) -> LoadedConfig:
        """The configuration in force and its source."""
        return self._current

    @property
    def config(self) -> GaiaConfig:
        """Every setting in force."""
        return self._current.config

    @property
    def profile_fingerprint(self) -> str:
        """A hash of the settings in force, without the debounce: a terminal has none, and shows the same profiles."""
        return self._profile_fingerprint

    @property
    def problem(self) -> ConfigProblem | None:
        """Why the newest version of the file is not, or only partly, in force; None if it is."""
        return self._problem

    async def reload_if_changed(self) -> LoadedConfig | None:
        """Read the file and apply a new version; returns that version, or None if no setting changed."""
        async with self._reload_lock:
            origin = self._current.origin
            if origin is None:
                return None
            found = await run_in_thread(_read_newer, origin, self._seen_snapshot)
            return await self._try_snapshot(*found) if found is not None else None

    async def change(self, path: KeyPath, value: object) -> bool:
        """Change one setting of a section, apply it, and return whether it was written to a file.

        Without a file the change lasts until memory is opened again.

        Raises:
            ConfigError: the file cannot be changed, or the changed configuration cannot be used.
        """
        async with self._change_lock:
            origin = self._current.origin
            if origin is None:
                config = with_value(self.config, path, value)
                if self._check is not None:
                    await self._check(config)
                self._activate(replace(self._current, config=config))
                return False
            await run_in_thread(_write_setting, origin, path, value)
        await self.reload_if_changed()
        if value_at(self.config, path) != value and self._problem is not None:
            problem = f"was written, but is not in force: {self._problem.reason}"
            raise ConfigError([problem], source=str(origin.path))
        return True

    async def validate_change(self, path: KeyPath, value: object) -> None:
        """Check a new value for a setting that takes effect after a restart; nothing is changed.

        Raises:
            ConfigError: there is no file to write it to, or memory could not open with this value.
        """
        if self._current.origin is None:
            problem = f"{dotted_key(path)} takes effect after a restart, and there is no gaia.yaml to write it to"
            raise ConfigError([f"{problem}; change it where your program opens memory"], source=self._current.source)
        if self._check is not None:
            await self._check(with_value(self.config, path, coerce_like(value_at(self.config, path), value)))

    async def change_at_restart(self, path: KeyPath, value: object) -> bool:
        """Write a setting that takes effect after a restart to the file; returns False if it is already in force.

        Raises:
            ConfigError: the value cannot be used, or the file cannot be changed; nothing is written.
        """
        await self.validate_change(path, value)
        async with self._change_lock:
            origin = self._current.origin
            assert origin is not None
            await run_in_thread(_write_setting, origin, path, value)
        await self.reload_if_changed()
        return bool(value_at(self.config, path) != coerce_like(value_at(self.config, path), value))

    async def _try_snapshot(self, snapshot: FileSnapshot, result: LoadedConfig | ConfigError) -> LoadedConfig | None:
        """Apply a version or report why not; nothing is awaited between the last check and the change."""
        try:
            if isinstance(result, ConfigError):
                raise result
            config, pending_keys = _keep_restart_settings(result.config, self.config)
            if self._check is not None:
                await self._check(config)
        except ConfigError as refused:
            self._seen_snapshot = snapshot
            error = refused.found_in(self._current.source)
            reason = f"the last good version stays in force: {'; '.join(error.problems)}"
            warn_once(error.source, reason)
            self._problem = ConfigProblem(
                f"{error.source}: {reason}", "correct the file; it takes effect at the next message"
            )
            return None
        self._seen_snapshot = snapshot
        self._problem = _restart_problem(result.source, pending_keys) if pending_keys else None
        origin = result.origin
        if pending_keys and origin is not None:
            # Only a part of this version is in force; opening memory again must load all of it.
            origin = replace(origin, version=None)
        changed = self._activate(replace(result, config=config, identity=self._current.identity, origin=origin))
        return self._current if changed else None

    def _activate(self, loaded: LoadedConfig) -> bool:
        """Replace the configuration and call `apply`; returns False if no setting changed."""
        previous, self._current = self._current, loaded
        changed = _changed_keys(previous.config, loaded.config)
        if not changed:
            return False
        self._profile_fingerprint = _profile_fingerprint(loaded.config)
        if self._apply is not None:
            self._apply(loaded.config)
        logger.info("%s: now in force: %s", loaded.source, ", ".join(changed))
        return True


async def load_newest(loaded: LoadedConfig, *, check: ConfigCheck) -> LoadedConfig:
    """Return the newest version of the file of `loaded`, or `loaded` itself if that version cannot be used."""
    origin = loaded.origin
    found = await run_in_thread(_read_newer, origin, origin.version) if origin is not None else None
    if found is None or isinstance(found[1], ConfigError):
        return loaded
    try:
        await check(found[1].config)
    except ConfigError:
        return loaded
    return found[1]


def _profile_fingerprint(config: GaiaConfig) -> str:
    return fingerprint(config, without={"sessions": {"coalesce_seconds"}})


def _write_setting(origin: Origin, path: KeyPath, value: object) -> None:
    # Late: an edit is rare.
    from gaia_memory.config.sources.yaml_edit import set_in_file

    set_in_file(origin, path, value)


def _read_newer(origin: Origin, seen: FileSnapshot | None) -> tuple[FileSnapshot, LoadedConfig | ConfigError] | None:
    """Return the current version of the file and its configuration, None if it equals `seen`. Blocking."""
    snapshot = read_snapshot(origin.path, seen)
    if snapshot is seen:
        return None
    try:
        if snapshot.is_empty:
            # An editor may empty the file before it writes it, and that must not switch memory on.
            raise ConfigError([_EMPTY_FILE_MESSAGE], source=str(origin.path))
        return snapshot, origin.load(snapshot)
    except ConfigError as refused:
        return snapshot, refused


def _keep_restart_settings(new_config: GaiaConfig, current: GaiaConfig) -> tuple[GaiaConfig, list[str]]:
    """Return `new_config` with the current values of the keys that need a restart, and the keys that differ."""
    pending_keys: list[str] = []
    for path, field in iter_settings(GaiaConfig):
        if takes_effect(field) == AFTER_RESTART and value_at(new_config, path) != value_at(current, path):
            pending_keys.append(dotted_key(path))
            new_config = with_value(new_config, path, value_at(current, path))
    return new_config, pending_keys


def _restart_problem(source: str, keys: list[str]) -> ConfigProblem:
    names = ", ".join(keys)
    warn_once(source, f"takes effect after a restart, until then the old value stays in force: {names}")
    return ConfigProblem(
        reason=f"{names} changed in {source}, which takes effect after a restart; the old value stays in force",
        remedy="restart the process, or undo the change",
    )


def _changed_keys(old: GaiaConfig, new: GaiaConfig) -> list[str]:
    return [dotted_key(path) for path, _ in iter_settings(GaiaConfig) if value_at(old, path) != value_at(new, path)]
