"""The configuration, the environment, the installed packages and the agents next to the configuration."""

from __future__ import annotations

import os
import shlex
from importlib.metadata import PackageNotFoundError, version

from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.cli.setup.agent_folders import find_agents
from gaia_memory.cli.setup.services import inspect_services
from gaia_memory.cli.ui.output_files import describe_os_error
from gaia_memory.config.api_keys import GEMINI_KEY_VARIABLES, missing_key_variable, uses_vertex, vertex_project
from gaia_memory.config.sources.environment import classify_variables
from gaia_memory.config.sources.load import load, locate
from gaia_memory.errors import ConfigError

PACKAGE_NAME = "gaia-memory"
REPORTED_PACKAGES = (PACKAGE_NAME, "google-adk", "mem0ai", "chromadb")


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


def check_environment(_: CheckContext) -> list[Finding]:
    """Report the variables in force, by name only."""
    findings: list[Finding] = []
    in_force, unknown = classify_variables(os.environ)
    if in_force:
        findings += ok(f"in force: {', '.join(in_force)}")
    if unknown:
        remedy = "remove them, or see docs/reference/configuration.md for the names"
        findings += warn(f"no setting is called {', '.join(unknown)}", remedy)
    if uses_vertex(os.environ):
        if missing := missing_key_variable("gemini", {}, os.environ):
            return findings + warn(f"Vertex AI is switched on without {missing}", f"set {missing}")
        return findings + ok(f"Gemini on Vertex AI: project {vertex_project(os.environ) or 'of the key'}")
    keys = [name for name in GEMINI_KEY_VARIABLES if os.environ.get(name, "").strip()]
    return findings + ok(f"{keys[0]} is used" if keys else f"not set: {' or '.join(GEMINI_KEY_VARIABLES)}")


def check_versions(_: CheckContext) -> list[Finding]:
    """Report the installed versions; `pip check` compares them with the requirements."""
    try:
        return ok(", ".join(f"{name} {version(name)}" for name in REPORTED_PACKAGES))
    except PackageNotFoundError as error:
        return fail(f"{error.name} is not installed as a package", f"pip install --upgrade {PACKAGE_NAME}")


def check_agents(context: CheckContext) -> list[Finding]:
    """Check every `services.yaml` that `adk web` or `adk run` would read."""
    path = context.loaded.path if context.loaded is not None else None
    if path is None:
        return skip("without a gaia.yaml there is no folder to search")
    folder = path.parent
    try:
        agents = find_agents(folder).members
        found = [inspect_services(each) for each in dict.fromkeys([folder, *(agent.folder for agent in agents)])]
    except OSError as error:
        return fail(describe_os_error(error), "make it readable for this user")
    if not agents and found[0].verdict == "missing":
        return skip(f"there are none next to {path.name}")
    init = shlex.join(["gaia", "init", str(folder)])
    findings: list[Finding] = []
    for each in found:
        if each.verdict == "wrong":
            findings += fail(f"{each.path}: {each.message}", "correct it")
        elif each.verdict != "right":
            findings += warn(f"{each.path} is missing", f"run `{init}`")
    names = ", ".join(agent.name for agent in agents) or "every agent"
    return findings or ok(f"ADK reads the service for mem0:// from {found[0].path.name} for {names}")
