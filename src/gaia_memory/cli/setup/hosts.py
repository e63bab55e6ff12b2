"""The shell commands that run the agents of a folder with memory."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gaia_memory.cli.setup.agent_folders import Agent, AgentFolder
from gaia_memory.cli.setup.services import SCHEME
from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.redaction.mask import mask_secrets

PLUGINS = ("gaia_memory.SessionWindowPlugin", "gaia_memory.MemoryPlugin")

_APP_SNIPPET = """\
from google.adk.apps import App
from gaia_memory import MemoryPlugin, SessionWindowPlugin

app = App(name="{name}", root_agent=root_agent, plugins=[SessionWindowPlugin(), MemoryPlugin()])
"""


@dataclass(frozen=True, slots=True)
class RunCommands:
    """The commands that start a folder's agents with one configuration."""

    agents: AgentFolder
    config: Path
    sessions_url: str

    @property
    def web(self) -> str:
        """`adk web`, for the browser."""
        return self._serve("web")

    @property
    def api_server(self) -> str:
        """`adk api_server`, for programs."""
        return self._serve("api_server")

    def run(self, agent: Agent) -> str:
        """`adk run`, for the terminal."""
        return _shell_command("adk", "run", *self._services(), str(agent.folder))

    @property
    def doctor(self) -> str:
        """`gaia doctor` for this configuration."""
        return _shell_command("gaia", "doctor", "--config", str(self.config))

    def _serve(self, command: str) -> str:
        # One option per plugin: ADK would take a comma as part of the name.
        plugin_options = (
            [] if self.agents.all_have_memory else [word for name in PLUGINS for word in ("--extra_plugins", name)]
        )
        return _shell_command("adk", command, *self._services(), *plugin_options, str(self.agents.folder))

    def _services(self) -> list[str]:
        return ["--memory_service_uri", memory_uri(self.config), "--session_service_uri", self.sessions_url]


def run_commands(agents: AgentFolder, loaded: LoadedConfig) -> RunCommands:
    """Return the commands that start `agents` with a configuration from a file."""
    assert loaded.path is not None
    return RunCommands(agents, loaded.path, loaded.config.sessions_url)


def memory_uri(config: Path) -> str:
    """Return the memory service URI of a configuration; absolute, because `adk web` and `adk run` change folders."""
    return f"{SCHEME}://?config={quote(str(config))}"


def app_snippet(agent: Agent) -> str:
    """Return the code that an agent needs for `adk run`, which reads plugins only from an App."""
    return _APP_SNIPPET.format(name=agent.name)


def _shell_command(*words: str) -> str:
    return " ".join(_quote_word(word) for word in words)


def _quote_word(word: str) -> str:
    # Passwords are not shown; the variable has them.
    return '"$GAIA_SESSIONS__DATABASE_URL"' if mask_secrets(word) != word else shlex.quote(word)


def join_names(agents: Sequence[Agent]) -> str:
    """Return the names of agents, separated by commas."""
    return ", ".join(agent.name for agent in agents)
