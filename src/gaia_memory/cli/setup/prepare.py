"""The steps of `gaia init` on a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaia_memory.cli.setup.adk_commands import command_lines, typed_name
from gaia_memory.cli.setup.agent_folders import AgentFolder, find_agents
from gaia_memory.cli.setup.gaia_yaml import write_gaia_yaml
from gaia_memory.cli.setup.new_agent import write_agent
from gaia_memory.cli.setup.services import write_services
from gaia_memory.cli.ui.output_files import FileStep, write_file
from gaia_memory.config.schema import GaiaConfig, is_app_name
from gaia_memory.config.sources.load import LoadedConfig, load
from gaia_memory.database.read_only import database_path
from gaia_memory.files.private_files import create_private_file


@dataclass(slots=True)
class InitReport:
    """What was done to a folder and how to continue; without `commands` there is nothing to run yet."""

    agents: AgentFolder
    steps: list[FileStep]
    commands: dict[str, Any] = field(default_factory=dict)


def prepare(folder: Path, agent: str | None, steps: list[FileStep]) -> InitReport:
    """Write the missing files into a folder of agents; with `agent`, also an agent of that name.

    Each finished step is added to `steps`, which thus tells what was done before an error.
    """
    folder.mkdir(mode=0o775, parents=True, exist_ok=True)
    steps += write_agent(folder, agent) if agent is not None else []
    agents = find_agents(folder)
    names = [agent] if agent else [found.name for found in agents.members if is_app_name(found.name)]
    steps.append(write_gaia_yaml(folder, names[0] if names else str(GaiaConfig.model_fields["app"].default)))
    is_valid, config = steps[-1].outcome != "wrong", steps[-1].path
    for services_folder in dict.fromkeys([folder, *(found.folder for found in agents.members)]):
        steps.append(write_services(services_folder))
    report = InitReport(agents, steps)
    if is_valid:
        loaded = load(config)
        steps += prepare_home(folder, loaded)
        report.commands = command_lines(agents, loaded, typed_name(folder)) if agents.members else {}
    return report


def prepare_home(folder: Path, loaded: LoadedConfig) -> list[FileStep]:
    """Create a private home and an empty private session database; `adk` would create a file that others can read.

    A home inside the folder gets a `.gitignore`, because it contains users' texts.
    """
    home = loaded.config.home
    steps = []
    if not home.exists():
        home.mkdir(mode=0o700, parents=True)
        steps.append(FileStep(home, "made", "the folder for everything that memory stores"))
    if folder in home.parents and not (home / ".gitignore").exists():
        write_file(home / ".gitignore", "*\n", mode=0o600)
    sessions = database_path(loaded.config.sessions_url)
    if sessions is not None and not sessions.exists():
        sessions.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_private_file(sessions)
    return steps
