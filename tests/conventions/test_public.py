"""The public names of the package, and the cost of importing it."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import gaia_memory
from gaia_memory import errors
from support.checkout import PACKAGE, ROOT, SOURCE, python_files, relative_name, syntax_tree, violation_message

PUBLIC = [
    "AddResult",
    "ConfigError",
    "Fact",
    "GaiaConfig",
    "GaiaMemoryError",
    "Hit",
    "Mem0MemoryService",
    "MemoryPlugin",
    "MemoryToolset",
    "MemoryUnavailable",
    "NewFact",
    "Receipt",
    "Scope",
    "SessionWindowPlugin",
    "build_model",
    "memory_app",
    "open_memory",
    "restore",
]

HEAVY = ("google.adk", "google.genai", "mem0", "chromadb", "sqlalchemy", "pydantic", "typer", "rich")


def python(code: str) -> str:
    """Return the output of a fresh interpreter that imports the checkout's source first."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_public_names_are_pinned():
    """Every additional name is a promise and must be decided here."""
    assert list(gaia_memory.__all__) == PUBLIC


def test_every_public_name_can_be_imported():
    """They load lazily, so only using them reveals a wrong path."""
    missing = [name for name in PUBLIC if getattr(gaia_memory, name, None) is None]

    assert missing == []
    assert set(PUBLIC) <= set(dir(gaia_memory))


def test_importing_an_unknown_name_raises_the_usual_error():
    """An example is `from gaia_memory import nonsense`."""
    with pytest.raises(AttributeError, match="nonsense"):
        _ = gaia_memory.nonsense


@pytest.mark.acceptance("G10")
def test_importing_the_package_loads_nothing_heavy():
    """Importing a name for a type hint takes milliseconds."""
    loaded = python("import gaia_memory, sys; print(*sorted(sys.modules))").split()

    assert [name for name in HEAVY if name in loaded] == []


def drawn_tree() -> dict[str, str]:
    """Each class of the tree in the docstring of `errors`, with its parent."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)(?:\s{2,}|$)", line):
            depth = len(found["branch"]) // len("├── ")
            above[depth:] = [found["name"]]
            parents[found["name"]] = above[depth - 1] if depth else "Exception"
    return parents


def test_every_error_is_in_the_documented_tree_under_its_parent():
    """Callers use the tree to choose what to catch."""
    defined = {
        name: kind.__bases__[0].__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, BaseException)
    }

    assert drawn_tree() == defined


def test_every_exception_class_is_defined_in_errors():
    """Packages raise errors and define none, except the fakes, whose failures belong to the test."""
    known = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    strays = [
        f"{relative_name(file)}:{node.lineno} {node.name}"
        for file in python_files(PACKAGE)
        if file.name not in {"errors.py", "testing.py"}
        for node in ast.walk(syntax_tree(file))
        if isinstance(node, ast.ClassDef)
        for parent in [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        if parent in known or parent.endswith(("Error", "Exception"))
    ]

    assert not strays, violation_message(strays, "exceptions belong into errors.py:")


def test_the_wheel_contains_only_the_package_with_its_type_marker(tmp_path: Path):
    """Type checkers look for py.typed in the installed package."""
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(tmp_path)!r}))"
    wheel = tmp_path / python(code).split()[-1]
    names = zipfile.ZipFile(wheel).namelist()
    code_files = {f"gaia_memory/{file.relative_to(PACKAGE).as_posix()}" for file in PACKAGE.rglob("*.py")}

    assert "gaia_memory/py.typed" in names
    assert code_files <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"gaia_memory"}
