"""What an agent's own folder needs where it runs alone, as in the image that `adk deploy` makes of it."""

from __future__ import annotations

import re
from pathlib import Path

from gaia_memory.cli.setup.agent_folders import AgentFolder
from gaia_memory.cli.ui.output_files import FileStep, write_file
from gaia_memory.config.sources.load import FILE_NAME, LoadedConfig

CONFIG_LINES = """\
ABOVE = Path(__file__).parents[1] / "gaia.yaml"
# An image of `adk deploy` has this folder alone, with the copy that `gaia init` renews.
CONFIG = ABOVE if ABOVE.is_file() else Path(__file__).with_name("gaia.yaml")
"""
"""How an agent's code finds its configuration."""

_COPY_MARK = "# A copy of the gaia.yaml in the folder above"
_COPY_HEADER = f"""\
{_COPY_MARK}, which counts where it exists; this file, where its folder runs alone,
# as in an image of `adk deploy`. Change the other one: `gaia init` renews this copy.

"""
_OWN_REQUIREMENT = re.compile(r"^[^#\n]*gaia[-_.]memory", re.IGNORECASE | re.MULTILINE)
_IGNORE_FILE = ".ae_ignore"
"""The names that `adk deploy` leaves out of the image, one a line."""


def folder_config(folder: Path) -> Path:
    """Return the configuration of a folder; of a folder with a copy, the one that counts."""
    own, above = folder / FILE_NAME, folder.parent / FILE_NAME
    return above if above.is_file() and _is_copy(own) else own


def stale_copies(agents: AgentFolder, config: Path) -> list[Path]:
    """Return the copies that differ from the configuration."""
    current = _copy_of(config)
    copies = (agent.folder / FILE_NAME for agent in agents.members if agent.folder.parent == config.parent)
    return [copy for copy in copies if _is_copy(copy) and _read(copy) != current]


def write_own_files(agents: AgentFolder, loaded: LoadedConfig) -> list[FileStep]:
    """Write the requirements of each agent in Python and its copy of the configuration.

    An agent that holds the configuration itself needs no copy, but its image must not get the home.
    """
    steps: list[FileStep] = []
    for folder in (agent.folder for agent in agents.members if not agent.is_yaml):
        steps.append(_add_line(folder / "requirements.txt", "gaia-memory", _OWN_REQUIREMENT))
        if loaded.path is not None and folder.parent == loaded.path.parent:
            steps.append(_write_copy(folder / FILE_NAME, _copy_of(loaded.path)))
        elif folder in loaded.config.home.parents:
            name = loaded.config.home.relative_to(folder).parts[0]
            steps.append(_add_line(folder / _IGNORE_FILE, name, re.compile(rf"^/?{re.escape(name)}/?$", re.MULTILINE)))
    return steps


def _write_copy(path: Path, text: str) -> FileStep:
    if not path.exists():
        write_file(path, text)
        return FileStep(path, "made")
    if _read(path) == text:
        return FileStep(path, "kept", "it is valid")
    if not _is_copy(path):
        return FileStep(path, "kept", f"it is no copy of ../{FILE_NAME}: `adk deploy` takes it as it is")
    write_file(path, text)
    return FileStep(path, "replaced", f"it is a copy of ../{FILE_NAME} again")


def _add_line(path: Path, line: str, present: re.Pattern[str]) -> FileStep:
    try:
        text = _read(path)
    except UnicodeDecodeError:
        return FileStep(path, "wrong", f"it is not UTF-8: save it as UTF-8, with the line {line}")
    if present.search(text):
        return FileStep(path, "kept", "it is valid")
    write_file(path, f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n")
    return FileStep(path, "added" if text else "made", f"it names {line} now" if text else "")


def _copy_of(config: Path) -> str:
    return _COPY_HEADER + _read(config)


def _is_copy(path: Path) -> bool:
    return _read(path, errors="replace").startswith(_COPY_MARK)


def _read(path: Path, *, errors: str = "strict") -> str:
    return path.read_text(encoding="utf-8-sig", errors=errors) if path.is_file() else ""
