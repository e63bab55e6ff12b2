"""The commands that run the agents of a folder with memory, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gaia_memory.cli.setup.agent_folders import Agent, Agents
from gaia_memory.cli.setup.services import SCHEME
from gaia_memory.config.secrets import masked
from gaia_memory.config.sources.load import LoadedConfig

PLUGINS = ("gaia_memory.SessionWindowPlugin", "gaia_memory.MemoryPlugin")

_APP = """\
from google.adk.apps import App
from gaia_memory import MemoryPlugin, SessionWindowPlugin

app = App(name="{name}", root_agent=root_agent, plugins=[SessionWindowPlugin(), MemoryPlugin()])
"""


@dataclass(frozen=True, slots=True)
class Hosts:
    """How to start a folder's agents with one configuration."""

    agents: Agents
    config: Path
    sessions_url: str

    @property
    def web(self) -> str:
        """`adk web`, for a browser."""
        return self._serve("web")

    @property
    def api_server(self) -> str:
        """`adk api_server`, for programs."""
        return self._serve("api_server")

    def run(self, agent: Agent) -> str:
        """`adk run`, at the terminal."""
        return _shell("adk", "run", *self._services(), str(agent.folder))

    @property
    def doctor(self) -> str:
        """What looks after it all."""
        return _shell("gaia", "doctor", "--config", str(self.config))

    def _serve(self, command: str) -> str:
        # ADK takes one plugin an option: a comma is part of the name.
        named = [] if self.agents.remember else [word for name in PLUGINS for word in ("--extra_plugins", name)]
        return _shell("adk", command, *self._services(), *named, str(self.agents.folder))

    def _services(self) -> list[str]:
        return ["--memory_service_uri", memory_uri(self.config), "--session_service_uri", self.sessions_url]


def hosts(agents: Agents, loaded: LoadedConfig) -> Hosts:
    """Return how to start `agents` with a configuration that was read from a file."""
    assert loaded.path is not None
    return Hosts(agents, loaded.path, loaded.config.sessions_url)


def memory_uri(config: Path) -> str:
    """Return what names a configuration to ADK; absolute, because `adk web` and `adk run` look from other folders."""
    return f"{SCHEME}://?config={quote(str(config))}"


def program(agent: Agent) -> str:
    """Return what an agent's program needs for `adk run`, which takes plugins from an App alone."""
    return _APP.format(name=agent.name)


def _shell(*words: str) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    # A password is not shown; the environment, where it belongs, has it at hand.
    return '"$GAIA_SESSIONS__DATABASE_URL"' if masked(word) != word else shlex.quote(word)


def told(agents: Sequence[Agent]) -> str:
    """Return the names of agents as a sentence lists them."""
    return ", ".join(agent.name for agent in agents)
