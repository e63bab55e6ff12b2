"""Commands and ADK parts call the façade (`Memory` and `Engine`) and never reach through it to a store."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("engine.ledger.row(tx, key)", ["engine.ledger"]),
        ("engine.memory.stores.database.transaction()", ["engine.memory.stores"]),
        ("self._engine.facts.count(tx, scope)", ["self._engine.facts"]),
        ("gaia.memory.follower", ["gaia.memory.follower"]),
        ("(await self.engine()).backend", ["(await self.engine()).backend"]),
        ("memory, other = engine.memory, 1\nmemory.outbox", ["memory.outbox"]),
        ("await memory.facts(scope)", []),
        ("await engine.memory.facts(scope)", []),
        ("config.memory.embedder.provider", []),
        ("self.config.memory.database_url", []),
        ("engine.config.memory.embedder.provider", []),
        ("settings.database", []),
    ],
)
def test_an_access_through_the_facade_is_recognised(tmp_path: Path, code: str, found: list[str]):
    """Settings of the same names are not stores."""
    file = tmp_path / "module.py"
    file.write_text(code, encoding="utf-8")

    assert [access for _, access in internal_accesses(syntax_tree(file))] == found


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
