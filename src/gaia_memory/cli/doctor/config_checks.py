"""The configuration, the environment and what is installed."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from gaia_memory.cli.doctor.checks import Finding, Patient, fail, ok, skipped, warn
from gaia_memory.config.sources.environment import variables
from gaia_memory.config.sources.load import load, locate
from gaia_memory.errors import ConfigError

PACKAGE = "gaia-memory"
SHOWN = ("google-adk", "mem0ai", "chromadb")
GEMINI_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""In the order in which Google's client takes them."""

_KEY_LINE = re.compile(rf"^\s*(?:export\s+)?({'|'.join(GEMINI_KEYS)})\s*=\s*\S", re.MULTILINE)


async def configuration(patient: Patient) -> list[Finding]:
    """Find and read the configuration; every later check goes by it."""
    part = "config"
    try:
        patient.loaded = await asyncio.to_thread(lambda: load(patient.named if patient.named is not None else locate()))
    except ConfigError as error:
        remedy = f"correct {error.source}; `gaia config check` looks at it alone"
        return [Finding(part, "fail", problem, remedy) for problem in error.problems]
    path = patient.loaded.path
    where = f"{path} is read" if path is not None else "no gaia.yaml: the defaults and the environment are in force"
    unknown = [Finding(part, "warn", line, "correct the key or take it out") for line in patient.loaded.warnings]
    return [*ok(part, where), *unknown]


async def environment(patient: Patient) -> list[Finding]:
    """Say which variables are in force, by name alone."""
    part = "environment"
    findings: list[Finding] = []
    in_force, unknown = variables(os.environ)
    if in_force:
        over = " over the file" if patient.loaded is not None and patient.loaded.path is not None else ""
        findings += ok(part, f"in force{over}: {', '.join(in_force)}")
    if unknown:
        remedy = "take them away, or see docs/reference/configuration.md for the names"
        findings += warn(part, f"no setting is called {', '.join(unknown)}", remedy)
    return [*findings, *_keys(part, os.environ, patient)]


def _keys(part: str, environ: Mapping[str, str], patient: Patient) -> list[Finding]:
    there = [name for name in GEMINI_KEYS if environ.get(name, "").strip()]
    if len(there) > 1 and len({environ[name] for name in there}) > 1:
        taken, ignored = there
        return warn(part, f"{taken} and {ignored} differ: {taken} is taken", f"unset {ignored}, or give both one value")
    if there:
        return ok(part, f"{there[0]} is set")
    if found := _in_dotenv(patient):
        says = f"no key for Gemini here; ADK finds one in {found}, which `gaia` does not read"
        return warn(part, says, "set the variable where you start `gaia`, too")
    return ok(part, f"no key for Gemini ({' or '.join(GEMINI_KEYS)})")


def _in_dotenv(patient: Patient) -> Path | None:
    """Return the file beside the configuration, or beside an agent there, from which ADK would take a key."""
    if patient.loaded is None or patient.loaded.path is None:
        return None
    folder = patient.loaded.path.parent
    return next((path for path in (folder / ".env", *sorted(folder.glob("*/.env"))) if _has_key(path)), None)


def _has_key(path: Path) -> bool:
    try:
        return _KEY_LINE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


async def versions(patient: Patient) -> list[Finding]:
    """Say which versions of the parts are installed, and whether they are those this one is made for."""
    part = "versions"
    try:
        wanted = [Requirement(line) for line in requires(PACKAGE) or ()]
    except PackageNotFoundError:
        return skipped(part, f"{PACKAGE} is not installed as a package, so nothing says what it needs")
    problems = list(_problems(each for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})))
    if problems:
        return fail(part, "; ".join(problems), f"pip install --upgrade {PACKAGE}")
    installed = ", ".join(f"{name} {version(name)}" for name in (PACKAGE, *SHOWN))
    return ok(part, installed)


def _problems(wanted: Iterable[Requirement]) -> Iterable[str]:
    for requirement in wanted:
        try:
            there = version(requirement.name)
        except PackageNotFoundError:
            yield f"{requirement.name} is not installed"
            continue
        if not requirement.specifier.contains(there, prereleases=True):
            yield f"{requirement.name} {there} is installed, and {requirement.specifier} is needed"
