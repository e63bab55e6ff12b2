"""Which engine a part dropped into somebody's Runner uses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gaia_memory.config.load import LoadedConfig, load, locate
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.engine import Engine
from gaia_memory.errors import ConfigError
from gaia_memory.registry import acquire, borrow, release

ConfigSource = LoadedConfig | GaiaConfig | Mapping[str, Any] | str | Path


class EngineSource:
    """Finds, opens and shares the engine of one part.

    The configuration is the argument, else the URI's `config=` (relative to `agents_dir`, else to the working
    directory), else `GAIA_CONFIG`, else `$GAIA_HOME/gaia.yaml`, else the defaults. Making one does no I/O.
    """

    def __init__(
        self, config: ConfigSource | None = None, *, uri: str | None = None, agents_dir: str | None = None
    ) -> None:
        self._loaded = config if isinstance(config, LoadedConfig) else None
        self._config = _config_of(uri, agents_dir) if config is None or isinstance(config, LoadedConfig) else config
        self._held: Engine | None = None

    @property
    def is_explicit(self) -> bool:
        """True when the configuration was named, so that another part's does not stand in for it."""
        return self._config is not None or self._loaded is not None

    def follow(self, other: EngineSource) -> None:
        """Use the engine of another part, unless this one's configuration was named."""
        if not self.is_explicit and self._held is None:
            self._config, self._loaded = other._config, other._loaded

    async def loaded(self) -> LoadedConfig:
        """Return the configuration, read once.

        Raises:
            ConfigError: it is missing or wrong.
        """
        if self._loaded is None:
            source = self._config
            self._loaded = await asyncio.to_thread(lambda: load(locate() if source is None else source))
        return self._loaded

    async def engine(self) -> Engine:
        """Return the open engine without keeping it open."""
        return await borrow(await self.loaded())

    async def hold(self) -> Engine:
        """Return the open engine and keep it open until `release`; in another event loop it is opened anew."""
        if self._held is not None and self._held.loop is not asyncio.get_running_loop():
            self._held = None
        if self._held is None:
            engine = await acquire(await self.loaded())
            if self._held is not None:
                # Another first use was quicker: what is held once is given back once.
                await release(engine)
                return self._held
            self._held = engine
        return self._held

    async def release(self) -> None:
        """Give back what `hold` took."""
        held, self._held = self._held, None
        if held is not None and held.loop is asyncio.get_running_loop():
            await release(held)


def _config_of(uri: str | None, agents_dir: str | None) -> Path | None:
    if not uri:
        return None
    given = parse_qs(urlsplit(uri).query).get("config")
    if not given:
        return None
    if len(given) > 1:
        raise ConfigError([f"config is given {len(given)} times: name one file"], source=f"the URI {uri!r}")
    path = Path(given[0]).expanduser()
    return path if path.is_absolute() else Path(agents_dir or ".") / path
