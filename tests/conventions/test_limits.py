"""`docs/limits.md` names existing tests, and all tests of `tests/unit/limits`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from support.checkout import ROOT, TESTS, Function, syntax_tree, violation_message

PAGE = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
OUTSIDE = "## Outside our reach"
NAMED_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def names_of_tests(file: Path) -> set[str]:
    """The names of the test functions of a file."""
    nodes = ast.walk(syntax_tree(file)) if file.exists() else ()
    return {node.name for node in nodes if isinstance(node, Function) and node.name.startswith("test")}


def test_every_limit_names_a_test():
    """Limits of other software are exempt."""
    limits = re.findall(r"^- (.+?)(?=^- |^$|\Z)", PAGE.partition(OUTSIDE)[0], re.MULTILINE | re.DOTALL)
    untested = [" ".join(limit.split()) for limit in limits if not NAMED_TEST.search(limit)]

    assert len(limits) > 50
    assert not untested, violation_message(untested, "name the test that fails when the limit no longer exists:")


def test_every_test_named_on_the_page_exists():
    """A renamed test must be renamed on the page."""
    missing = [f"{file}::{name}" for file, name in NAMED_TEST.findall(PAGE) if name not in names_of_tests(TESTS / file)]

    assert not missing, violation_message(missing, "named in docs/limits.md, but not found:")


def test_every_test_of_a_limit_is_on_the_page():
    """Readers must find every limit that a test pins."""
    named = {f"{file}::{name}" for file, name in NAMED_TEST.findall(PAGE)}
    written = {
        f"unit/limits/{file.name}::{name}"
        for file in (TESTS / "unit/limits").glob("test_*.py")
        for name in names_of_tests(file)
    }

    assert not written - named, violation_message(sorted(written - named), "missing in docs/limits.md:")
