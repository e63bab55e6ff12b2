"""The checks of the acceptance contract and the tests that name them.

`python -m support.acceptance`, run in tests/, prints for each id the number of tests that name it, and the ids that no
test names.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from support.checkout import TESTS, Function, functions, python_files, relative_name, syntax_tree

CONTRACT = TESTS / "conventions" / "acceptance.txt"

# In a name: `test_S03_…` and `test_the_window_S03`; small letters only directly after `test_`.
_ID_PATTERN = re.compile(r"(?:(?<=_)|(?<=^test_))([SLIRPQCGTW]\d{2})(?=_|$)")
_LEADING_IDS_PATTERN = re.compile(r"^test_((?:[slirpqcgw]\d{2}_)+)")


def contract_checks() -> dict[str, str]:
    """Each id of the contract with its subject."""
    lines = CONTRACT.read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def checks_named_by_tests(folder: Path = TESTS) -> dict[str, list[str]]:
    """Each id that a test names, known or not, with the places that name it."""
    return _collect(folder, lambda _: True)


def checks_of_the_normal_tier(folder: Path = TESTS) -> dict[str, list[str]]:
    """Each id named by a test that runs without `-m slow` or `-m real` in at least one of its cases."""
    return _collect(folder, runs_in_the_normal_tier)


def runs_in_the_normal_tier(test: Function | ast.Module) -> bool:
    """Say whether a test runs by default, by its own marks and by those of at least one of its cases."""
    if isinstance(test, ast.Module):
        marks = [node.value for node in test.body if isinstance(node, ast.Assign) and _assigns_marks(node)]
    else:
        marks = test.decorator_list
    return not any(_leaves_out(mark) for mark in marks)


def _assigns_marks(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _leaves_out(mark: ast.expr) -> bool:
    if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize"):
        cases = mark.args[1] if len(mark.args) > 1 else None
        return (
            isinstance(cases, ast.List | ast.Tuple)
            and bool(cases.elts)
            and all(isinstance(case, ast.Call) and _names_another_tier(case) for case in cases.elts)
        )
    return _names_another_tier(mark)


def _names_another_tier(mark: ast.expr) -> bool:
    return re.search(r"\b(slow|real)\b", ast.unparse(mark)) is not None


def _collect(folder: Path, is_wanted: Callable[[Function | ast.Module], bool]) -> dict[str, list[str]]:
    locations: dict[str, list[str]] = defaultdict(list)
    for file in python_files(folder):
        if not is_wanted(syntax_tree(file)):
            continue
        for name in _marked_ids([node.value for node in syntax_tree(file).body if isinstance(node, ast.Assign)]):
            locations[name].append(relative_name(file))
        for function in functions(file):
            if is_wanted(function):
                for name in {*check_ids(function.name), *_marked_ids(function.decorator_list)}:
                    locations[name].append(f"{relative_name(file)}:{function.lineno}")
    return dict(locations)


def _marked_ids(marks: Iterable[ast.expr]) -> set[str]:
    return {
        str(argument.value)
        for mark in marks
        for node in ast.walk(mark)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acceptance"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


def check_ids(name: str) -> set[str]:
    """The ids in the name of a test."""
    if not name.startswith("test_"):
        return set()
    first = _LEADING_IDS_PATTERN.match(name)
    small = first[1].upper().strip("_").split("_") if first else []
    return {*_ID_PATTERN.findall(name), *small}


def report() -> str:
    """The coverage of the contract, one line per id."""
    ids, locations = contract_checks(), checks_named_by_tests()
    lines = [f"{name}  {len(locations.get(name, []))}  {about}" for name, about in ids.items()]
    missing = [name for name in ids if name not in locations]
    covered_count = len(ids) - len(missing)
    return "\n".join(
        [*lines, "", f"{covered_count} of {len(ids)} are named by a test; missing: {', '.join(missing) or 'none'}"]
    )


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
