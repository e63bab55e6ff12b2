"""The configuration in force while memory is open: the last good version of its file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from gaia_memory.config.describe import AFTER_A_RESTART, KeyPath, dotted, settings, takes_effect
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, Origin, fingerprint
from gaia_memory.config.sources.watched_file import Version
from gaia_memory.config.sources.yaml_edit import likened, rewrite
from gaia_memory.errors import ConfigError
from gaia_memory.log import logger_for

logger = logger_for(__name__)

Check = Callable[[GaiaConfig], Awaitable[None]]
"""Raises `ConfigError` for a configuration that cannot be used, whatever the schema says."""

Apply = Callable[[GaiaConfig], None]
"""Puts a configuration in force; it must not fail."""

_EMPTY = "the file holds no setting; write `{}` where the defaults are wanted"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the newest version of the file is not, or not wholly, in force, and what to do about it."""

    reason: str
    remedy: str


class LiveConfig:
    """The configuration of one engine: it looks for a new version of its file and puts a good one in force.

    A version that cannot be used changes nothing and is told once in the log, as is a key that a running engine
    cannot change: its old value stays, and the rest is taken. Without a file nothing changes but by `change`.
    """

    def __init__(self, loaded: LoadedConfig, *, check: Check | None = None, apply: Apply | None = None) -> None:
        """Begin with `loaded`; `apply` is called with each later version that passed the schema and `check`."""
        self._current = loaded
        self._fingerprint = fingerprint(loaded.config)
        self._seen = loaded.origin.version if loaded.origin is not None else None
        self._trouble: Trouble | None = None
        self._check = check
        self._apply = apply
        self._looking = asyncio.Lock()
        self._changing = asyncio.Lock()
        self._begun = self._ended = 0

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
    def trouble(self) -> Trouble | None:
        """Why the newest version of the file is not, or not wholly, in force; None where it is."""
        return self._trouble

    @property
    def can_change(self) -> bool:
        """True where there is a file to look at."""
        return self._current.origin is not None

    async def look(self) -> LoadedConfig | None:
        """Look at the file and put a new version in force; returns it, or None where nothing changed.

        Any number of tasks may look at once: whoever comes while a look is under way shares the next one.
        """
        begun = self._begun
        async with self._looking:
            origin = self._current.origin
            if origin is None or self._ended > begun:
                return None
            self._begun = number = self._begun + 1
            found = await asyncio.to_thread(_newer, origin, self._seen)
            changed = await self._consider(*found) if found is not None else None
            self._ended = number
            return changed

    async def change(self, path: KeyPath, value: object) -> bool:
        """Set one setting of a section, put it in force, and return whether it stands in the file now.

        Without a file it holds until memory is opened anew.

        Raises:
            ConfigError: the file cannot be changed, or what it holds then cannot be used; it says which.
        """
        async with self._changing:
            origin = self._current.origin
            if origin is None:
                config = _with_value(self.config, path, value)
                if self._check is not None:
                    await self._check(config)
                self._put_in_force(replace(self._current, config=config))
                return False
            await asyncio.to_thread(rewrite, origin, path, value)
        await self.look()
        if _value(self.config, path) != value and self._trouble is not None:
            raise ConfigError([f"is written, and not in force: {self._trouble.reason}"], source=str(origin.file.path))
        return True

    async def allow(self, path: KeyPath, value: object) -> None:
        """Return if a setting that takes effect after a restart could be this; nothing is changed.

        Raises:
            ConfigError: there is no file to keep it in, or it cannot work; it says why.
        """
        if self._current.origin is None:
            problem = f"{dotted(path)} takes effect after a restart, and there is no gaia.yaml to keep it in until then"
            raise ConfigError([f"{problem}: change it where memory is opened"], source=self._current.source)
        if self._check is not None:
            await self._check(_with_value(self.config, path, likened(_value(self.config, path), value)))

    async def change_at_restart(self, path: KeyPath, value: object) -> bool:
        """Write a setting that takes effect after a restart into the file; False where it is in force already.

        Raises:
            ConfigError: it could not be used, or the file cannot be changed; nothing is written.
        """
        await self.allow(path, value)
        async with self._changing:
            origin = self._current.origin
            assert origin is not None
            await asyncio.to_thread(rewrite, origin, path, value)
        await self.look()
        return bool(_value(self.config, path) != likened(_value(self.config, path), value))

    async def _consider(self, version: Version, found: LoadedConfig | ConfigError) -> LoadedConfig | None:
        """Take a version up or tell why not; nothing is awaited between its being chosen and its being in force."""
        try:
            if isinstance(found, ConfigError):
                raise found
            config, waiting = _without_fixed(found.config, self.config)
            if self._check is not None:
                await self._check(config)
        except ConfigError as refused:
            self._seen = version
            self._refuse(version, refused.found_in(self._current.source))
            return None
        self._seen = version
        return self._take(version, found, config, waiting)

    def _refuse(self, version: Version, refused: ConfigError) -> None:
        reason = f"{refused.source}: the last good version stays in force: {'; '.join(refused.problems)}"
        self._trouble = Trouble(reason, "correct the file: it is taken up at the next message")
        if version.first_told(reason):
            logger.warning(reason)

    def _take(
        self, version: Version, loaded: LoadedConfig, config: GaiaConfig, waiting: list[str]
    ) -> LoadedConfig | None:
        before = self._current
        origin = loaded.origin
        if waiting and origin is not None:
            # Only a part of this version is in force: whoever opens memory anew has to load it whole.
            origin = replace(origin, version=None)
        self._trouble = _waiting(version, loaded.source, waiting) if waiting else None
        changed = self._put_in_force(replace(loaded, config=config, identity=before.identity, origin=origin))
        return self._current if changed else None

    def _put_in_force(self, fresh: LoadedConfig) -> bool:
        """Take a configuration and tell whoever has to know; False where it says nothing new."""
        before, self._current = self._current, fresh
        changed = _changed(before.config, fresh.config)
        if not changed:
            return False
        self._fingerprint = fingerprint(fresh.config)
        if self._apply is not None:
            self._apply(fresh.config)
        logger.info("%s: now in force: %s", fresh.source, ", ".join(changed))
        return True


async def newest(loaded: LoadedConfig, *, check: Check) -> LoadedConfig:
    """The newest version of the file of `loaded` as a whole, or `loaded` where that cannot be used."""
    origin = loaded.origin
    found = await asyncio.to_thread(_newer, origin, origin.version) if origin is not None else None
    if found is None or isinstance(found[1], ConfigError):
        return loaded
    try:
        await check(found[1].config)
    except ConfigError:
        return loaded
    return found[1]


def _newer(origin: Origin, seen: Version | None) -> tuple[Version, LoadedConfig | ConfigError] | None:
    """The version that stands in the file and what it gives; None where it was seen. Blocking."""
    version = origin.file.version()
    if version is seen:
        return None
    try:
        if version.is_empty:
            # A file that is just being written is empty, too, and must not switch memory on.
            raise ConfigError([_EMPTY], source=str(origin.file.path))
        return version, origin.load(version)
    except ConfigError as refused:
        return version, refused


def _without_fixed(fresh: GaiaConfig, current: GaiaConfig) -> tuple[GaiaConfig, list[str]]:
    """`fresh` with the current values of keys that take effect after a restart, and which of them differ."""
    waiting: list[str] = []
    for path, field in settings(GaiaConfig):
        if takes_effect(field) == AFTER_A_RESTART and _value(fresh, path) != _value(current, path):
            waiting.append(dotted(path))
            fresh = _with_value(fresh, path, _value(current, path))
    return fresh, waiting


def _waiting(version: Version, source: str, keys: list[str]) -> Trouble:
    names = ", ".join(keys)
    if version.first_told(f"waiting: {names}"):
        logger.warning("%s: takes effect after a restart, until then the old value stays in force: %s", source, names)
    return Trouble(
        reason=f"{names} changed in {source}, which takes effect after a restart; the old value stays in force",
        remedy="restart the process, or undo the change",
    )


def _changed(before: GaiaConfig, after: GaiaConfig) -> list[str]:
    return [dotted(path) for path, _ in settings(GaiaConfig) if _value(before, path) != _value(after, path)]


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
