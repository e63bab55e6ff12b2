"""Which room may import what from outside, wherever in the file it does: at the top, in a function, for types only."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from support.checkout import PACKAGE, ROOT, imports, python_files, told, within

BORDERS = {
    "mem0": ("backend/",),
    "chromadb": ("backend/",),
    "google.adk": ("adk/", "cli/", "testing.py"),
    "google.genai": ("adk/", "backend/", "cli/", "testing.py"),
    "openai": ("adk/", "backend/"),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "prompt_toolkit": ("cli/",),
    "gaia_memory.testing": ("testing.py",),
    # Its calls block: the driver's own thread, and a process that probes a damaged store, may make them.
    "sqlite3": ("database/", "backend/follow/probe.py"),
}


@pytest.mark.parametrize("module", BORDERS)
def test_a_library_stays_behind_its_border(module):
    """What knows a library by name has to change with it."""
    allowed = BORDERS[module]
    crossings = [
        str(found)
        for file in python_files(PACKAGE)
        if not file.relative_to(PACKAGE).as_posix().startswith(allowed)
        for found in imports(file)
        if within(found.module, module)
    ]

    assert not crossings, told(crossings, f"{module} may be imported in {', '.join(allowed)} only:")


def test_every_border_is_one_that_is_used():
    """A border around nothing is a name that changed."""
    used = {found.module for file in python_files(PACKAGE) for found in imports(file)}
    unused = [module for module in BORDERS if not any(within(name, module) for name in used)]

    # The fakes are for tests alone.
    assert unused == ["gaia_memory.testing"]


def canonical(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_what_is_imported_is_what_is_declared():
    """An undeclared library is there by luck, an unused one costs every installation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {canonical(re.split(r"[^\w.-]", line)[0]) for line in project["dependencies"]}
    modules = {found.module.partition(".")[0] for file in python_files(PACKAGE) for found in imports(file)}
    outside = modules - {*sys.stdlib_module_names, "gaia_memory"}
    providers = {top: {canonical(name) for name in packages_distributions().get(top, [top])} for top in outside}
    undeclared = sorted(top for top, names in providers.items() if declared.isdisjoint(names))
    unused = sorted(declared.difference(*providers.values()))

    assert not undeclared, told(undeclared, "imported, but not in the dependencies of pyproject.toml:")
    assert not unused, told(unused, "in the dependencies of pyproject.toml, but not imported:")
