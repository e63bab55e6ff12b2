"""Finds the agents of a folder by ADK's rules, without importing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_AGENT_NAME = re.compile(r"[a-zA-Z0-9_]+")
_AGENT_DECLARATION = re.compile(
    r"^[ \t]*(?:from\s.*\bimport\b.*\b(?:agent|app|root_agent)\b|(?:app|root_agent)\s*[:=])", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's folder. `has_memory`: its code names MemoryPlugin, so `adk` needs no option for it."""

    folder: Path
    has_memory: bool

    @property
    def name(self) -> str:
        """The agent's name in ADK."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """A folder for `adk web`: a folder of agents, or an agent itself."""

    folder: Path
    members: tuple[Agent, ...]

    @property
    def all_have_memory(self) -> bool:
        """Whether there are agents and each names MemoryPlugin."""
        return bool(self.members) and all(agent.has_memory for agent in self.members)


def is_agent_folder(folder: Path) -> bool:
    """Return whether ADK treats a folder as an agent, not as a folder of agents."""
    return (folder / "agent.py").is_file() or (folder / "root_agent.yaml").is_file()


def find_agents(folder: Path) -> AgentFolder:
    """Return the agents of a folder, sorted by name."""
    if is_agent_folder(folder):
        return AgentFolder(folder, (_read_agent(folder),))
    subfolders = sorted(path for path in folder.iterdir() if path.is_dir() and _AGENT_NAME.fullmatch(path.name))
    found = (path for path in subfolders if path.name != "__pycache__" and _looks_like_agent(path))
    return AgentFolder(folder, tuple(_read_agent(path) for path in found))


def _looks_like_agent(folder: Path) -> bool:
    # Other packages, such as tests, need no services.yaml.
    return is_agent_folder(folder) or _AGENT_DECLARATION.search(_read_text(folder / "__init__.py")) is not None


def _read_agent(folder: Path) -> Agent:
    return Agent(folder, any("MemoryPlugin" in _read_text(folder / name) for name in ("agent.py", "__init__.py")))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
