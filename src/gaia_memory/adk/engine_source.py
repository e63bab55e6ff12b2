"""Which engine a part dropped into somebody's Runner uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, load, locate
from gaia_memory.engine import Engine, newest
from gaia_memory.engine_registry import acquire, is_news, is_open, release, use
from gaia_memory.errors import GaiaMemoryError, InvalidInputError, MemoryUnavailable
from gaia_memory.log import logger_for

logger = logger_for(__name__)

ConfigSource = LoadedConfig | GaiaConfig | Mapping[str, Any] | str | Path

RELEASE_SECONDS = 1.0
"""How long giving back waits for the engine to close, which goes on by itself: a request may wait behind it, and ADK
gives a plugin 5 s."""


class EngineSource:
    """Finds, opens and shares the engine of one part.

    The configuration is the argument, else the URI's `config=` (relative to `agents_dir`, else to the working
    directory), else `GAIA_CONFIG`, else `$GAIA_HOME/gaia.yaml`, else the defaults. Making one does no I/O and
    needs no event loop. `is_named` says whether argument or URI names it.
    """

    def __init__(
        self, config: ConfigSource | None = None, *, uri: str | None = None, agents_dir: str | None = None
    ) -> None:
        self._loaded = config if isinstance(config, LoadedConfig) else None
        self._config = _config_of(uri, agents_dir) if config is None or isinstance(config, LoadedConfig) else config
        self.is_named = self._config is not None or self._loaded is not None
        self._followed: EngineSource | None = None
        self._held: dict[int, Engine] = {}

    async def follow(self, other: EngineSource) -> None:
        """Use the configuration of another part, unless this one's was named.

        Raises:
            ConfigError: the other one's is missing or wrong.
            MemoryUnavailable: this part serves another configuration already.
        """
        if self.is_named or other is self._followed:
            return
        if self._followed is None and self._loaded is None:
            self._followed = other
        elif (await other.loaded()).identity != (await self.loaded()).identity:
            with _told():
                raise MemoryUnavailable(
                    "one plugin is in two Runners whose memory services have different configurations",
                    remedy="make a plugin for each Runner",
                )

    async def loaded(self) -> LoadedConfig:
        """Return the configuration that an engine is, or would now be, opened with.

        Raises:
            ConfigError: it is missing or wrong.
        """
        if self._followed is not None:
            return await self._followed.loaded()
        if self._loaded is None:
            source = self._config
            with _told():
                self._loaded = await asyncio.to_thread(lambda: load(locate() if source is None else source))
        elif not is_open(self._loaded):
            # It may have been closed for long.
            self._loaded = await newest(self._loaded)
        return self._loaded

    @asynccontextmanager
    async def using(self, *, look: bool = True) -> AsyncIterator[Engine]:
        """Give the open engine for a call: it is not closed under it, and not kept open by it afterwards.

        With `look` the newest good version of its configuration is in force then.
        """
        loaded = await self.loaded()
        async with AsyncExitStack() as stack:
            with _told():
                engine = await stack.enter_async_context(use(loaded))
            if look:
                await engine.live.look()
            yield engine

    async def engine(self) -> Engine:
        """Return the open engine without keeping it open."""
        async with self.using() as engine:
            return engine

    async def hold(self) -> Engine:
        """Return the open engine and keep it open until `release`; each event loop has one of its own.

        The newest good version of its configuration is in force then.
        """
        engine = await self._hold()
        await engine.live.look()
        return engine

    async def release(self) -> None:
        """Give back what `hold` took, in every event loop; returns within seconds, whatever still closes."""
        held, self._held = list(self._held.values()), {}
        loop = asyncio.get_running_loop()
        for engine in held:
            if engine.loop is loop:
                closing = asyncio.ensure_future(release(engine))
                await asyncio.wait({closing}, timeout=RELEASE_SECONDS)
                if closing.done():
                    closing.result()
            elif engine.loop.is_running():
                asyncio.run_coroutine_threadsafe(release(engine), engine.loop)

    async def _hold(self) -> Engine:
        loop = asyncio.get_running_loop()
        held = self._held.get(id(loop))
        if held is not None and held.loop is loop:
            return held
        with _told():
            engine = await acquire(await self.loaded())
        held = self._held.get(id(loop))
        if held is not None and held.loop is loop:
            # Another first use was quicker: what is held once is given back once.
            await release(engine)
            return held
        self._held[id(loop)] = engine
        return engine


@contextmanager
def _told() -> Iterator[None]:
    """Log what keeps memory from being opened when it is met first, so that nobody else needs to."""
    try:
        yield
    except GaiaMemoryError as error:
        if not error.is_logged and is_news(str(error)):
            logger.error("memory cannot be opened: %s", error)
        error.is_logged = True
        raise


def _config_of(uri: str | None, agents_dir: str | None) -> Path | None:
    """Return the file that a URI names, None where it names none.

    Raises:
        InvalidInputError: it names several files, or an empty one; ADK shows a ValueError as one line.
    """
    parts = urlsplit(uri or "")
    query = parse_qs(parts.query, keep_blank_values=True)
    named = query.pop("config", [])
    if len(named) > 1 or named == [""]:
        said = f"{len(named)} times" if named[0] else "without a file"
        raise InvalidInputError(f"the memory URI gives config {said}: write {parts.scheme}://?config=gaia.yaml")
    unused = sorted(query) if named else [*filter(None, [parts.netloc + parts.path]), *sorted(query)]
    if unused:
        logger.warning(
            "the memory URI names %s, which is not used: the configuration is named as in %s://?config=gaia.yaml",
            ", ".join(unused),
            parts.scheme,
        )
    if not named:
        return None
    path = Path(named[0]).expanduser()
    return path if path.is_absolute() else Path(agents_dir or ".") / path
