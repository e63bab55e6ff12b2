"""Which checks of the acceptance contract the tests name.

`python -m support.acceptance`, run in tests/, prints for each id the tests that name it, and the ids that none names.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

from support.checkout import TESTS, functions, python_files, relative_name, syntax_tree

CONTRACT = TESTS / "conventions" / "acceptance.txt"

# In a name: `test_S03_…` and `test_the_window_S03`; small letters only right after `test_`.
_ID_PATTERN = re.compile(r"(?:(?<=_)|(?<=^test_))([SLIRPQCG]\d{2})(?=_|$)")
_LEADING_IDS_PATTERN = re.compile(r"^test_((?:[slirpqcg]\d{2}_)+)")


def contract_checks() -> dict[str, str]:
    """Each id of the contract with what it is about."""
    lines = CONTRACT.read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def checks_named_by_tests(folder: Path = TESTS) -> dict[str, list[str]]:
    """Each id that a test names, known or not, with the places that name it."""
    locations: dict[str, list[str]] = defaultdict(list)
    for file in python_files(folder):
        for node in ast.walk(syntax_tree(file)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acceptance":
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        locations[str(argument.value)].append(f"{relative_name(file)}:{node.lineno}")
        for function in functions(file):
            for found in check_ids(function.name):
                locations[found].append(f"{relative_name(file)}:{function.lineno}")
    return dict(locations)


def check_ids(name: str) -> set[str]:
    """The ids in the name of a test."""
    if not name.startswith("test_"):
        return set()
    first = _LEADING_IDS_PATTERN.match(name)
    small = first[1].upper().strip("_").split("_") if first else []
    return {*_ID_PATTERN.findall(name), *small}


def report() -> str:
    """The coverage of the contract, one line an id."""
    ids, locations = contract_checks(), checks_named_by_tests()
    lines = [f"{name}  {len(locations.get(name, []))}  {about}" for name, about in ids.items()]
    missing = [name for name in ids if name not in locations]
    covered_count = len(ids) - len(missing)
    return "\n".join(
        [*lines, "", f"{covered_count} of {len(ids)} are named by a test; missing: {', '.join(missing) or 'none'}"]
    )


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
