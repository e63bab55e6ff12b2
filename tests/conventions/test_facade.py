"""Commands and ADK parts call the façade (`Memory` and `Engine`) and never reach through it to a store."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from support.checkout import PACKAGE, python_files, relative_name, syntax_tree, violation_message

FACADES = {"engine", "_engine", "memory", "_memory", "gaia", "_gaia"}
"""Names of variables and attributes that hold an `Engine`, a `Memory` or a `Gaia`."""

INTERNALS = {
    "backend",
    "circuit_breaker",
    "consolidator",
    "database",
    "distiller",
    "embedder",
    "facts_store",
    "follower",
    "indexes",
    "ledger",
    "outbox",
    "recaller",
    "stores",
    "transcripts",
}
ENGINE_INTERNALS = {*INTERNALS, "facts"}
"""`Memory.facts` is a method; `Engine.facts` is the fact store."""


def test_commands_and_adk_parts_reach_no_store():
    """Everything they need is a method of `Memory` or `Engine`."""
    found = {
        f"{relative_name(file)}:{line} {access}"
        for package in ("cli", "adk", "server")
        for file in python_files(PACKAGE / package)
        for line, access in internal_accesses(syntax_tree(file))
    }
    violations = sorted(found)

    assert not violations, violation_message(violations, "give Memory or Engine a method for it:")


def internal_accesses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and code of each access to a store through a façade."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = owner_name(node.value)
            internals = ENGINE_INTERNALS if owner in {"engine", "_engine"} else INTERNALS
            if owner in FACADES and node.attr in internals:
                yield node.lineno, ast.unparse(node)


def owner_name(node: ast.expr) -> str:
    """Return the last name of an expression; empty for the section `memory` of a configuration."""
    if isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return ""
    return "" if owner_name(node.value) in {"config", "settings"} else node.attr
