"""Everything `gaia init` does to a folder, in order."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from gaia_memory.cli.files import Step, make_empty, make_folder, write
from gaia_memory.cli.setup.agents import Agents, find_agents
from gaia_memory.cli.setup.gaia_yaml import write_gaia_yaml
from gaia_memory.cli.setup.hosts import Hosts, hosts, told
from gaia_memory.cli.setup.new_agent import write_agent
from gaia_memory.cli.setup.services import write_services
from gaia_memory.config.load import LoadedConfig, load
from gaia_memory.config.schema import GaiaConfig, is_app_name
from gaia_memory.config.secrets import masked

_COUNTING = ("GAIA_CONFIG", "GAIA_HOME", "GAIA_SESSIONS__DATABASE_URL")


@dataclass(slots=True)
class Report:
    """What was done to a folder, and how to go on; without `hosts` something has to be put right first."""

    agents: Agents
    steps: list[Step]
    notes: list[str] = field(default_factory=list)
    hosts: Hosts | None = None

    @property
    def wrong(self) -> list[Step]:
        """The files that were left as they are, and are not right."""
        return [step for step in self.steps if step.did == "wrong"]


def prepare(folder: Path, agent: str | None, *, force: bool) -> Report:
    """Write what is missing into a folder of agents; with `agent`, one of that name too.

    Raises:
        InvalidInputError: something cannot be written.
        ConfigError: the environment holds a setting that is wrong.
    """
    make_folder(folder)
    new = write_agent(folder, agent) if agent is not None else []
    agents = find_agents(folder)
    configured = write_gaia_yaml(folder, _app(agents, agent), force=force)
    readers = dict.fromkeys([folder, *(found.folder for found in agents.found)])
    services = [write_services(reader, force=force) for reader in readers]
    report = Report(agents, [*new, configured, *services])
    if configured.did != "wrong":
        loaded = load(configured.path)
        report.steps += _prepare_home(folder, loaded)
        report.hosts = hosts(agents, loaded)
        report.notes += _notes(agents, loaded)
    return report


def _app(agents: Agents, wanted: str | None) -> str:
    names = [wanted] if wanted is not None else [agent.name for agent in agents.found if is_app_name(agent.name)]
    return names[0] if names else str(GaiaConfig.model_fields["app"].default)


def _prepare_home(folder: Path, loaded: LoadedConfig) -> list[Step]:
    """Make the home and an empty session database for its owner only: `adk` would let others read the file it makes.

    Where the home lies in the folder, version control is told to leave it alone: it holds what people said.
    """
    home = loaded.config.home
    steps = []
    if not home.exists():
        make_folder(home, mode=0o700)
        steps.append(Step(home, "made", "what is remembered is kept here"))
    if folder in home.parents and not (home / ".gitignore").exists():
        write(home / ".gitignore", "*\n", mode=0o600)
    sessions = home / "sessions.db"
    if loaded.config.sessions_url.endswith(f":///{sessions}"):
        make_empty(sessions, mode=0o600)
    return steps


def _notes(agents: Agents, loaded: LoadedConfig) -> list[str]:
    """Return what is worth knowing about this folder."""
    notes = []
    if not agents.found:
        notes.append("there is no agent in this folder yet: `gaia init --agent assistant` makes one")
    elif loaded.config.app not in [agent.name for agent in agents.found]:
        notes.append(f"commands look at the app {loaded.config.app!r}: pass `--app` to see {told(agents.found)}")
    if plain := agents.without_plugins:
        notes.append(f"`adk run` has no option for plugins: give an App to {told(plain)}")
    if in_yaml := [agent for agent in agents.found if agent.is_yaml]:
        notes.append(f"`adk run` gives no plugin to an agent in YAML: use `adk web` for {told(in_yaml)}")
    counting = [name for name in _COUNTING if os.environ.get(name, "").strip()]
    notes += [f"{name} is set here and counts: keep it as it is where you start `adk`" for name in counting]
    url = loaded.config.sessions_url
    if masked(url) != url:
        notes.append("the session database's URL holds a password and is not shown: set GAIA_SESSIONS__DATABASE_URL")
    return notes
