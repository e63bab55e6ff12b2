"""The command lines that start agents with their memory."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from gaia_memory.cli.setup.agent_folders import AgentFolder
from gaia_memory.cli.setup.services import SCHEME
from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.redaction.mask import mask_secrets

PLUGINS = ("gaia_memory.SessionWindowPlugin", "gaia_memory.MemoryPlugin")

AdkCommand = Literal["web", "api_server", "run"]
"""A command of ADK: it serves a folder of agents, or runs one at the terminal."""


def adk_arguments(command: AdkCommand, agents: AgentFolder, loaded: LoadedConfig) -> list[str]:
    """Return the arguments with which `adk` starts agents with a configuration from a file."""
    # One option per plugin: ADK would take a comma as part of the name. `adk run` has no such option.
    plugins = (
        []
        if agents.all_have_memory or command == "run"
        else [word for name in PLUGINS for word in ("--extra_plugins", name)]
    )
    return [command, *_service_options(loaded), *plugins, str(agents.folder)]


def command_lines(agents: AgentFolder, loaded: LoadedConfig, folder_name: str) -> dict[str, Any]:
    """Return what to type to start the agents of a folder, by the command it runs."""
    services = _service_options(loaded)
    servers: dict[str, AdkCommand] = {"adk web": "web", "adk api_server": "api_server"}
    return {
        "gaia web": _command_line("gaia", "web", folder_name),
        **{name: _command_line("adk", *adk_arguments(command, agents, loaded)) for name, command in servers.items()},
        "adk run": {agent.name: _command_line("adk", "run", *services, str(agent.folder)) for agent in agents.members},
        "gaia doctor": _command_line("gaia", "doctor", "--config", str(loaded.path)),
    }


def typed_name(folder: Path) -> str:
    """Return the shortest way to name a folder from the working directory."""
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


def _service_options(loaded: LoadedConfig) -> list[str]:
    # Absolute, because `adk web` and `adk run` change folders.
    memory_uri = f"{SCHEME}://?config={quote(str(loaded.path))}"
    return ["--memory_service_uri", memory_uri, "--session_service_uri", loaded.config.sessions_url]


def _command_line(*words: str) -> str:
    # Passwords are not shown; the variable has them.
    password_variable = '"$GAIA_SESSIONS__DATABASE_URL"'
    return " ".join(password_variable if mask_secrets(word) != word else shlex.quote(word) for word in words)
