"""`services.yaml`, which tells ADK's commands how to resolve `mem0://` URIs."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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

    `force` replaces an invalid file and keeps a backup.
    """
    inspection = inspect_services(folder)
    path = inspection.path
    if inspection.verdict == "right":
        return FileStep(path, "kept", "it is valid")
    if inspection.verdict == "missing":
        write_file(path, _HEADER + _with_own_entry(""))
        return FileStep(path, "made")
    if inspection.verdict == "lacking":
        write_file(path, _with_own_entry(path.read_text(encoding="utf-8")))
        return FileStep(path, "added", f"{SCHEME}:// is its first entry now")
    if not force:
        return FileStep(path, "wrong", f"{inspection.message}: correct it, or pass --force")
    others = _other_services(path)
    copy = back_up(path)
    write_file(path, _HEADER + yaml.safe_dump({"services": [OWN_ENTRY, *others]}, sort_keys=False))
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
    return ServicesInspection(path, "right") if classes else _inspect_keys(path)


def _inspect_keys(path: Path) -> ServicesInspection:
    """Refuse a file that repeats a key: it cannot be edited without a loss."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError

    try:
        YAML().load(path)
    except DuplicateKeyError as error:
        return ServicesInspection(path, "wrong", f"it has a duplicate key in line {error.problem_mark.line + 1}")
    return ServicesInspection(path, "lacking")


def _with_own_entry(text: str) -> str:
    """Return a valid file with our entry first, because ADK stops at a service whose class it cannot import."""
    from ruamel.yaml import YAML
    from ruamel.yaml.util import load_yaml_guess_indent

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = sys.maxsize
    document, indent, offset = load_yaml_guess_indent(text, yaml=editor)
    if offset is not None:
        editor.indent(sequence=indent, offset=offset)
    if document is None:
        # Nothing but comments, which ruamel.yaml drops.
        return text + ("" if text.endswith("\n") or not text else "\n") + _OWN_FILE
    document["services"] = document.get("services") or []
    document["services"].insert(0, OWN_ENTRY)
    written = io.StringIO()
    editor.dump(document, written)
    return written.getvalue()


def _other_services(path: Path) -> list[Any]:
    """Return the valid services of a file, without ours."""
    try:
        data = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, UnicodeDecodeError):
        return []
    services = data.get("services") if isinstance(data, dict) else None
    listed = services if isinstance(services, list) else []
    valid = [each for each in listed if isinstance(each, dict) and set(OWN_ENTRY) <= each.keys()]
    return [each for each in valid if (each["scheme"], each["type"]) != (SCHEME, "memory")]
