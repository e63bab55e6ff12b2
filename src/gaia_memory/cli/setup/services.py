"""`services.yaml`: how ADK's commands learn what a URI `mem0://…` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from gaia_memory.cli.ui.output_files import Step, set_aside, unusable, write

FILE_NAMES = ("services.yaml", "services.yml")
"""What ADK reads, in this order, and both where both are there."""

SCHEME = "mem0"
CLASS = "gaia_memory.Mem0MemoryService"
OURS = {"scheme": SCHEME, "type": "memory", "class": CLASS}
_CLASSES = (CLASS, "gaia_memory.adk.memory_service.Mem0MemoryService")

_HEAD = """\
# Tells ADK what `--memory_service_uri mem0://…` means. `adk web` and `adk api_server` look for this file in the folder
# they are given, `adk run` in the folder of the agent.
"""
_KEY = "services:\n"

Verdict = Literal["missing", "right", "lacking", "wrong"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What ADK would make of the files of a folder; `path` is the one to be written."""

    path: Path
    verdict: Verdict
    says: str = ""


def judge(folder: Path) -> Judged:
    """Say whether ADK learns our URI from a folder.

    "lacking": a file is there and sound, and names other services alone. "wrong": what is there keeps ADK from
    learning it.

    Raises:
        InvalidInputError: a file is there and cannot be read.
    """
    there = [folder / name for name in FILE_NAMES if (folder / name).exists()]
    if not there:
        return Judged(folder / FILE_NAMES[0], "missing")
    judged = [_judge_file(path) for path in there]
    # A file that is no good keeps ADK from reading on, and the last entry of a scheme counts.
    decisive = [found for found in judged if found.verdict == "wrong"] or [
        found for found in reversed(judged) if found.verdict == "right"
    ]
    return (decisive or judged)[0]


def write_services(folder: Path, *, force: bool) -> Step:
    """Let ADK learn our URI from a folder, and keep what else its file holds.

    With `force` what is wrong is written anew, and the old file is kept beside it.

    Raises:
        InvalidInputError: a file cannot be read or written.
    """
    judged = judge(folder)
    path = judged.path
    if judged.verdict == "missing":
        write(path, _HEAD + _KEY + _entry("  "))
        return Step(path, "made")
    if judged.verdict == "right":
        return Step(path, "kept", "it is right")
    text = _read(path)
    if judged.verdict == "lacking":
        extended = _extended(text)
        if extended is not None:
            write(path, extended)
            return Step(path, "added", "beside the services it names already")
        remedy = f"add to the list `services`, or pass --force: {_flow()}"
        says = "it is written in a way that nothing is added to by itself"
    else:
        remedy, says = "correct it, or pass --force", judged.says
    if not force:
        return Step(path, "wrong", f"{says}: {remedy}")
    copy = set_aside(path)
    write(path, _HEAD + yaml.safe_dump({"services": [OURS, *_others(text)]}, sort_keys=False))
    return Step(path, "replaced", f"what it was is in {copy.name}")


def _entry(indent: str) -> str:
    head, *rest = [f"{key}: {value}" for key, value in OURS.items()]
    return f"{indent}- {head}\n" + "".join(f"{indent}  {line}\n" for line in rest)


def _flow() -> str:
    return yaml.safe_dump(OURS, sort_keys=False, default_flow_style=True).strip()


def _judge_file(path: Path) -> Judged:
    try:
        data = yaml.safe_load(_read(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark is not None else ""
        return Judged(path, "wrong", f"it is no YAML{place}, and ADK reads none of it")
    if data is not None and not isinstance(data, dict):
        return Judged(path, "wrong", "it holds no key `services`, and ADK reads none of it")
    services = (data or {}).get("services")
    if not isinstance(services or [], list) or not all(isinstance(each, dict) for each in services or []):
        return Judged(path, "wrong", "`services` is no list of services, and ADK reads none of it")
    return _judge_entries(path, services or [])


def _judge_entries(path: Path, services: Sequence[dict[str, Any]]) -> Judged:
    ours = [each for each in services if each.get("scheme") == SCHEME and each.get("type") == "memory"]
    if ours and ours[-1].get("class") not in _CLASSES:
        named = ours[-1].get("class")
        return Judged(path, "wrong", f"it gives the scheme {SCHEME} to the class {named!r}, not to {CLASS}")
    return Judged(path, "right" if ours else "lacking")


def _extended(text: str) -> str | None:
    """Return the text with our entry as the first of the list; None where that is not plainly possible.

    The first, because ADK stops reading at a service whose class it cannot import.
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
        is_ours = yaml.safe_load(new)["services"] == [OURS, *before]
    except (yaml.YAMLError, KeyError, TypeError):
        return None
    return new if is_ours else None


def _others(text: str) -> list[Any]:
    """Return the services of a text that are sound and not ours."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    services = data.get("services") if isinstance(data, dict) else None
    sound = [each for each in services or [] if isinstance(each, dict) and set(OURS) <= each.keys()]
    return [each for each in sound if (each["scheme"], each["type"]) != (SCHEME, "memory")]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, OSError) else OSError(0, "it is no UTF-8")
        raise unusable(path, reason) from error
