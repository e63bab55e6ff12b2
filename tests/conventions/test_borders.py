"""Which package may import which library, anywhere in a file: at the top, in a function or for types only."""

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
    "sqlite3": ("database/", "backend/mem0_store/chroma/probe.py", "backend/mem0_store/chroma/folders.py"),
}


@pytest.mark.parametrize("module", BORDERS)
def test_a_library_stays_behind_its_border(module):
    """Every module that names a library has to change with it."""
    allowed = BORDERS[module]
    crossings = [
        str(found)
        for file in python_files(PACKAGE)
        if not file.relative_to(PACKAGE).as_posix().startswith(allowed)
        for found in imports(file)
        if is_within(found.module, module)
    ]

    assert not crossings, violation_message(crossings, f"{module} may be imported in {', '.join(allowed)} only:")


def test_every_border_is_one_that_is_used():
    """A border without code behind it is a name that changed."""
    used = {found.module for file in python_files(PACKAGE) for found in imports(file)}
    unused = [module for module in BORDERS if not any(is_within(name, module) for name in used)]

    # The fakes are only for tests.
    assert unused == ["gaia_memory.testing"]


def test_spans_are_made_with_the_interface_alone():
    """The host chooses what collects spans and sends them; none of that is installed with the package."""
    found = [found for file in python_files(PACKAGE) for found in imports(file)]
    strays = [
        str(each) for each in found for part in ("sdk", "exporter") if is_within(each.module, f"opentelemetry.{part}")
    ]

    assert not strays, violation_message(strays, "opentelemetry-api only:")


def calls(name: str, *, but: tuple[str, ...]) -> list[str]:
    """Where the package calls a function by its dotted name, except in the modules `but`."""
    return [
        f"{relative_name(file)}:{node.lineno}"
        for file in python_files(PACKAGE)
        if file.relative_to(PACKAGE).as_posix() not in but
        for node in ast.walk(syntax_tree(file))
        if isinstance(node, ast.Call) and ast.unparse(node).startswith(f"{name}(")
    ]


def test_every_logger_makes_legible_what_it_is_given():
    """An id with a line break or an escape sequence could forge a log line."""
    # These silence the logs of other packages.
    others = ("backend/mem0_import.py", "cli/ui/terminal.py", "sessions/learning/sweep_scheduler.py")
    strays = calls("logging.getLogger", but=("log.py", *others))
    loud = [place for level in ("info", "warning", "error") for place in calls(f"logging.{level}", but=())]

    assert not strays + loud, violation_message(strays + loud, "log through gaia_memory.log.logger_for:")


def test_a_command_shows_text_through_one_door():
    """`say` and the functions next to it keep ids and facts from controlling a terminal."""
    strays = calls("typer.echo", but=("cli/ui/terminal.py", "cli/ui/fact_output.py"))
    strays = [place for place in strays if not is_blank_line(place)] + calls("print", but=())

    assert not strays, violation_message(strays, "show it with say, say_lines, note or complain:")


def is_blank_line(place: str) -> bool:
    """Say whether what is shown there is an empty line on standard error."""
    file, _, line = place.rpartition(":")
    return (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip() == "typer.echo(err=True)"


def canonical(name: str) -> str:
    """The name of a distribution as a package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named(lines: list[str]) -> set[str]:
    """The distributions that lines of pyproject.toml name."""
    return {canonical(re.split(r"[^\w.-]", line)[0]) for line in lines}


def test_what_is_imported_is_what_is_declared():
    """An undeclared library is installed by chance; an unused one burdens every installation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = named(project["dependencies"])
    extras = set().union(*(named(lines) for extra, lines in project["optional-dependencies"].items() if extra != "dev"))
    modules = {found.module.partition(".")[0] for file in python_files(PACKAGE) for found in imports(file)}
    outside = modules - {*sys.stdlib_module_names, "gaia_memory"}
    providers = {top: {canonical(name) for name in packages_distributions().get(top, [top])} for top in outside}
    undeclared = sorted(top for top, names in providers.items() if (declared | extras).isdisjoint(names))
    unused = sorted(declared.difference(*providers.values()))

    assert not undeclared, violation_message(undeclared, "imported, but not in the dependencies of pyproject.toml:")
    assert not unused, violation_message(unused, "in the dependencies of pyproject.toml, but not imported:")
