"""Everything `gaia init` does to a folder, in order."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from gaia_memory.cli.doctor.home_checks import may
from gaia_memory.cli.setup.agent_folders import Agents, find_agents
from gaia_memory.cli.setup.gaia_yaml import require_right, write_gaia_yaml
from gaia_memory.cli.setup.hosts import Hosts, hosts, told
from gaia_memory.cli.setup.new_agent import write_agent
from gaia_memory.cli.setup.services import judge, write_services
from gaia_memory.cli.ui.output_files import Step, make_empty, make_folder, unusable, write
from gaia_memory.config.schema import GaiaConfig, is_app_name
from gaia_memory.config.secrets import masked
from gaia_memory.config.sources.load import FILE_NAME, LoadedConfig, load

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


def prepare(folder: Path, agent: str | None, steps: list[Step], *, force: bool) -> Report:
    """Write what is missing into a folder of agents; with `agent`, one of that name too.

    What is done is added to `steps` as it is done.

    Raises:
        InvalidInputError: something cannot be written; mostly this is found before anything is.
        ConfigError: the configuration would be wrong, or a setting in the environment is.
    """
    _require_writable(folder, agent, force=force)
    make_folder(folder)
    steps += write_agent(folder, agent) if agent is not None else []
    agents = find_agents(folder)
    configured = write_gaia_yaml(folder, _app(agents, agent), force=force)
    steps.append(configured)
    for reader in dict.fromkeys([folder, *(found.folder for found in agents.found)]):
        steps.append(write_services(reader, force=force))
    report = Report(agents, steps)
    if configured.did != "wrong":
        loaded = load(configured.path)
        report.steps += _prepare_home(folder, loaded)
        report.hosts = hosts(agents, loaded)
        report.notes += _notes(agents, loaded)
    return report


def _require_writable(folder: Path, agent: str | None, *, force: bool) -> None:
    """Refuse before the first file is written what would end after some.

    Raises:
        InvalidInputError: a folder or file is not to be written or read.
        ConfigError: the configuration would be wrong.
    """
    agents = find_agents(folder) if folder.exists() else Agents(folder, False, ())
    path = folder / FILE_NAME
    places = [] if path.exists() and not force else [folder]
    if force or not path.exists():
        require_right(folder, _app(agents, agent))
    if path.exists() and not path.is_file():
        raise unusable(path, IsADirectoryError(errno.EISDIR, "it is a folder"))
    if agent is not None and not (folder / agent / "agent.py").exists():
        places.append(folder / agent)
    for reader in dict.fromkeys([folder, *(found.folder for found in agents.found)]):
        verdict = judge(reader).verdict if reader.exists() else "missing"
        if verdict in ("missing", "lacking") or (force and verdict == "wrong"):
            places.append(reader)
    for place in places:
        there = next(above for above in (place, *place.parents) if above.exists())
        # Of a file in the way, making the folder tells.
        if there.is_dir() and not may(there, os.W_OK | os.X_OK):
            raise unusable(there, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


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
    above = next((at / FILE_NAME for at in agents.folder.parents if (at / FILE_NAME).is_file()), None)
    if above is not None:
        notes.append(f"{above} is there, too: an agent that goes by it has another memory than the commands below")
    counting = [name for name in _COUNTING if os.environ.get(name, "").strip()]
    notes += [f"{name} is set here and counts: keep it as it is where you start `adk`" for name in counting]
    url = loaded.config.sessions_url
    if masked(url) != url:
        notes.append("the session database's URL holds a password and is not shown: set GAIA_SESSIONS__DATABASE_URL")
    return notes
