"""Finds the engine for a part in a foreign Runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, load, locate
from gaia_memory.database.os_errors import os_errors_translated
from gaia_memory.engine_registry import acquire, is_first_report, is_open, release, use
from gaia_memory.errors import GaiaMemoryError, InvalidInputError, MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.models.validation import raise_invalid
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.engine import Engine

logger = logger_for(__name__)

SCHEME = "mem0"
"""The scheme of a memory URI."""

ConfigSource = LoadedConfig | GaiaConfig | Mapping[str, Any] | str | Path

RELEASE_TIMEOUT_SECONDS = 1.0
"""How long `release` waits for the engine to close, which continues in the background.

A request may be waiting, and ADK allows a plugin 5 s.
"""


class EngineSource:
    """Finds, opens and shares the engine of one part.

    The configuration is the argument, else the URI's `config=` (relative to `agents_dir`, else to the working
    directory), else `GAIA_CONFIG`, else `$GAIA_HOME/gaia.yaml`, else the defaults. `is_named` is true if the argument
    or the URI names it. The constructor does no I/O and needs no event loop.
    """

    def __init__(
        self, config: ConfigSource | None = None, *, uri: str | None = None, agents_dir: str | None = None
    ) -> None:
        self._loaded = config if isinstance(config, LoadedConfig) else None
        self._config = (
            _config_path_from_uri(uri, agents_dir) if config is None or isinstance(config, LoadedConfig) else config
        )
        self.is_named = self._config is not None or self._loaded is not None
        self._parent: EngineSource | None = None
        self._engines: dict[int, Engine] = {}

    async def inherit_config(self, other: EngineSource) -> None:
        """Use the configuration of another part, unless this one names its own.

        Raises:
            ConfigError: the other part's configuration is missing or invalid.
            MemoryUnavailable: this part already uses a different configuration.
        """
        if self.is_named or other is self or other is self._parent:
            return
        if self._parent is None and self._loaded is None:
            self._parent = other
        elif (await other.load_config()).identity != (await self.load_config()).identity:
            with _log_open_failure():
                raise MemoryUnavailable(
                    "one plugin is in two Runners whose memory services have different configurations",
                    remedy="create a plugin for each Runner",
                )

    async def names_missing_file(self) -> bool:
        """Return True if the argument or the URI names a file that never existed while this part was in use."""
        if self._loaded is not None or not isinstance(self._config, str | Path):
            return False
        path = self._config
        return not await run_in_thread(lambda: Path(path).expanduser().exists())

    async def load_config(self) -> LoadedConfig:
        """Return the configuration of the open engine, or the one that would be opened.

        Raises:
            ConfigError: it is missing or invalid.
        """
        if self._parent is not None:
            return await self._parent.load_config()
        if self._loaded is None:
            source = self._config
            with _log_open_failure():
                self._loaded = await run_in_thread(lambda: load(locate() if source is None else source))
        elif not is_open(self._loaded):
            from gaia_memory.engine_probe import load_newest

            # The file may have changed while the engine was closed.
            self._loaded = await load_newest(self._loaded)
        return self._loaded

    @asynccontextmanager
    async def use_engine(self, *, reload_config: bool = True) -> AsyncIterator[Engine]:
        """Yield the open engine for one call: it stays open meanwhile, and is not kept open afterwards.

        With `reload_config`, the newest valid version of the configuration is in force.
        """
        loaded = await self.load_config()
        async with AsyncExitStack() as stack:
            with _log_open_failure():
                engine = await stack.enter_async_context(use(loaded))
            if reload_config:
                await engine.reload_config()
            yield engine

    async def engine(self) -> Engine:
        """Return the open engine without keeping it open."""
        async with self.use_engine() as engine:
            return engine

    async def acquire(self) -> Engine:
        """Return this event loop's engine and keep it open until `release`.

        The newest valid version of the configuration is in force.
        """
        engine = await self._acquire()
        await engine.reload_config()
        return engine

    @property
    def acquired_engine(self) -> Engine | None:
        """This event loop's engine, if it was acquired."""
        engine = self._engines.get(id(asyncio.get_running_loop()))
        return engine if engine is not None and engine.loop is asyncio.get_running_loop() else None

    async def release(self) -> None:
        """Release the acquired engines of every event loop; return within seconds, even if one is still closing."""
        engines, self._engines = list(self._engines.values()), {}
        loop = asyncio.get_running_loop()
        for engine in engines:
            if engine.loop is loop:
                closing = asyncio.ensure_future(release(engine))
                await asyncio.wait({closing}, timeout=RELEASE_TIMEOUT_SECONDS)
                if closing.done():
                    closing.result()
            elif engine.loop.is_running():
                asyncio.run_coroutine_threadsafe(release(engine), engine.loop)

    async def _acquire(self) -> Engine:
        loop = asyncio.get_running_loop()
        existing = self._engines.get(id(loop))
        if existing is not None and existing.loop is loop:
            return existing
        with _log_open_failure():
            engine = await acquire(await self.load_config())
        existing = self._engines.get(id(loop))
        if existing is not None and existing.loop is loop:
            # A concurrent first use was faster: keep a single reference.
            await release(engine)
            return existing
        self._engines[id(loop)] = engine
        return engine


def require_plugin_name(name: object) -> str:
    """Return the name of a plugin in ADK; a path or a configuration in its place is refused.

    Raises:
        InvalidInputError: it is not a text, is empty, or looks like a configuration file.
    """
    if not isinstance(name, str) or not name or "/" in name or name.endswith((".yaml", ".yml")):
        raise_invalid("name", name, "it is the plugin's name in ADK; pass a configuration as config=…")
    return name


@contextmanager
def _log_open_failure() -> Iterator[None]:
    """Log a failure to open memory once, and mark the error as logged."""
    try:
        with os_errors_translated():
            yield
    except GaiaMemoryError as error:
        if not error.is_logged and is_first_report(str(error)):
            logger.error("memory cannot be opened: %s", error)
        error.is_logged = True
        raise


def _config_path_from_uri(uri: str | None, agents_dir: str | None) -> Path | None:
    """Return the file that the URI names; None if it names none.

    Raises:
        InvalidInputError: it has another scheme or unknown parts, or names several files or an empty one. ADK shows a
            ValueError as a single line.
    """
    parts = urlsplit(uri or "")
    if uri and parts.scheme != SCHEME:
        # The URI itself is not shown, because it may contain a password.
        problem = f"begins with {parts.scheme}:" if parts.scheme else "has no scheme"
        raise InvalidInputError(f"the memory URI {problem}: write {SCHEME}://?config=gaia.yaml")
    query = parse_qs(parts.query, keep_blank_values=True)
    config_values = query.pop("config", [])
    if len(config_values) > 1 or config_values == [""]:
        problem = f"{len(config_values)} times" if config_values[0] else "without a file"
        raise InvalidInputError(f"the memory URI has `config` {problem}: write {SCHEME}://?config=gaia.yaml")
    place = "" if config_values else parts.netloc.rpartition("@")[2] + parts.path
    if unknown := [*filter(None, [place]), *sorted(query)]:
        # Ignored, a typo would silently open another memory.
        problem = f"contains {', '.join(unknown)}, which has no meaning"
        raise InvalidInputError(f"the memory URI {problem}: write {SCHEME}://?config=gaia.yaml")
    if not config_values:
        return None
    path = Path(config_values[0]).expanduser()
    return path if path.is_absolute() else Path(agents_dir or ".") / path
