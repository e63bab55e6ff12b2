"""Which package may import which library, at any place: at the top, in a function or for types only."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from support.checkout import (
    PACKAGE,
    ROOT,
    imports,
    is_within,
    python_files,
    relative_name,
    syntax_tree,
    violation_message,
)

BORDERS = {
    "mem0": ("backend/",),
    "chromadb": ("backend/",),
    "google.adk": ("adk/", "cli/", "testing.py"),
    "google.genai": ("adk/", "backend/", "cli/", "testing.py"),
    "openai": ("adk/", "backend/"),
    "opentelemetry": ("telemetry/",),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "prompt_toolkit": ("cli/",),
    "gaia_memory.testing": ("testing.py",),
    # Its calls block: only the driver's thread, the process that probes a damaged store and the thread that checks
    # whether a store may be replaced may make them.
    "sqlite3": ("database/",),
}


@pytest.mark.parametrize("module", BORDERS)
def test_a_library_is_imported_only_within_its_border(module):
    """Every module that imports a library has to change with it."""
    allowed = BORDERS[module]
    crossings = [
        str(found)
        for file in python_files(PACKAGE)
        if not file.relative_to(PACKAGE).as_posix().startswith(allowed)
        for found in imports(file)
        if is_within(found.module, module)
    ]

    assert not crossings, violation_message(crossings, f"{module} may be imported in {', '.join(allowed)} only:")


def test_every_border_is_in_use():
    """A border without matching imports is outdated."""
    used = {found.module for file in python_files(PACKAGE) for found in imports(file)}
    unused = [module for module in BORDERS if not any(is_within(name, module) for name in used)]

    # The fakes are only for tests.
    assert unused == ["gaia_memory.testing"]


def test_tracing_imports_only_the_opentelemetry_api():
    """The host chooses the SDK and the exporters, and the package does not install them."""
    found = [found for file in python_files(PACKAGE) for found in imports(file)]
    strays = [
        str(each) for each in found for part in ("sdk", "exporter") if is_within(each.module, f"opentelemetry.{part}")
    ]

    assert not strays, violation_message(strays, "opentelemetry-api only:")


def calls(name: str, *, but: tuple[str, ...]) -> list[str]:
    """The places where the package calls a function by its dotted name, except in the modules `but`."""
    return [
        f"{relative_name(file)}:{node.lineno}"
        for file in python_files(PACKAGE)
        if file.relative_to(PACKAGE).as_posix() not in but
        for node in ast.walk(syntax_tree(file))
        if isinstance(node, ast.Call) and ast.unparse(node).startswith(f"{name}(")
    ]


def test_every_logger_escapes_its_arguments():
    """An id with a line break or an escape sequence could forge a log line."""
    # These silence the logs of other packages.
    others = ("backend/mem0_import.py", "cli/ui/terminal.py", "learning/sweep_scheduler.py")
    strays = calls("logging.getLogger", but=("log.py", *others))
    loud = [place for level in ("info", "warning", "error") for place in calls(f"logging.{level}", but=())]

    assert not strays + loud, violation_message(strays + loud, "log through gaia_memory.log.logger_for:")


def test_commands_print_only_through_the_terminal_module():
    """`say` and its neighbours keep ids and facts from controlling the terminal."""
    strays = calls("typer.echo", but=("cli/ui/terminal.py", "cli/ui/fact_output.py"))
    strays = [place for place in strays if not is_blank_line(place)] + calls("print", but=())

    assert not strays, violation_message(strays, "show it with say, say_lines, note or complain:")


def is_blank_line(place: str) -> bool:
    """Say whether the call prints an empty line to standard error."""
    file, _, line = place.rpartition(":")
    return (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip() == "typer.echo(err=True)"


def canonical(name: str) -> str:
    """Return the normalised name of a distribution, as a package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named(lines: list[str]) -> set[str]:
    """Return the names of the distributions in dependency lines of pyproject.toml."""
    return {canonical(re.split(r"[^\w.-]", line)[0]) for line in lines}


def test_imported_and_declared_dependencies_are_the_same():
    """An undeclared library is installed by accident; an unused one burdens every installation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = named(project["dependencies"])
    extras = set().union(*(named(lines) for extra, lines in project["optional-dependencies"].items() if extra != "dev"))
    modules = {found.module.partition(".")[0] for file in python_files(PACKAGE) for found in imports(file)}
    outside = modules - {*sys.stdlib_module_names, "gaia_memory"}
    installed = packages_distributions()
    providers = {top: {canonical(name) for name in installed.get(top, [top])} for top in outside}
    undeclared = sorted(top for top, names in providers.items() if (declared | extras).isdisjoint(names))
    unused = sorted(declared.difference(*providers.values()))

    assert not undeclared, violation_message(undeclared, "imported, but not in the dependencies of pyproject.toml:")
    assert not unused, violation_message(unused, "in the dependencies of pyproject.toml, but not imported:")
