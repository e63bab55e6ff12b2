"""The configuration, the environment and the installed packages."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.config.sources.environment import classify_variables
from gaia_memory.config.sources.load import load, locate
from gaia_memory.errors import ConfigError

PACKAGE_NAME = "gaia-memory"
REPORTED_PACKAGES = ("google-adk", "mem0ai", "chromadb")
GEMINI_KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""In the order of precedence of Google's client."""

_KEY_LINE = re.compile(rf"^\s*(?:export\s+)?({'|'.join(GEMINI_KEY_VARIABLES)})\s*=\s*\S", re.MULTILINE)


async def check_config(context: CheckContext) -> list[Finding]:
    """Find and read the configuration, which every later check uses."""
    part = "config"
    try:
        context.loaded = await asyncio.to_thread(
            lambda: load(context.config_path if context.config_path is not None else locate())
        )
    except ConfigError as error:
        remedy = f"correct {error.source}; `gaia config check` checks it alone"
        return [Finding(part, "fail", problem, remedy) for problem in error.problems]
    path = context.loaded.path
    message = f"{path} is read" if path is not None else "no gaia.yaml: the defaults and the environment are in force"
    unknown = [Finding(part, "warn", line, "correct the key or remove it") for line in context.loaded.warnings]
    return [*ok(part, message), *unknown]


async def check_environment(context: CheckContext) -> list[Finding]:
    """Report the variables in force, by name only."""
    part = "environment"
    findings: list[Finding] = []
    in_force, unknown = classify_variables(os.environ)
    if in_force:
        over = " over the file" if context.loaded is not None and context.loaded.path is not None else ""
        findings += ok(part, f"in force{over}: {', '.join(in_force)}")
    if unknown:
        remedy = "remove them, or see docs/reference/configuration.md for the names"
        findings += warn(part, f"no setting is called {', '.join(unknown)}", remedy)
    return [*findings, *_check_keys(part, os.environ, context)]


def _check_keys(part: str, environ: Mapping[str, str], context: CheckContext) -> list[Finding]:
    set_variables = [name for name in GEMINI_KEY_VARIABLES if environ.get(name, "").strip()]
    if len(set_variables) > 1 and len({environ[name] for name in set_variables}) > 1:
        used, ignored = set_variables
        return warn(
            part, f"{used} and {ignored} differ: {used} is used", f"unset {ignored}, or give both the same value"
        )
    if set_variables:
        return ok(part, f"{set_variables[0]} is set")
    if found := _find_dotenv(context):
        message = f"no key for Gemini here; ADK finds one in {found}, which `gaia` does not read"
        return warn(part, message, "set the variable for `gaia`, too")
    return ok(part, f"no key for Gemini ({' or '.join(GEMINI_KEY_VARIABLES)})")


def _find_dotenv(context: CheckContext) -> Path | None:
    """Return the `.env` of the configuration or of an agent from which ADK would read a key."""
    if context.loaded is None or context.loaded.path is None:
        return None
    folder = context.loaded.path.parent
    return next((path for path in (folder / ".env", *sorted(folder.glob("*/.env"))) if _has_key(path)), None)


def _has_key(path: Path) -> bool:
    try:
        return _KEY_LINE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


async def check_versions(context: CheckContext) -> list[Finding]:
    """Report the installed versions and those that do not meet the requirements."""
    part = "versions"
    try:
        requirements = [Requirement(line) for line in requires(PACKAGE_NAME) or ()]
    except PackageNotFoundError:
        return skip(part, f"{PACKAGE_NAME} is not installed as a package, so its requirements are unknown")
    problems = list(
        _version_problems(each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""}))
    )
    if problems:
        return fail(part, "; ".join(problems), f"pip install --upgrade {PACKAGE_NAME}")
    installed = ", ".join(f"{name} {version(name)}" for name in (PACKAGE_NAME, *REPORTED_PACKAGES))
    return ok(part, installed)


def _version_problems(requirements: Iterable[Requirement]) -> Iterable[str]:
    for requirement in requirements:
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield f"{requirement.name} is not installed"
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            yield f"{requirement.name} {installed} is installed, but {requirement.specifier} is required"
