"""open_memory(): opens and closes an engine together with its ADK half."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec

from gaia_memory.adk.lazy_imports import load_adk_if_imported, load_module
from gaia_memory.adk.models.model_factory import split_model_argument
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, load, locate
from gaia_memory.database.os_errors import os_errors_translated
from gaia_memory.engine_registry import open_engine
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.adk.models.model_factory import BaseLlm
    from gaia_memory.ports import Clock, ProjectsProvider


class ConfigLookup(Enum):
    """The default argument: the configuration is looked up, as a part in a foreign Runner would do."""

    LOOK_UP = "look up"


LOOK_UP = ConfigLookup.LOOK_UP

ConfigArgument = str | Path | Mapping[str, Any] | GaiaConfig | LoadedConfig | ConfigLookup | None


Parameters = ParamSpec("Parameters")


class MemoryContext(AbstractAsyncContextManager["Gaia"]):
    """What `open_memory` returns: opens memory at the beginning of an `async with` block, and closes it at the end."""

    def __init__(self, opening: AbstractAsyncContextManager[Gaia]) -> None:
        self._opening = opening

    async def __aenter__(self) -> Gaia:
        """Open memory."""
        return await self._opening.__aenter__()

    async def __aexit__(self, *error: Any) -> bool | None:
        """Close it."""
        return await self._opening.__aexit__(*error)

    def __getattr__(self, name: str) -> NoReturn:
        """Say how to get a `Gaia`, which has the attributes that a caller expects here."""
        raise AttributeError(f"memory is not open: write `async with open_memory(…) as gaia:`, then `gaia.{name}`")


def _explain_misuse(
    opener: Callable[Parameters, AbstractAsyncContextManager[Gaia]],
) -> Callable[Parameters, MemoryContext]:
    @wraps(opener)
    def open_context(*args: Parameters.args, **kwargs: Parameters.kwargs) -> MemoryContext:
        return MemoryContext(opener(*args, **kwargs))

    return open_context


@_explain_misuse
@asynccontextmanager
async def open_memory(
    source: ConfigArgument = LOOK_UP,
    *,
    home: str | Path | None = None,
    model: str | BaseLlm | None = None,
    clock: Clock | None = None,
    projects: ProjectsProvider | None = None,
) -> AsyncIterator[Gaia]:
    """Open memory and yield the `Gaia` for it; close both at the end. ADK is imported at its first use.

    `source` is a path, a mapping or a `GaiaConfig`. Without it, the configuration is looked up (`GAIA_CONFIG`, then
    `$GAIA_HOME/gaia.yaml`, then the defaults); an explicit None reads no file. `home` and `model` override the
    configuration. A `model` that is an ADK `BaseLlm` is used unchanged.

    Raises:
        ConfigError: the configuration is invalid; the message lists every problem.
        MemoryUnavailable: a database cannot be opened.
    """
    llm, name = split_model_argument(model)
    async with AsyncExitStack() as stack:
        with os_errors_translated():
            loaded = await run_in_thread(lambda: _load_config(source, home=home, model=name))
            engine = await stack.enter_async_context(open_engine(loaded, clock=clock, projects=projects))
            await load_module("gaia")
            from gaia_memory.adk.gaia import Gaia

            gaia = Gaia(engine, llm)
            stack.push_async_callback(gaia.close)
            # Check first: otherwise the sweep would report the same failure again.
            await gaia.require_sessions()
            engine.start()
            await load_adk_if_imported()
        yield gaia


def _load_config(source: ConfigArgument, *, home: str | Path | None, model: str | None) -> LoadedConfig:
    if isinstance(source, LoadedConfig):
        return source
    return load(locate() if source is LOOK_UP else source, home=home, model=model)
