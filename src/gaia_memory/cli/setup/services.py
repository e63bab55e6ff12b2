"""`services.yaml`, which tells ADK's commands how to resolve `mem0://` URIs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from gaia_memory.cli.ui.output_files import FileStep, back_up, unusable_path_error, write_file

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
_KEY = "services:\n"

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

    Raises:
        InvalidInputError: a file cannot be read.
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

    `force` replaces an invalid file and keeps a backup.

    Raises:
        InvalidInputError: a file cannot be read or written.
    """
    inspection = inspect_services(folder)
    path = inspection.path
    if inspection.verdict == "missing":
        write_file(path, _HEADER + _KEY + _entry("  "))
        return FileStep(path, "made")
    if inspection.verdict == "right":
        return FileStep(path, "kept", "it is right")
    text = _read_text(path)
    if inspection.verdict == "lacking":
        extended = _with_own_entry(text)
        if extended is not None:
            write_file(path, extended)
            return FileStep(path, "added", "next to the services that it already lists")
        remedy = f"add to the list `services`, or pass --force: {_inline_entry()}"
        message = "its layout does not allow adding an entry automatically"
    else:
        remedy, message = "correct it, or pass --force", inspection.message
    if not force:
        return FileStep(path, "wrong", f"{message}: {remedy}")
    copy = back_up(path)
    write_file(path, _HEADER + yaml.safe_dump({"services": [OWN_ENTRY, *_other_services(text)]}, sort_keys=False))
    return FileStep(path, "replaced", f"what it was is in {copy.name}")


def _entry(indent: str) -> str:
    head, *rest = [f"{key}: {value}" for key, value in OWN_ENTRY.items()]
    return f"{indent}- {head}\n" + "".join(f"{indent}  {line}\n" for line in rest)


def _inline_entry() -> str:
    return yaml.safe_dump(OWN_ENTRY, sort_keys=False, default_flow_style=True).strip()


def _inspect_file(path: Path) -> ServicesInspection:
    try:
        data = yaml.safe_load(_read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f" in line {mark.line + 1}" if mark is not None else ""
        return ServicesInspection(path, "wrong", f"it is no YAML{position}, and ADK reads none of it")
    if data is not None and not isinstance(data, dict):
        return ServicesInspection(path, "wrong", "it holds no key `services`, and ADK reads none of it")
    services = (data or {}).get("services")
    if not isinstance(services or [], list) or not all(isinstance(each, dict) for each in services or []):
        return ServicesInspection(path, "wrong", "`services` is no list of services, and ADK reads none of it")
    return _inspect_entries(path, services or [])


def _inspect_entries(path: Path, services: Sequence[dict[str, Any]]) -> ServicesInspection:
    own_entries = [each for each in services if each.get("scheme") == SCHEME and each.get("type") == "memory"]
    if own_entries and own_entries[-1].get("class") not in _ACCEPTED_CLASSES:
        class_name = own_entries[-1].get("class")
        return ServicesInspection(
            path, "wrong", f"it gives the scheme {SCHEME} to the class {class_name!r}, not to {SERVICE_CLASS}"
        )
    return ServicesInspection(path, "right" if own_entries else "lacking")


def _with_own_entry(text: str) -> str | None:
    """Return the text with our entry first in the list; None if the YAML does not permit a simple insertion.

    First, because ADK stops at a service whose class it cannot import.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    before: list[Any] = []
    if root is None:
        new = text + ("" if text.endswith("\n") or not text else "\n") + _KEY + _entry("  ")
    elif not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    else:
        listed = next((value for key, value in root.value if key.value == "services"), None)
        if not isinstance(listed, yaml.SequenceNode) or listed.flow_style or not listed.value:
            return None
        before = yaml.safe_load(text)["services"]
        mark = listed.start_mark
        start = text[: mark.index].rfind("\n") + 1
        new = text[:start] + _entry(" " * mark.column) + text[start:]
    try:
        is_valid = yaml.safe_load(new)["services"] == [OWN_ENTRY, *before]
    except (yaml.YAMLError, KeyError, TypeError):
        return None
    return new if is_valid else None


def _other_services(text: str) -> list[Any]:
    """Return the valid services of a text, without ours."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    services = data.get("services") if isinstance(data, dict) else None
    sound = [each for each in services or [] if isinstance(each, dict) and set(OWN_ENTRY) <= each.keys()]
    return [each for each in sound if (each["scheme"], each["type"]) != (SCHEME, "memory")]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, OSError) else OSError(0, "it is no UTF-8")
        raise unusable_path_error(path, reason) from error
