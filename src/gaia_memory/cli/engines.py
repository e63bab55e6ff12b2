"""The options that commands share, and how commands open memory."""

from __future__ import annotations

import asyncio
import difflib
import getpass
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from gaia_memory.cli.ui.terminal import LOGGER_NAME, print_note, progress_bar, silence_logger
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


def require_named_user(context: typer.Context, user: str, owner: str | None) -> None:
    """Refuse a file about `owner` for a user that was not named: the default would mix two people up.

    Raises:
        typer.BadParameter: `--user` was left out, and the file is about somebody else.
    """
    source = context.get_parameter_source("user")
    if owner not in (None, user) and source is not None and source.name != "COMMANDLINE":
        raise typer.BadParameter(f"the file is about {owner!r}: pass --user to say whose facts these are")


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
LongOption = Annotated[bool, typer.Option("--long", help="Show whole ids.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


_MISSING_HOME_REMEDY = "check `home` and GAIA_HOME; `gaia chat` and `gaia memory add` make a new one"
_DISABLED_REMEDY = (
    "set `memory.enabled: true` in gaia.yaml; `gaia memory export` and `gaia memory forget` work while it is off"
)


def load_config(
    path: Path | None, *, model: str | None = None, settings: Mapping[str, Any] | None = None
) -> LoadedConfig:
    """Return the configuration of a command, overridden by the command's own `settings`. Call it off an event loop.

    Raises:
        ConfigError: the error lists every problem, those of the providers, too.
    """
    from gaia_memory.config.sources.load import load, locate
    from gaia_memory.errors import ConfigError

    try:
        return load(path if path is not None else locate(), model=model, settings=settings)
    except ConfigError as error:
        more = [line for line in _model_problems(Path(error.source)) if line not in error.problems]
        raise type(error)([*error.problems, *more], source=error.source) from error


async def check_models(loaded: LoadedConfig) -> list[str]:
    """Return a warning for each key that a model needs and the environment lacks.

    The agents' model is checked with ADK, providers with mem0, only if they are not the usual ones: ADK and mem0 take a
    second each to load.

    Raises:
        ConfigError: a model, a provider or one of its keys is unknown; all are listed.
    """
    import tempfile

    from gaia_memory.adk.models.model_factory import find_model_problem
    from gaia_memory.config.api_keys import MISSING_OPENAI_KEY_REMEDY, missing_key_variable
    from gaia_memory.engine_probe import EngineProbe
    from gaia_memory.errors import ConfigError

    model = loaded.config.model
    problem = await run_in_thread(find_model_problem, model)
    problems: list[str] = []
    warnings: list[str] = []
    if problem:
        # `adk` may read a key from an agent's `.env`.
        is_key_missing = problem[1] == MISSING_OPENAI_KEY_REMEDY
        (warnings if is_key_missing else problems).append(": ".join(problem))
    if model.startswith("gemini-") and (missing := missing_key_variable("gemini", {}, os.environ)):
        warnings.append(f"model: {model!r} cannot be asked without {missing}: set it")

    with tempfile.TemporaryDirectory(prefix="gaia-config-") as scratch:
        probe = await EngineProbe.open(loaded.config, Path(scratch))
        try:
            await probe.check_providers()
            warnings += probe.missing_keys()
        except ConfigError as error:
            problems += error.problems
        finally:
            await probe.close()
    if problems:
        raise ConfigError(problems, source=loaded.source)
    return warnings


def _model_problems(path: Path) -> Sequence[str]:
    """Return what is wrong with the models of a file that has other problems; nothing if it cannot be read."""
    from gaia_memory.config.sources.environment import PROVIDER_SECTIONS
    from gaia_memory.config.sources.load import load
    from gaia_memory.config.sources.yaml_file import read_snapshot
    from gaia_memory.errors import ConfigError

    try:
        settings = read_snapshot(path).settings() if path.is_file() else {}
        memory = settings.get("memory")
        sections = {part: memory[part] for part in PROVIDER_SECTIONS if part in memory} if memory else {}
        model = {"model": settings["model"]} if "model" in settings else {}
        with silence_logger(f"{LOGGER_NAME}.config"):
            asyncio.run(check_models(load({**model, "memory": sections})))
    except ConfigError as error:
        return error.problems
    except TypeError:
        # `memory` is no section, which is a problem that is listed.
        return []
    return []


def sync_command(command: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[Parameters, None]:
    """Return an asynchronous command as the function that Typer calls."""

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        asyncio.run(command(*args, **kwargs))

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


@asynccontextmanager
async def open_scope(
    path: Path | None, app_name: str | None, user: str, *, allow_disabled: bool = False, needs_home: bool = True
) -> AsyncIterator[tuple[Engine, Scope]]:
    """Open an engine; yield it with the scope of a user in the named app, or in the configured one."""
    async with open_engine(path, allow_disabled=allow_disabled, needs_home=needs_home) as engine:
        yield engine, engine.scope(app_name or engine.config.app, user)


async def print_other_scopes(engine: Engine, scope: Scope) -> None:
    """Name the other apps in which the same user id has facts; without any facts, a user with a similar id."""
    known = await engine.memory.scopes()
    others = [each.app for each in known if each.user == scope.user and each != scope]
    if others:
        names = ", ".join(sorted(name if name is not None else "(all apps together)" for name in others))
        print_note(f"{scope.user} is known under another app: {names}. Choose it with --app.")
    elif scope not in known:
        users = {each.user.casefold(): each.user for each in known if each.app == scope.app}
        if close := difflib.get_close_matches(scope.user.casefold(), users, n=1):
            print_note(f"No user {scope.user} is known: did you mean {users[close[0]]}?")


async def print_waiting(engine: Engine, scope: Scope) -> None:
    """Say how many conversations of a user wait to be learned, which may hold what a command does not find."""
    if count := sum(each.messages > 0 for each in await engine.memory.pending(scope)):
        waits = "1 conversation waits" if count == 1 else f"{count} conversations wait"
        is_of_agent = engine.config.memory.llm.is_of_agent
        learner = "the process of the agent does it" if is_of_agent else "`gaia sweep --force` does it now"
        print_note(f"{waits} to be learned: {learner}.")


async def print_storage_problem(engine: Engine) -> None:
    """Say what is wrong with the files of memory, such as a lost database: facts may be missing from what is shown."""
    if problem := await engine.memory.storage_problem():
        print_note(f"warning: {problem}")


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
