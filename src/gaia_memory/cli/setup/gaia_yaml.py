"""The short `gaia.yaml` that `gaia init` writes: the most common settings with descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gaia_memory.cli.ui.output_files import FileStep, back_up, write_file
from gaia_memory.config.describe import iter_settings
from gaia_memory.config.key_path import KeyPath
from gaia_memory.config.render import comment_lines, default_value, yaml_scalar
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import FILE_NAME, load
from gaia_memory.errors import ConfigError

_HEADER = """\
The configuration of gaia-memory for all agents of this folder, with the most common settings. `gaia config schema`
prints all settings, `gaia config check` checks this file, and `gaia config show` shows the values in force. Keys and
passwords belong in the environment (GEMINI_API_KEY, ...), never in this file."""

_KEYS: tuple[tuple[str, ...], ...] = (
    ("app",),
    ("home",),
    ("memory", "llm"),
    ("memory", "embedder"),
    ("memory", "recall_limit"),
    ("sessions", "database_url"),
    ("sessions", "idle_consolidate_minutes"),
    ("sessions", "window_turns"),
)
_CHOSEN: Mapping[KeyPath, str] = {
    ("home",): ".gaia",
    ("sessions", "database_url"): "sqlite:///sessions.db",
}
_NOTES: Mapping[KeyPath, str] = {
    ("app",): "Commands use this app unless `--app` names another. Each agent is its own app.",
    ("sessions", "database_url"): "Start `adk` with the same database.",
}


def render_gaia_yaml(app: str) -> str:
    """Return the file for a folder whose first agent is `app`."""
    chosen = {("app",): app, **_CHOSEN}
    fields = dict(iter_settings(GaiaConfig))
    lines = comment_lines(_HEADER, "")
    section = ""
    for path in _KEYS:
        indent = "  " * (len(path) - 1)
        lines.append("")
        if len(path) > 1 and path[0] != section:
            section = path[0]
            lines.append(f"{section}:")
        lines += comment_lines(f"{fields[path].description} {_NOTES.get(path, '')}", indent)
        lines.append(f"{indent}{path[-1]}: {yaml_scalar(chosen.get(path, default_value(fields[path])))}")
    return "\n".join(lines) + "\n"


def write_gaia_yaml(folder: Path, app: str, *, force: bool) -> FileStep:
    """Write the file, or check an existing one; `force` replaces it and keeps a backup."""
    path = folder / FILE_NAME
    if not path.exists():
        write_file(path, render_gaia_yaml(app))
        return FileStep(path, "made")
    if force:
        copy = back_up(path)
        write_file(path, render_gaia_yaml(app))
        return FileStep(path, "replaced", f"the previous file is {copy.name}")
    try:
        warnings = load(path).warnings
    except ConfigError as error:
        return FileStep(path, "wrong", f"{'; '.join(error.problems)}: correct it, or pass --force")
    return FileStep(path, "kept", "; ".join(warnings) or "it is valid")
