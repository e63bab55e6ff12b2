"""The agents of a folder, found as ADK finds them, without importing one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_LOADABLE = re.compile(r"[a-zA-Z0-9_]+")
_DECLARES = re.compile(
    r"^\s*(?:from\s.*\bimport\b.*\b(?:agent|app|root_agent)\b|(?:app|root_agent)\s*[:=])", re.MULTILINE
)
_HAS_MEMORY = re.compile(r"\bMemoryPlugin\b")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's folder. `remembers`: its code names our plugin, so that no option of `adk` has to."""

    folder: Path
    remembers: bool
    is_yaml: bool = False

    @property
    def name(self) -> str:
        """The name ADK knows it by."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class Agents:
    """A folder as `adk web` takes it: one of agents or, where `is_one`, an agent itself."""

    folder: Path
    is_one: bool
    found: tuple[Agent, ...]

    @property
    def remember(self) -> bool:
        """Say whether there are agents, and each brings our plugin along."""
        return bool(self.found) and all(agent.remembers for agent in self.found)

    @property
    def without_plugins(self) -> list[Agent]:
        """The agents whose program has yet to name our plugins, for `adk run`."""
        return [agent for agent in self.found if not agent.remembers and not agent.is_yaml]


def is_one_agent(folder: Path) -> bool:
    """Say whether ADK takes a folder for an agent rather than for a folder of agents."""
    return (folder / "agent.py").is_file() or (folder / "root_agent.yaml").is_file()


def find_agents(folder: Path) -> Agents:
    """Return the agents of a folder, by name."""
    if is_one_agent(folder):
        return Agents(folder, True, (_agent(folder),))
    below = sorted(path for path in folder.iterdir() if path.is_dir() and _LOADABLE.fullmatch(path.name))
    found = (path for path in below if path.name != "__pycache__" and _looks_like_one(path))
    return Agents(folder, False, tuple(_agent(path) for path in found))


def _looks_like_one(folder: Path) -> bool:
    # A package without an agent, such as one of tests, would get a file it has no use for.
    return is_one_agent(folder) or _DECLARES.search(_text(folder / "__init__.py")) is not None


def _agent(folder: Path) -> Agent:
    programs = [folder / "agent.py", folder / "__init__.py"]
    remembers = any(_HAS_MEMORY.search(_text(path)) for path in programs)
    return Agent(folder, remembers, is_yaml=not programs[0].is_file() and (folder / "root_agent.yaml").is_file())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
