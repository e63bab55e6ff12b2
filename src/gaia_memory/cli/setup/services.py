"""`services.yaml`, which tells ADK's commands how to resolve `mem0://` URIs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from gaia_memory.cli.ui.output_files import FileStep, write_file

FILE_NAMES = ("services.yaml", "services.yml")
"""The files that ADK reads, in this order; it reads both if both exist, and the last entry of a scheme wins."""

SCHEME = "mem0"
SERVICE_CLASS = "gaia_memory.Mem0MemoryService"
OWN_ENTRY = {"scheme": SCHEME, "type": "memory", "class": SERVICE_CLASS}

_OWN_FILE = f"""\
# Tells ADK how to resolve `--memory_service_uri mem0://…`. `adk web` and `adk api_server` read this file in the folder
# that they serve, `adk run` in the folder of the agent.
services:
  - scheme: {SCHEME}
    type: memory
    class: {SERVICE_CLASS}
"""


@dataclass(frozen=True, slots=True)
class ServicesInspection:
    """How ADK would read the files of a folder; `path` is the file to write or to correct."""

    path: Path
    verdict: Literal["missing", "right", "wrong"]
    message: str = ""


def inspect_services(folder: Path) -> ServicesInspection:
    """Return whether the files of a folder register our URI with ADK."""
    paths = [folder / name for name in FILE_NAMES if (folder / name).exists()]
    if not paths:
        return ServicesInspection(folder / FILE_NAMES[0], "missing")
    classes: list[str] = []
    for path in paths:
        try:
            entries = (yaml.safe_load(path.read_bytes()) or {}).get("services") or []
            classes += [each["class"] for each in entries if (each["scheme"], each["type"]) == (SCHEME, "memory")]
        except (yaml.YAMLError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
            return ServicesInspection(path, "wrong", "it is no list of services in YAML, so ADK reads none of it")
    if set(classes) != {SERVICE_CLASS}:
        return ServicesInspection(paths[-1], "wrong", f"its `services` need one entry for the scheme: {OWN_ENTRY}")
    return ServicesInspection(paths[-1], "right")


def write_services(folder: Path) -> FileStep:
    """Write the file of a folder, or check an existing one."""
    found = inspect_services(folder)
    if found.verdict == "missing":
        write_file(found.path, _OWN_FILE)
        return FileStep(found.path, "made")
    return FileStep(found.path, "kept" if found.verdict == "right" else "wrong", found.message)
