"""The options that commands share, and how commands open memory."""

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
    """Return the values of an argument that takes several texts.

    Raises:
        typer.BadParameter: one is blank, such as that of an empty shell variable.
    """
    from gaia_memory.language.printable_text import is_blank

    for number, value in enumerate(values or [], 1):
        if is_blank(value):
            raise typer.BadParameter(f"text {number} of {len(values or [])} is blank: leave it out, or pass a text")
    return values


def _app_name(value: str | None) -> str | None:
    from gaia_memory.config.schema import is_app_name

    if _require_nonempty(value) is not None and not is_app_name(str(value)):
        rule = "use a letter, then letters, digits, `_` and `-`; not `user`"
        raise typer.BadParameter(f"{value!r} is no valid app name: {rule}")
    return value


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The gaia.yaml to use. Default: GAIA_CONFIG, else the one in GAIA_HOME."),
]
UserOption = Annotated[
    str,
    typer.Option(
        "--user", "-u", help="The user whose memory is meant.", show_default=False, callback=_require_nonempty
    ),
]
SpeakerOption = Annotated[
    str | None,
    typer.Option("--user", "-u", help="The user id. Default: your login name.", callback=_require_nonempty),
]
ChannelOption = Annotated[
    str,
    typer.Option(
        "--channel", help="The channel. A conversation is one user on one channel.", callback=_require_nonempty
    ),
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", help="The app of the user. Default: `app` of gaia.yaml.", callback=_app_name),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


_DISABLED_REMEDY = (
    "set `memory.enabled: true` in gaia.yaml; `gaia memory export` and `gaia memory forget` work while it is off"
)


def load_config(
    path: Path | None, *, model: str | None = None, settings: Mapping[str, Any] | None = None
) -> LoadedConfig:
    """Return the configuration of a command, overridden by the command's own `settings`.

    Raises:
        ConfigError: it is missing or wrong.
    """
    from gaia_memory.config.sources.load import load, locate

    return load(path if path is not None else locate(), model=model, settings=settings)


def run_async(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run the asynchronous part of a command."""
    return asyncio.run(coroutine)


@asynccontextmanager
async def engine_without_background(loaded: LoadedConfig, *, allow_disabled: bool = False) -> AsyncIterator[Engine]:
    """Open an engine that neither sweeps nor follows: the owner of the mem0 store follows what a command writes.

    Raises:
        MemoryUnavailable: memory is off in the configuration, and `allow_disabled` is false.
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


def scope_of(engine: Engine, app_name: str | None, user: str) -> Scope:
    """Return the scope of a user in the named app, or in the configured one."""
    return engine.scope(app_name or engine.config.app, user)


async def print_other_apps(engine: Engine, scope: Scope) -> None:
    """Name the other apps in which the same user id has facts."""
    others = [known.app for known in await engine.memory.scopes() if known.user == scope.user and known != scope]
    if others:
        names = ", ".join(sorted(name if name is not None else "(all apps together)" for name in others))
        print_note(f"{scope.user} is known under another app: {names}. Choose it with --app.")
