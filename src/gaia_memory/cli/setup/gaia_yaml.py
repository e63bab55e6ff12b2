"""The short `gaia.yaml` that `gaia init` writes: the keys people change, each with what it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gaia_memory.cli.ui.output_files import FileStep, back_up, write_file
from gaia_memory.config.describe import iter_settings
from gaia_memory.config.key_path import KeyPath
from gaia_memory.config.render import comment_lines, default_value, yaml_scalar
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import FILE_NAME, load
from gaia_memory.errors import ConfigError

HOME_FOLDER = ".gaia"
SESSIONS_URL = "sqlite:///sessions.db"

_HEADER = """\
What gaia-memory is told, for every agent of this folder. These are the keys that people change; all there are, with
what may stand there: `gaia config schema`. Is the file right, and what is in force: `gaia config check`,
`gaia config show`. Keys and passwords never stand here: they come from the environment (GEMINI_API_KEY, ...)."""

_KEYS: tuple[tuple[str, ...], ...] = (
    ("app",),
    ("home",),
    ("memory", "llm"),
    ("memory", "embedder"),
    ("memory", "recall_limit"),
    ("sessions", "database_url"),
    ("sessions", "clear"),
    ("sessions", "idle_consolidate_minutes"),
    ("sessions", "window_turns"),
)
_NOTES: Mapping[KeyPath, str] = {
    ("app",): "Commands look at this one unless `--app` names another; each agent is an app of its own.",
    ("sessions", "database_url"): "A relative path is taken from the home. Start `adk` with the same database.",
    ("sessions", "clear"): "Here `rewind`, so that a browser that has a session open does not lose it.",
}


def render_gaia_yaml(app: str) -> str:
    """Return the file for a folder whose first agent is `app`."""
    chosen: Mapping[KeyPath, Any] = {
        ("app",): app,
        ("home",): HOME_FOLDER,
        ("sessions", "database_url"): SESSIONS_URL,
        ("sessions", "clear"): "rewind",
    }
    fields = dict(iter_settings(GaiaConfig))
    lines = comment_lines(_HEADER, "")
    section = ""
    for path in _KEYS:
        indent = "  " * (len(path) - 1)
        if len(path) > 1 and path[0] != section:
            section = path[0]
            lines += ["", f"{section}:"]
        else:
            lines.append("")
        lines += comment_lines(f"{fields[path].description} {_NOTES.get(path, '')}", indent)
        lines.append(f"{indent}{path[-1]}: {yaml_scalar(chosen.get(path, default_value(fields[path])))}")
    return "\n".join(lines) + "\n"


def require_valid(folder: Path, app: str) -> None:
    """Look whether the file would be right in a folder.

    Raises:
        ConfigError: it would not.
    """
    data: dict[str, Any] = {**yaml.safe_load(render_gaia_yaml(app)), "home": str(folder / HOME_FOLDER)}
    if os.environ.get("GAIA_HOME", "").strip():
        # The environment wins over a file.
        del data["home"]
    load(data)


def write_gaia_yaml(folder: Path, app: str, *, force: bool) -> FileStep:
    """Write the file, or say whether the one that is there is right; `force` replaces it and keeps the old one.

    Raises:
        InvalidInputError: it cannot be written.
    """
    path = folder / FILE_NAME
    if not path.exists():
        write_file(path, render_gaia_yaml(app))
        return FileStep(path, "made")
    if force:
        copy = back_up(path)
        write_file(path, render_gaia_yaml(app))
        return FileStep(path, "replaced", f"what it was is in {copy.name}")
    try:
        loaded = load(path)
    except ConfigError as error:
        return FileStep(path, "wrong", f"{'; '.join(error.problems)}: correct it, or pass --force")
    if loaded.warnings:
        return FileStep(path, "kept", "; ".join(loaded.warnings))
    return FileStep(path, "kept", "it is right")
