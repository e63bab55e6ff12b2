"""The options that commands share, and how commands open memory."""

from __future__ import annotations

import asyncio
import getpass
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, cast

import typer

from gaia_memory.cli.ui.terminal import print_note, progress_bar
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.memory import Memory
    from gaia_memory.models import Scope

Parameters = ParamSpec("Parameters")


def _require_nonempty(value: str | None) -> str | None:
    if value == "":
        raise typer.BadParameter("the value is empty: pass a name")
    return value


def login_name() -> str:
    """Return the name of the account that runs this process: the default user id."""
    try:
        return getpass.getuser()
    except (ImportError, OSError, KeyError):
        # A container may run as a user without a name.
        return "me"


def require_app_name(value: str | None) -> str | None:
    """Return the value of an option that names an app, or refuse it."""
    from gaia_memory.config.schema import is_app_name

    if _require_nonempty(value) is not None and not is_app_name(str(value)):
        rule = "use a letter, then letters, digits, `_` and `-`; not `user`"
        raise typer.BadParameter(f"{value!r} is not a valid app name: {rule}")
    return value


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The gaia.yaml to use. Default: GAIA_CONFIG, else the one in GAIA_HOME."),
]
UserOption = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        help="The id of the user.",
        default_factory=login_name,
        show_default="your login name",
        callback=_require_nonempty,
    ),
]
ChannelOption = Annotated[
    str,
    typer.Option(
        "--channel", help="The channel. A conversation is one user on one channel.", callback=_require_nonempty
    ),
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", help="The app of the user. Default: `app` of gaia.yaml.", callback=require_app_name),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


NEXT_OPENER = "the next process that opens this memory rewrites them"
_MISSING_HOME_REMEDY = "check `home` and GAIA_HOME; `gaia chat` and `gaia memory add` make a new one"
_DISABLED_REMEDY = (
    "set `memory.enabled: true` in gaia.yaml; `gaia memory export` and `gaia memory forget` work while it is off"
)


def load_config(
    path: Path | None, *, model: str | None = None, settings: Mapping[str, Any] | None = None
) -> LoadedConfig:
    """Return the configuration of a command, overridden by the command's own `settings`. Call it off an event loop.

    Raises:
        ConfigError: the error lists every invalid value.
    """
    from gaia_memory.config.sources.load import load, locate

    return load(path if path is not None else locate(), model=model, settings=settings)


def command(function: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return an asynchronous command as the function that Typer calls.

    A parameter whose type is a dataclass stands for a group of options, which several commands share: its fields.
    """
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}
    members = {
        name: [
            each.replace(kind=each.KEYWORD_ONLY) for each in inspect.signature(group, eval_str=True).parameters.values()
        ]
        for name, group in groups.items()
    }
    shown = [option for each in parameters for option in members.get(each.name, [each.replace(kind=each.KEYWORD_ONLY)])]

    @wraps(function)
    def run(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{each.name: options.pop(each.name) for each in members[name]})
        asyncio.run(cast(Any, function)(**options))

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in shown}
    return run


@asynccontextmanager
async def open_engine(
    path: Path | None, *, allow_disabled: bool = False, needs_home: bool = False
) -> AsyncIterator[Engine]:
    """Open an engine that neither sweeps nor follows: the owner of the mem0 store follows what a command writes.

    While memory is off, this is an error unless `allow_disabled` is true. With `needs_home`, a home that does not exist
    is one, too, in place of being made.
    """
    from gaia_memory.database.read_only import database_path
    from gaia_memory.engine import Engine
    from gaia_memory.errors import MemoryUnavailable

    loaded = await run_in_thread(load_config, path)
    if not loaded.config.memory.enabled and not allow_disabled:
        raise MemoryUnavailable("memory is off", remedy=_DISABLED_REMEDY)
    home, file = loaded.config.home, database_path(loaded.config.memory_url)
    if needs_home and file is not None and not file.exists() and not home.exists():
        raise MemoryUnavailable(f"there is no {home}, so nothing is stored yet", remedy=_MISSING_HOME_REMEDY)
    engine = await Engine.open(loaded)
    try:
        yield engine
    finally:
        await engine.close()


async def print_other_scopes(engine: Engine, scope: Scope) -> None:
    """Name the other apps in which the same user id has facts."""
    others = [each.app for each in await engine.memory.scopes() if each.user == scope.user and each != scope]
    if others:
        names = ", ".join(sorted(name if name is not None else "(all apps together)" for name in others))
        print_note(f"{scope.user} is known under another app: {names}. Choose it with --app.")


async def finish_erasures(memory: Memory) -> str | None:
    """Wait until no file contains forgotten text; return None, or why files still do."""
    from gaia_memory.errors import MemoryUnavailable

    try:
        if not await memory.pending_erasures():
            return None
        with progress_bar("Rewriting files") as advance:
            return await memory.finish_erasures(advance)
    except MemoryUnavailable as error:
        return str(error)
