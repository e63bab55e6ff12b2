"""The configuration in force while memory is open: the last good version of its file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from gaia_memory.config.describe import AFTER_RESTART, KeyPath, dotted_key, iter_settings, takes_effect
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, Origin, fingerprint
from gaia_memory.config.sources.watched_file import FileSnapshot
from gaia_memory.config.sources.yaml_edit import coerce_like, set_in_file
from gaia_memory.errors import ConfigError
from gaia_memory.log import logger_for

logger = logger_for(__name__)

ConfigCheck = Callable[[GaiaConfig], Awaitable[None]]
"""Raises `ConfigError` for a configuration that cannot be used, whatever the schema says."""

ConfigListener = Callable[[GaiaConfig], None]
"""Puts a configuration in force; it must not fail."""

_EMPTY_FILE_MESSAGE = "the file holds no setting; write `{}` where the defaults are wanted"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """Why the newest version of the file is not, or not wholly, in force, and what to do about it."""

    reason: str
    remedy: str


class LiveConfig:
    """The configuration of one engine: it looks for a new version of its file and puts a good one in force.

    A version that cannot be used changes nothing and is told once in the log, as is a key that a running engine
    cannot change: its old value stays, and the rest is taken. Without a file nothing changes but by `change`.
    """

    def __init__(
        self, loaded: LoadedConfig, *, check: ConfigCheck | None = None, apply: ConfigListener | None = None
    ) -> None:
        """Begin with `loaded`; `apply` is called with each later version that passed the schema and `check`."""
        self._current = loaded
        self._fingerprint = fingerprint(loaded.config)
        self._seen_snapshot = loaded.origin.version if loaded.origin is not None else None
        self._problem: ConfigProblem | None = None
        self._check = check
        self._apply = apply
        self._reload_lock = asyncio.Lock()
        self._change_lock = asyncio.Lock()
        self._reloads_started = self._reloads_finished = 0

    @property
    def current(self) -> LoadedConfig:
        """What is in force, and where it came from."""
        return self._current

    @property
    def config(self) -> GaiaConfig:
        """Every setting in force."""
        return self._current.config

    @property
    def fingerprint(self) -> str:
        """A hash of every setting in force."""
        return self._fingerprint

    @property
    def problem(self) -> ConfigProblem | None:
        """Why the newest version of the file is not, or not wholly, in force; None where it is."""
        return self._problem

    @property
    def can_change(self) -> bool:
        """True where there is a file to look at."""
        return self._current.origin is not None

    async def reload_if_changed(self) -> LoadedConfig | None:
        """Look at the file and put a new version in force; returns it, or None where nothing changed.

        Any number of tasks may look at once: whoever comes while a look is under way shares the next one.
        """
        started = self._reloads_started
        async with self._reload_lock:
            origin = self._current.origin
            if origin is None or self._reloads_finished > started:
                return None
            self._reloads_started = number = self._reloads_started + 1
            found = await asyncio.to_thread(_read_newer, origin, self._seen_snapshot)
            changed = await self._try_snapshot(*found) if found is not None else None
            self._reloads_finished = number
            return changed

    async def change(self, path: KeyPath, value: object) -> bool:
        """Set one setting of a section, put it in force, and return whether it stands in the file now.

        Without a file it holds until memory is opened anew.

        Raises:
            ConfigError: the file cannot be changed, or what it holds then cannot be used; it says which.
        """
        async with self._change_lock:
            origin = self._current.origin
            if origin is None:
                config = _with_value(self.config, path, value)
                if self._check is not None:
                    await self._check(config)
                self._activate(replace(self._current, config=config))
                return False
            await asyncio.to_thread(set_in_file, origin, path, value)
        await self.reload_if_changed()
        if _value(self.config, path) != value and self._problem is not None:
            raise ConfigError([f"is written, and not in force: {self._problem.reason}"], source=str(origin.file.path))
        return True

    async def validate_change(self, path: KeyPath, value: object) -> None:
        """Return if a setting that takes effect after a restart could be this; nothing is changed.

        Raises:
            ConfigError: there is no file to keep it in, or it cannot work; it says why.
        """
        if self._current.origin is None:
            problem = (
                f"{dotted_key(path)} takes effect after a restart, and there is no gaia.yaml to keep it in until then"
            )
            raise ConfigError([f"{problem}: change it where memory is opened"], source=self._current.source)
        if self._check is not None:
            await self._check(_with_value(self.config, path, coerce_like(_value(self.config, path), value)))

    async def change_at_restart(self, path: KeyPath, value: object) -> bool:
        """Write a setting that takes effect after a restart into the file; False where it is in force already.

        Raises:
            ConfigError: it could not be used, or the file cannot be changed; nothing is written.
        """
        await self.validate_change(path, value)
        async with self._change_lock:
            origin = self._current.origin
            assert origin is not None
            await asyncio.to_thread(set_in_file, origin, path, value)
        await self.reload_if_changed()
        return bool(_value(self.config, path) != coerce_like(_value(self.config, path), value))

    async def _try_snapshot(self, snapshot: FileSnapshot, result: LoadedConfig | ConfigError) -> LoadedConfig | None:
        """Take a version up or tell why not; nothing is awaited between its being chosen and its being in force."""
        try:
            if isinstance(result, ConfigError):
                raise result
            config, pending_keys = _keep_restart_settings(result.config, self.config)
            if self._check is not None:
                await self._check(config)
        except ConfigError as refused:
            self._seen_snapshot = snapshot
            self._reject(snapshot, refused.found_in(self._current.source))
            return None
        self._seen_snapshot = snapshot
        return self._adopt(snapshot, result, config, pending_keys)

    def _reject(self, snapshot: FileSnapshot, error: ConfigError) -> None:
        reason = f"{error.source}: the last good version stays in force: {'; '.join(error.problems)}"
        self._problem = ConfigProblem(reason, "correct the file: it is taken up at the next message")
        if snapshot.is_first_report(reason):
            logger.warning(reason)

    def _adopt(
        self, snapshot: FileSnapshot, loaded: LoadedConfig, config: GaiaConfig, pending_keys: list[str]
    ) -> LoadedConfig | None:
        previous = self._current
        origin = loaded.origin
        if pending_keys and origin is not None:
            # Only a part of this version is in force: whoever opens memory anew has to load it whole.
            origin = replace(origin, version=None)
        self._problem = _restart_problem(snapshot, loaded.source, pending_keys) if pending_keys else None
        changed = self._activate(replace(loaded, config=config, identity=previous.identity, origin=origin))
        return self._current if changed else None

    def _activate(self, loaded: LoadedConfig) -> bool:
        """Take a configuration and tell whoever has to know; False where it says nothing new."""
        previous, self._current = self._current, loaded
        changed = _changed_keys(previous.config, loaded.config)
        if not changed:
            return False
        self._fingerprint = fingerprint(loaded.config)
        if self._apply is not None:
            self._apply(loaded.config)
        logger.info("%s: now in force: %s", loaded.source, ", ".join(changed))
        return True


async def load_newest(loaded: LoadedConfig, *, check: ConfigCheck) -> LoadedConfig:
    """The newest version of the file of `loaded` as a whole, or `loaded` where that cannot be used."""
    origin = loaded.origin
    found = await asyncio.to_thread(_read_newer, origin, origin.version) if origin is not None else None
    if found is None or isinstance(found[1], ConfigError):
        return loaded
    try:
        await check(found[1].config)
    except ConfigError:
        return loaded
    return found[1]


def _read_newer(origin: Origin, seen: FileSnapshot | None) -> tuple[FileSnapshot, LoadedConfig | ConfigError] | None:
    """The version that stands in the file and what it gives; None where it was seen. Blocking."""
    snapshot = origin.file.snapshot()
    if snapshot is seen:
        return None
    try:
        if snapshot.is_empty:
            # A file that is just being written is empty, too, and must not switch memory on.
            raise ConfigError([_EMPTY_FILE_MESSAGE], source=str(origin.file.path))
        return snapshot, origin.load(snapshot)
    except ConfigError as refused:
        return snapshot, refused


def _keep_restart_settings(new_config: GaiaConfig, current: GaiaConfig) -> tuple[GaiaConfig, list[str]]:
    """`fresh` with the current values of keys that take effect after a restart, and which of them differ."""
    pending_keys: list[str] = []
    for path, field in iter_settings(GaiaConfig):
        if takes_effect(field) == AFTER_RESTART and _value(new_config, path) != _value(current, path):
            pending_keys.append(dotted_key(path))
            new_config = _with_value(new_config, path, _value(current, path))
    return new_config, pending_keys


def _restart_problem(snapshot: FileSnapshot, source: str, keys: list[str]) -> ConfigProblem:
    names = ", ".join(keys)
    if snapshot.is_first_report(f"waiting: {names}"):
        logger.warning("%s: takes effect after a restart, until then the old value stays in force: %s", source, names)
    return ConfigProblem(
        reason=f"{names} changed in {source}, which takes effect after a restart; the old value stays in force",
        remedy="restart the process, or undo the change",
    )


def _changed_keys(old: GaiaConfig, new: GaiaConfig) -> list[str]:
    return [dotted_key(path) for path, _ in iter_settings(GaiaConfig) if _value(old, path) != _value(new, path)]


def _value(config: GaiaConfig, path: KeyPath) -> Any:
    value: Any = config
    for part in path:
        value = getattr(value, part)
    return value


def _with_value(config: GaiaConfig, path: KeyPath, value: Any) -> GaiaConfig:
    *sections, name = path
    for section in sections:
        value, name = getattr(config, section).model_copy(update={name: value}), section
    return config.model_copy(update={name: value})
