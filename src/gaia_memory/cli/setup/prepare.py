"""The steps of `gaia init` on a folder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaia_memory.cli.setup.adk_commands import command_lines, typed_name
from gaia_memory.cli.setup.agent_folders import Agent, AgentFolder, find_agents
from gaia_memory.cli.setup.gaia_yaml import write_gaia_yaml
from gaia_memory.cli.setup.new_agent import write_agent
from gaia_memory.cli.setup.own_files import CONFIG_LINES, write_own_files
from gaia_memory.cli.setup.services import write_services
from gaia_memory.cli.ui.output_files import FileStep, write_file
from gaia_memory.config.schema import GaiaConfig, is_app_name
from gaia_memory.config.sources.load import FILE_NAME, LoadedConfig, load
from gaia_memory.database.read_only import database_path
from gaia_memory.files.private_files import create_private_file
from gaia_memory.redaction.mask import mask_secrets

_RECEIVERS = {
    "speaking": "each root agent and every agent that a transfer or a task gives the conversation to, not to helpers "
    "inside an AgentTool",
    "root": "each root agent alone",
    "all": "every agent, and inside an AgentTool the profile alone",
}
_EFFECTIVE_VARIABLES = ("GAIA_CONFIG", "GAIA_HOME", "GAIA_SESSIONS__DATABASE_URL")

APP_SNIPPET = f"""\
from pathlib import Path
from google.adk.apps import App
from gaia_memory import MemoryPlugin, SessionWindowPlugin

{CONFIG_LINES}
plugins = [SessionWindowPlugin(config=CONFIG), MemoryPlugin(config=CONFIG)]
app = App(name="{{name}}", root_agent=root_agent, plugins=plugins)
"""
"""The code that an agent needs for `adk run` and `adk deploy`, which read plugins only from an App."""


@dataclass(slots=True)
class InitReport:
    """What was done to a folder and how to continue; without `commands` there is nothing to run yet."""

    agents: AgentFolder
    steps: list[FileStep]
    notes: list[str] = field(default_factory=list)
    commands: dict[str, Any] = field(default_factory=dict)


def prepare(folder: Path, agent: str | None, steps: list[FileStep], *, force: bool) -> InitReport:
    """Write the missing files into a folder of agents; with `agent`, also an agent of that name.

    Each finished step is added to `steps`, which thus tells what was done before an error.
    """
    folder.mkdir(mode=0o775, parents=True, exist_ok=True)
    steps += write_agent(folder, agent) if agent is not None else []
    agents = find_agents(folder)
    steps.append(write_gaia_yaml(folder, _app_name(agents, agent), force=force))
    is_valid, config = steps[-1].outcome != "wrong", steps[-1].path
    for services_folder in dict.fromkeys([folder, *(found.folder for found in agents.members)]):
        steps.append(write_services(services_folder, force=force))
    report = InitReport(agents, steps)
    if is_valid:
        loaded = load(config)
        steps += [*write_own_files(agents, loaded), *prepare_home(folder, loaded)]
        report.commands = command_lines(agents, loaded, typed_name(folder)) if agents.members else {}
        report.notes += _notes(agents, loaded)
    return report


def _app_name(agents: AgentFolder, agent_name: str | None) -> str:
    names = (
        [agent_name] if agent_name is not None else [agent.name for agent in agents.members if is_app_name(agent.name)]
    )
    return names[0] if names else str(GaiaConfig.model_fields["app"].default)


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


def _notes(agents: AgentFolder, loaded: LoadedConfig) -> list[str]:
    """Return the notes that `gaia init` prints about this folder."""
    notes = []
    if not agents.members:
        at = shlex.quote(typed_name(agents.folder))
        notes.append(f"there is no agent yet: `gaia init {at} --agent assistant` creates one")
    elif loaded.config.app not in [agent.name for agent in agents.members]:
        notes.append(f"commands use the app {loaded.config.app!r}: pass `--app` to see {_names(agents.members)}")
    if agents.members:
        receivers = loaded.config.memory.profile_agents
        who = _RECEIVERS[receivers] if isinstance(receivers, str) else f"the agents {', '.join(receivers)}"
        notes.append(f"profile, notes and memory tools go to {who} (`memory.profile_agents`)")
    if unconfigured := agents.without_plugins:
        notes.append(f"`adk run` and `adk deploy` take plugins from an App alone: add one to {_names(unconfigured)}")
    if yaml_agents := [agent for agent in agents.members if agent.is_yaml]:
        notes.append(f"`adk run` gives no plugin to an agent in YAML: use `adk web` for {_names(yaml_agents)}")
    parent_config = next((at / FILE_NAME for at in agents.folder.parents if (at / FILE_NAME).is_file()), None)
    if parent_config is not None:
        notes.append(f"there is also {parent_config}: an agent that uses it has another memory")
    effective = [name for name in _EFFECTIVE_VARIABLES if os.environ.get(name, "").strip()]
    notes += [f"{name} is set and overrides the file: set it where you start `adk`, too" for name in effective]
    if "GAIA_CONFIG" not in effective and loaded.path is not None:
        path = shlex.quote(str(loaded.path))
        notes.append(f"`gaia chat` and `gaia memory` use this memory after `export GAIA_CONFIG={path}`")
    url = loaded.config.sessions_url
    if mask_secrets(url) != url:
        notes.append("the session database's URL holds a password and is not shown: set GAIA_SESSIONS__DATABASE_URL")
    return notes


def _names(agents: Sequence[Agent]) -> str:
    return ", ".join(agent.name for agent in agents)
