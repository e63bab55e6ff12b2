"""The agents of a folder, found as ADK finds them, without importing one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_AGENT_NAME = re.compile(r"[a-zA-Z0-9_]+")
_AGENT_DECLARATION = re.compile(
    r"^\s*(?:from\s.*\bimport\b.*\b(?:agent|app|root_agent)\b|(?:app|root_agent)\s*[:=])", re.MULTILINE
)
_MEMORY_PLUGIN = re.compile(r"\bMemoryPlugin\b")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's folder. `has_memory`: its code names our plugin, so that no option of `adk` has to."""

    folder: Path
    has_memory: bool
    is_yaml: bool = False

    @property
    def name(self) -> str:
        """The name ADK knows it by."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """A folder as `adk web` takes it: one of agents or, where `is_single_agent`, an agent itself."""

    folder: Path
    is_single_agent: bool
    members: tuple[Agent, ...]

    @property
    def all_have_memory(self) -> bool:
        """Say whether there are agents, and each brings our plugin along."""
        return bool(self.members) and all(agent.has_memory for agent in self.members)

    @property
    def without_plugins(self) -> list[Agent]:
        """The agents whose program has yet to name our plugins, for `adk run`."""
        return [agent for agent in self.members if not agent.has_memory and not agent.is_yaml]


def is_agent_folder(folder: Path) -> bool:
    """Say whether ADK takes a folder for an agent rather than for a folder of agents."""
    return (folder / "agent.py").is_file() or (folder / "root_agent.yaml").is_file()


def find_agents(folder: Path) -> AgentFolder:
    """Return the agents of a folder, by name."""
    if is_agent_folder(folder):
        return AgentFolder(folder, True, (_read_agent(folder),))
    subfolders = sorted(path for path in folder.iterdir() if path.is_dir() and _AGENT_NAME.fullmatch(path.name))
    found = (path for path in subfolders if path.name != "__pycache__" and _looks_like_agent(path))
    return AgentFolder(folder, False, tuple(_read_agent(path) for path in found))


def _looks_like_agent(folder: Path) -> bool:
    # A package without an agent, such as one of tests, would get a file it has no use for.
    return is_agent_folder(folder) or _AGENT_DECLARATION.search(_read_text(folder / "__init__.py")) is not None


def _read_agent(folder: Path) -> Agent:
    programs = [folder / "agent.py", folder / "__init__.py"]
    has_memory = any(_MEMORY_PLUGIN.search(_read_text(path)) for path in programs)
    return Agent(folder, has_memory, is_yaml=not programs[0].is_file() and (folder / "root_agent.yaml").is_file())


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
