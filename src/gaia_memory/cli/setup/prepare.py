"""The steps of `gaia init` on a folder."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from gaia_memory.cli.doctor.home_checks import has_access
from gaia_memory.cli.setup.agent_folders import AgentFolder, find_agents
from gaia_memory.cli.setup.gaia_yaml import require_valid, write_gaia_yaml
from gaia_memory.cli.setup.hosts import RunCommands, join_names, run_commands
from gaia_memory.cli.setup.new_agent import write_agent
from gaia_memory.cli.setup.services import inspect_services, write_services
from gaia_memory.cli.ui.output_files import FileStep, create_empty_file, create_folder, unusable_path_error, write_file
from gaia_memory.config.schema import GaiaConfig, is_app_name
from gaia_memory.config.sources.load import FILE_NAME, LoadedConfig, load
from gaia_memory.redaction.mask import mask_secrets

_EFFECTIVE_VARIABLES = ("GAIA_CONFIG", "GAIA_HOME", "GAIA_SESSIONS__DATABASE_URL")


@dataclass(slots=True)
class InitReport:
    """What was done to a folder and how to continue; without `commands` the user must first correct a file."""

    agents: AgentFolder
    steps: list[FileStep]
    notes: list[str] = field(default_factory=list)
    commands: RunCommands | None = None

    @property
    def invalid_files(self) -> list[FileStep]:
        """The invalid files that were left unchanged."""
        return [step for step in self.steps if step.outcome == "wrong"]


def prepare(folder: Path, agent: str | None, steps: list[FileStep], *, force: bool) -> InitReport:
    """Write the missing files into a folder of agents; with `agent`, also an agent of that name.

    Each finished step is added to `steps`.

    Raises:
        InvalidInputError: a file cannot be written; in most cases this is found before the first write.
        ConfigError: the configuration would be invalid, or a setting in the environment is.
    """
    _require_writable(folder, agent, force=force)
    create_folder(folder)
    steps += write_agent(folder, agent) if agent is not None else []
    agents = find_agents(folder)
    config_step = write_gaia_yaml(folder, _app_name(agents, agent), force=force)
    steps.append(config_step)
    for services_folder in dict.fromkeys([folder, *(found.folder for found in agents.members)]):
        steps.append(write_services(services_folder, force=force))
    report = InitReport(agents, steps)
    if config_step.outcome != "wrong":
        loaded = load(config_step.path)
        report.steps += _prepare_home(folder, loaded)
        report.commands = run_commands(agents, loaded)
        report.notes += _notes(agents, loaded)
    return report


def _require_writable(folder: Path, agent: str | None, *, force: bool) -> None:
    """Check all files before the first one is written.

    Raises:
        InvalidInputError: a folder or file cannot be written or read.
        ConfigError: the configuration would be invalid.
    """
    agents = find_agents(folder) if folder.exists() else AgentFolder(folder, False, ())
    path = folder / FILE_NAME
    folders = [] if path.exists() and not force else [folder]
    if force or not path.exists():
        require_valid(folder, _app_name(agents, agent))
    if path.exists() and not path.is_file():
        raise unusable_path_error(path, IsADirectoryError(errno.EISDIR, "it is a folder"))
    if agent is not None and not (folder / agent / "agent.py").exists():
        folders.append(folder / agent)
    for services_folder in dict.fromkeys([folder, *(found.folder for found in agents.members)]):
        verdict = inspect_services(services_folder).verdict if services_folder.exists() else "missing"
        if verdict in ("missing", "lacking") or (force and verdict == "wrong"):
            folders.append(services_folder)
    for target in folders:
        existing = next(above for above in (target, *target.parents) if above.exists())
        # If a file is in the way, creating the folder reports it.
        if existing.is_dir() and not has_access(existing, os.W_OK | os.X_OK):
            raise unusable_path_error(existing, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _app_name(agents: AgentFolder, agent_name: str | None) -> str:
    names = (
        [agent_name] if agent_name is not None else [agent.name for agent in agents.members if is_app_name(agent.name)]
    )
    return names[0] if names else str(GaiaConfig.model_fields["app"].default)


def _prepare_home(folder: Path, loaded: LoadedConfig) -> list[FileStep]:
    """Create a private home and an empty private session database; `adk` would create a file that others can read.

    A home inside the folder gets a `.gitignore`, because it contains users' texts.
    """
    home = loaded.config.home
    steps = []
    if not home.exists():
        create_folder(home, mode=0o700)
        steps.append(FileStep(home, "made", "what is remembered is kept here"))
    if folder in home.parents and not (home / ".gitignore").exists():
        write_file(home / ".gitignore", "*\n", mode=0o600)
    sessions = home / "sessions.db"
    if loaded.config.sessions_url.endswith(f":///{sessions}"):
        create_empty_file(sessions, mode=0o600)
    return steps


def _notes(agents: AgentFolder, loaded: LoadedConfig) -> list[str]:
    """Return the notes that `gaia init` prints about this folder."""
    notes = []
    if not agents.members:
        notes.append("there is no agent in this folder yet: `gaia init --agent assistant` makes one")
    elif loaded.config.app not in [agent.name for agent in agents.members]:
        notes.append(
            f"commands look at the app {loaded.config.app!r}: pass `--app` to see {join_names(agents.members)}"
        )
    if unconfigured := agents.without_plugins:
        notes.append(f"`adk run` has no option for plugins: give an App to {join_names(unconfigured)}")
    if yaml_agents := [agent for agent in agents.members if agent.is_yaml]:
        notes.append(f"`adk run` gives no plugin to an agent in YAML: use `adk web` for {join_names(yaml_agents)}")
    parent_config = next((at / FILE_NAME for at in agents.folder.parents if (at / FILE_NAME).is_file()), None)
    if parent_config is not None:
        notes.append(
            f"{parent_config} is there, too: an agent that goes by it has another memory than the commands below"
        )
    effective = [name for name in _EFFECTIVE_VARIABLES if os.environ.get(name, "").strip()]
    notes += [f"{name} is set here and counts: keep its value where you start `adk`" for name in effective]
    url = loaded.config.sessions_url
    if mask_secrets(url) != url:
        notes.append("the session database's URL holds a password and is not shown: set GAIA_SESSIONS__DATABASE_URL")
    return notes
