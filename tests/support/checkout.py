"""The checkout as data: its Python files, their syntax trees, functions and imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "gaia_memory"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, anywhere in the file: at the top, in a function, or for type checking only."""

    file: str
    line: int
    module: str

    def __str__(self) -> str:
        """Name the place and the module."""
        return f"{self.file}:{self.line} imports {self.module}"


def python_files(folder: Path) -> list[Path]:
    """Every Python file below `folder`, sorted."""
    return sorted(file for file in folder.rglob("*.py") if "__pycache__" not in file.parts)


def relative_name(file: Path) -> str:
    """The path of the file in the checkout, for messages."""
    return file.relative_to(ROOT).as_posix()


@cache
def syntax_tree(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def functions(file: Path) -> Iterator[Function]:
    """Every function and method of a file, including nested ones."""
    for node in ast.walk(syntax_tree(file)):
        if isinstance(node, Function):
            yield node


def imports(file: Path) -> Iterator[Import]:
    """Every module that a file imports; `from a import b` counts as `a` and as `a.b`."""
    for node in ast.walk(syntax_tree(file)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and _called_name(node) in {"import_module", "__import__"}:
            modules = [
                arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
        else:
            continue
        for module in modules:
            yield Import(relative_name(file), node.lineno, module)


def is_within(module: str, package: str) -> bool:
    """Say whether `module` is `package` or inside it."""
    return module == package or module.startswith(package + ".")


def violation_message(violations: Iterable[object], rule: str) -> str:
    """The message of a failed convention: the rule, then one line for each place that breaks it."""
    return "\n  ".join([rule, *(str(place) for place in violations)])


def _called_name(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
