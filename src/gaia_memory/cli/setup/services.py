"""`services.yaml`, which tells ADK's commands how to resolve `mem0://` URIs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from gaia_memory.cli.ui.output_files import FileStep, back_up, write_file

FILE_NAMES = ("services.yaml", "services.yml")
"""The files that ADK reads, in this order; it reads both if both exist."""

SCHEME = "mem0"
SERVICE_CLASS = "gaia_memory.Mem0MemoryService"
OWN_ENTRY = {"scheme": SCHEME, "type": "memory", "class": SERVICE_CLASS}
_ACCEPTED_CLASSES = (SERVICE_CLASS, "gaia_memory.adk.memory_service.Mem0MemoryService")

_HEADER = """\
# Tells ADK how to resolve `--memory_service_uri mem0://…`. `adk web` and `adk api_server` read this file in the folder
# that they serve, `adk run` in the folder of the agent.
"""
_OWN_FILE = f"services:\n  - scheme: {SCHEME}\n    type: memory\n    class: {SERVICE_CLASS}\n"

Verdict = Literal["missing", "right", "lacking", "wrong"]


@dataclass(frozen=True, slots=True)
class ServicesInspection:
    """How ADK would read the files of a folder; `path` is the file to write."""

    path: Path
    verdict: Verdict
    message: str = ""


def inspect_services(folder: Path) -> ServicesInspection:
    """Return whether the files of a folder register our URI with ADK.

    "lacking": a valid file registers only other services. "wrong": a file keeps ADK from registering ours.
    """
    existing = [folder / name for name in FILE_NAMES if (folder / name).exists()]
    if not existing:
        return ServicesInspection(folder / FILE_NAMES[0], "missing")
    inspections = [_inspect_file(path) for path in existing]
    # ADK stops at an invalid file, and the last entry of a scheme wins.
    decisive = [found for found in inspections if found.verdict == "wrong"] or [
        found for found in reversed(inspections) if found.verdict == "right"
    ]
    return (decisive or inspections)[0]


def write_services(folder: Path, *, force: bool) -> FileStep:
    """Register our URI in the file of a folder and keep its other entries.

    `force` replaces an invalid file and keeps a backup, which has its other entries.
    """
    inspection = inspect_services(folder)
    path, problem = inspection.path, inspection.message
    if inspection.verdict == "right":
        return FileStep(path, "kept", "it is valid")
    if inspection.verdict == "missing":
        write_file(path, _HEADER + _OWN_FILE)
        return FileStep(path, "made")
    if inspection.verdict == "lacking":
        with suppress(ValueError, yaml.YAMLError):
            write_file(path, _with_own_entry(path.read_text(encoding="utf-8")))
            return FileStep(path, "added", f"{SCHEME}:// is its first entry now")
        problem = f"it cannot be edited safely; add {OWN_ENTRY} by hand"
    if not force:
        return FileStep(path, "wrong", f"{problem}: correct it, or pass --force")
    copy = back_up(path)
    write_file(path, _HEADER + _OWN_FILE)
    return FileStep(path, "replaced", f"the previous file is {copy.name}")


def _inspect_file(path: Path) -> ServicesInspection:
    try:
        data = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        position = f" in line {mark.line + 1}" if mark is not None else ""
        return ServicesInspection(path, "wrong", f"it is not valid YAML{position}, so ADK reads none of it")
    if data is not None and not isinstance(data, dict):
        return ServicesInspection(path, "wrong", "it has no key `services`, so ADK reads none of it")
    services = (data or {}).get("services") or []
    if not isinstance(services, list) or not all(isinstance(each, dict) for each in services):
        return ServicesInspection(path, "wrong", "`services` is not a list of services, so ADK reads none of it")
    classes = [each.get("class") for each in services if each.get("scheme") == SCHEME and each.get("type") == "memory"]
    if classes and classes[-1] not in _ACCEPTED_CLASSES:
        message = f"it gives the scheme {SCHEME} to the class {classes[-1]!r}, not to {SERVICE_CLASS}"
        return ServicesInspection(path, "wrong", message)
    return ServicesInspection(path, "right" if classes else "lacking")


def _with_own_entry(text: str) -> str:
    """Return a valid file with our entry first, because ADK stops at a service whose class it cannot import.

    Every other byte stays.

    Raises:
        ValueError: the entry cannot be put in without another change.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    services = next((value for key, value in root.value if key.value == "services"), None) if root else None
    if services is None:
        written = f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{_OWN_FILE}"
    else:
        # In front of the first entry, or in place of an empty list.
        mark, is_block = services.start_mark, bool(services.value) and not services.flow_style
        start, end = mark.index, mark.index if is_block else services.end_mark.index
        entry = yaml.safe_dump(OWN_ENTRY, default_flow_style=True, sort_keys=False).strip()
        written = text[:start] + (f"- {entry}\n{' ' * mark.column}" if is_block else f" [{entry}]") + text[end:]
    before, after = yaml.safe_load(text) or {}, yaml.safe_load(written)
    if after != {**before, "services": [OWN_ENTRY, *(before.get("services") or [])]}:
        raise ValueError
    return written
