"""`gaia web`, `gaia api-server` and `gaia run`: ADK's own commands over agents, with memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, load_config
from gaia_memory.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.cli.setup.adk_commands import AdkCommand

WEB_EXAMPLES = """
Examples:

`gaia web agents` serves the agents of a folder that `gaia init` prepared, with ADK's page for a browser.

`gaia web agents --port 9000 --reload_agents` passes the options on to `adk web` (`adk web --help` lists them).
"""
API_SERVER_EXAMPLES = """
Examples:

`gaia api-server agents --port 9000` serves the agents over HTTP; options after the folder go to `adk api_server`.
"""
RUN_EXAMPLES = """
Examples:

`gaia run agents/assistant` talks to an agent at the terminal, with its memory.

`gaia run agents/assistant "What do I like?"` asks one question; options after the folder go to `adk run`.
"""
PASSED_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The settings of a command that passes unknown options on."""

FolderArgument = Annotated[Path, typer.Argument(help="The folder of agents, or of one agent.")]


def web(context: typer.Context, folder: FolderArgument = Path(), config: ConfigOption = None) -> None:
    """Start `adk web` for a folder of agents, with memory.

    Further options go to `adk web`: write them after the folder. Without `--config`, the `gaia.yaml` in the folder is
    used, else the one that every command would use.
    """
    _serve("web", folder, config, context)


def api_server(context: typer.Context, folder: FolderArgument = Path(), config: ConfigOption = None) -> None:
    """Start `adk api_server` for a folder of agents, with memory.

    Further options go to `adk api_server`: write them after the folder. The configuration is found as by `gaia web`.
    """
    _serve("api_server", folder, config, context)


def run(context: typer.Context, folder: FolderArgument = Path(), config: ConfigOption = None) -> None:
    """Start `adk run` for the folder of one agent, with memory.

    The agent needs MemoryPlugin in its App. The configuration is found as by `gaia web`.
    """
    _serve("run", folder, config, context)


def _serve(command: AdkCommand, path: Path, config: Path | None, context: typer.Context) -> None:
    from gaia_memory.cli.setup.adk_commands import adk_arguments, typed_name
    from gaia_memory.cli.setup.agent_folders import find_agents
    from gaia_memory.cli.setup.prepare import prepare_home
    from gaia_memory.cli.setup.services import inspect_services
    from gaia_memory.config.sources.load import FILE_NAME

    folder = path.expanduser().absolute()
    if not folder.is_dir():
        hint = "name a folder of agents, then the options of ADK"
        problem = "it is missing" if str(path).startswith("-") else f"there is no folder {path}"
        raise typer.BadParameter(f"{problem}: {hint}", param_hint="FOLDER")
    remedy = f"`gaia init {typed_name(folder)}`"
    agents = find_agents(folder)
    if not agents.members:
        raise InvalidInputError(f"{path} has no agent: {remedy[:-1]} --agent assistant` creates one")
    if command == "run" and (agents.members[0].folder != folder or not agents.all_have_memory):
        need = "its App needs MemoryPlugin" if agents.members[0].folder == folder else "name the folder of one agent"
        raise InvalidInputError(f"{path} cannot run with memory: {need}")
    places = (folder, folder.parent) if command == "run" else (folder,)
    own_config = next((place / FILE_NAME for place in places if (place / FILE_NAME).is_file()), None)
    loaded = load_config(own_config if config is None else config)
    if loaded.path is None:
        raise ConfigError([f"there is no {FILE_NAME}: {remedy} writes it"], source=str(path))
    services = inspect_services(folder)
    if services.verdict != "right":
        raise InvalidInputError(f"{services.path} is {services.verdict}: {services.message or f'{remedy} writes it'}")
    prepare_home(loaded.path.parent, loaded)
    arguments = [*adk_arguments(command, agents, loaded), *context.args]
    # From here on logging is ADK's.
    context.find_root().close()
    from google.adk.cli.cli_tools_click import main

    # In this process, so that a password in the URL of the sessions stands in no list of processes.
    main(args=arguments, prog_name="adk")
