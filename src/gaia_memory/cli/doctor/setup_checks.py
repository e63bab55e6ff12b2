"""The configuration, the environment, the installed packages and the agents next to the configuration."""

from __future__ import annotations

import os
import re
import shlex
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.cli.setup.agent_folders import find_agents
from gaia_memory.cli.setup.services import ServicesInspection, inspect_services
from gaia_memory.cli.ui.output_files import describe_os_error
from gaia_memory.config.api_keys import (
    DEFAULT_VERTEX_LOCATION,
    GEMINI_KEY_VARIABLES,
    VERTEX_LOCATION_VARIABLE,
    VERTEX_PROJECT_VARIABLE,
    can_reach_gemini,
    gemini_api_key,
    uses_vertex,
    vertex_project,
)
from gaia_memory.config.sources.environment import classify_variables
from gaia_memory.config.sources.load import load, locate
from gaia_memory.errors import ConfigError

PACKAGE_NAME = "gaia-memory"
REPORTED_PACKAGES = ("google-adk", "mem0ai", "chromadb")
_KEY_LINE = re.compile(rf"^[ \t]*(?:export[ \t]+)?({'|'.join(GEMINI_KEY_VARIABLES)})[ \t]*=[ \t]*\S", re.MULTILINE)
_GEMINI_MODEL = re.compile(r"""^[^#\n]*\bmodel\s*=\s*["'](?P<model>gemini-[\w.-]+)["']""", re.MULTILINE)


def check_config(context: CheckContext) -> list[Finding]:
    """Find and read the configuration, which every later check uses."""
    try:
        context.loaded = load(context.config_path if context.config_path is not None else locate())
    except ConfigError as error:
        remedy = f"correct {error.source}; `gaia config check` checks it alone"
        return [Finding("fail", problem, remedy) for problem in error.problems]
    path = context.loaded.path
    message = f"{path} is read" if path is not None else "no gaia.yaml: the defaults and the environment are in force"
    return ok(message) + [Finding("warn", line, "correct the key or remove it") for line in context.loaded.warnings]


def check_environment(context: CheckContext) -> list[Finding]:
    """Report the variables in force, by name only."""
    findings: list[Finding] = []
    in_force, unknown = classify_variables(os.environ)
    if in_force:
        over = " over the file" if context.loaded is not None and context.loaded.path is not None else ""
        findings += ok(f"in force{over}: {', '.join(in_force)}")
    if unknown:
        remedy = "remove them, or see docs/reference/configuration.md for the names"
        findings += warn(f"no setting is called {', '.join(unknown)}", remedy)
    return [*findings, *(_check_vertex() if uses_vertex(os.environ) else _check_gemini_keys(context))]


def _check_vertex() -> list[Finding]:
    project = vertex_project(os.environ)
    if project:
        location = os.environ.get(VERTEX_LOCATION_VARIABLE, "").strip()
        default = "" if location else f", as {VERTEX_LOCATION_VARIABLE} is not set"
        return ok(f"Gemini on Vertex AI: project {project}, location {location or DEFAULT_VERTEX_LOCATION}{default}")
    if gemini_api_key(os.environ):
        return ok("Gemini on Vertex AI, with a key (express mode)")
    message = f"Vertex AI is switched on without {VERTEX_PROJECT_VARIABLE}: `auto` chooses the offline model"
    return warn(message, f"set {VERTEX_PROJECT_VARIABLE} and {VERTEX_LOCATION_VARIABLE}")


def _check_gemini_keys(context: CheckContext) -> list[Finding]:
    keys = {name: os.environ[name] for name in GEMINI_KEY_VARIABLES if os.environ.get(name, "").strip()}
    if len(set(keys.values())) > 1:
        used, ignored = keys
        return warn(f"{used} and {ignored} differ: {used} is used", f"unset {ignored}, or give both the same value")
    if keys:
        return ok(f"{next(iter(keys))} is set")
    if context.loaded is not None and context.loaded.path is not None:
        folder = context.loaded.path.parent
        for path in (folder / ".env", *sorted(folder.glob("*/.env"))):
            if _has_key(path):
                message = f"no key for Gemini here; ADK finds one in {path}, which `gaia` does not read"
                return warn(message, "set the variable for `gaia`, too")
    return ok(f"no key for Gemini ({' or '.join(GEMINI_KEY_VARIABLES)})")


def _has_key(path: Path) -> bool:
    try:
        return _KEY_LINE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def check_versions(_: CheckContext) -> list[Finding]:
    """Report the installed versions and those that do not meet the requirements."""
    try:
        requirements = [Requirement(line) for line in requires(PACKAGE_NAME) or ()]
    except PackageNotFoundError:
        return skip(f"{PACKAGE_NAME} is not installed as a package, so its requirements are unknown")
    needed = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    if problems := [problem for each in needed if (problem := _version_problem(each))]:
        return fail("; ".join(problems), f"pip install --upgrade {PACKAGE_NAME}")
    return ok(", ".join(f"{name} {version(name)}" for name in (PACKAGE_NAME, *REPORTED_PACKAGES)))


def _version_problem(requirement: Requirement) -> str:
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if requirement.specifier.contains(installed, prereleases=True):
        return ""
    return f"{requirement.name} {installed} is installed, but {requirement.specifier} is required"


def check_agents(context: CheckContext) -> list[Finding]:
    """Check every `services.yaml` that `adk web` or `adk run` would read."""
    path = context.loaded.path if context.loaded is not None else None
    if path is None:
        return skip("without a gaia.yaml there is no folder to search")
    folder = path.parent
    agents = find_agents(folder)
    try:
        folders = dict.fromkeys([folder, *(agent.folder for agent in agents.members)])
        inspections = [inspect_services(each) for each in folders]
    except OSError as error:
        return fail(describe_os_error(error), "make it readable for this user")
    if not agents.members and inspections[0].verdict == "missing":
        return skip(f"there are none next to {path.name}")
    init = shlex.join(["gaia", "init", str(folder)])
    findings = [finding for each in inspections for finding in _services_findings(each, init)]
    findings += [finding for agent in agents.members for finding in _check_key_of(agent.folder, agent.name)]
    names = ", ".join(agent.name for agent in agents.members) or "every agent"
    return findings or ok(f"ADK reads the service for mem0:// from {inspections[0].path.name} for {names}")


def _check_key_of(folder: Path, name: str) -> list[Finding]:
    """Return a warning if an agent's file names a Gemini model that nothing gives a key for."""
    try:
        found = _GEMINI_MODEL.search((folder / "agent.py").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    if found is None or can_reach_gemini(os.environ) or _has_key(folder / ".env") or _has_key(folder.parent / ".env"):
        return []
    message = f"the agent {name} names {found['model']}, and there is no key for Gemini: it cannot answer"
    return warn(message, f"set {GEMINI_KEY_VARIABLES[0]}")


def _services_findings(inspection: ServicesInspection, init: str) -> list[Finding]:
    if inspection.verdict == "wrong":
        return fail(f"{inspection.path}: {inspection.message}", f"correct it, or run `{init} --force`")
    if inspection.verdict == "right":
        return []
    problem = "is missing" if inspection.verdict == "missing" else "does not name the service"
    return warn(f"{inspection.path} {problem}, so `adk` refuses mem0:// as an unsupported URI", f"run `{init}`")
