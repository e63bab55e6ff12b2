"""How commands open memory: the configuration, and an engine that does nothing in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gaia_memory.cli.ui.terminal import print_note

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Scope

Result = TypeVar("Result")


def _require_nonempty(value: str | None) -> str | None:
    if value == "":
        raise typer.BadParameter("is empty: pass a name, or leave the option out")
    return value


def require_texts(values: list[str] | None) -> list[str] | None:
    """Return the values of an argument that takes several, each of which says something.

    Raises:
        typer.BadParameter: one is blank, as where a shell's variable is empty.
    """
    from gaia_memory.language.printable_text import is_blank

    for number, value in enumerate(values or [], 1):
        if is_blank(value):
            raise typer.BadParameter(f"text {number} of {len(values or [])} is blank: leave it out, or pass a text")
    return values


def _app_name(value: str | None) -> str | None:
    from gaia_memory.config.schema import is_app_name

    if _require_nonempty(value) is not None and not is_app_name(str(value)):
        rule = "a letter, then letters, digits, `_` and `-`, and not `user`"
        raise typer.BadParameter(f"{value!r} is no name for an app: {rule}")
    return value


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The gaia.yaml to use; else GAIA_CONFIG, else the one in GAIA_HOME."),
]
UserOption = Annotated[
    str, typer.Option("--user", "-u", help="Whose memory: the user id.", show_default=False, callback=_require_nonempty)
]
SpeakerOption = Annotated[
    str | None,
    typer.Option("--user", "-u", help="Who is talking: the user id; else your login name.", callback=_require_nonempty),
]
ChannelOption = Annotated[
    str, typer.Option("--channel", help="Where; a conversation is one user on one channel.", callback=_require_nonempty)
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", help="The app the memory belongs to; else `app` of gaia.yaml.", callback=_app_name),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


_DISABLED_REMEDY = (
    "set `memory.enabled: true` in gaia.yaml; what is held about a person can be read with `gaia memory export` and "
    "removed with `gaia memory forget` while it is off"
)


def load_config(
    path: Path | None, *, model: str | None = None, settings: Mapping[str, Any] | None = None
) -> LoadedConfig:
    """Return the configuration a command runs on, with the command's own `settings` over it.

    Raises:
        ConfigError: it is missing or wrong.
    """
    from gaia_memory.config.sources.load import load, locate

    return load(path if path is not None else locate(), model=model, settings=settings)


def run_async(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's asynchronous part to its end."""
    return asyncio.run(coroutine)


@asynccontextmanager
async def engine_without_background(loaded: LoadedConfig, *, allow_disabled: bool = False) -> AsyncIterator[Engine]:
    """Open an engine that neither sweeps nor follows: what is written is followed by the store's owner.

    Raises:
        MemoryUnavailable: memory is off in the configuration, and it is not opened `allow_disabled`.
    """
    from gaia_memory.engine import Engine
    from gaia_memory.errors import MemoryUnavailable

    if not loaded.config.memory.enabled and not allow_disabled:
        raise MemoryUnavailable("memory is off", remedy=_DISABLED_REMEDY)
    engine = await Engine.open(loaded)
    try:
        yield engine
    finally:
        await engine.close()


async def print_other_apps(engine: Engine, scope: Scope) -> bool:
    """Say under which other apps something is remembered about the same user id; False where there is none."""
    others = [known.app for known in await engine.memory.scopes() if known.user == scope.user and known != scope]
    if others:
        names = ", ".join(sorted(name if name is not None else "(all apps together)" for name in others))
        print_note(f"{scope.user} is known under another app: {names}. Choose it with --app.")
    return bool(others)
