"""Every statement that reads facts says which ones: current facts or, for forgetting and moving, all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from support.checkout import PACKAGE, python_files, relative_name, syntax_tree, violation_message

COLUMN_LISTS = {"FACT_COLUMNS", "INDEXED_FACT_COLUMNS"}
"""Lists of columns of the table of facts."""

CONDITIONS = {"current", "current_or_past"}
TABLE_IN_SQL = re.compile(r"\b(?:FROM|JOIN)\s+gaia_facts\b", re.IGNORECASE)

MAY_READ_PAST_FACTS = {
    "delete": "forgetting reaches past facts",
    "delete_all": "forgetting reaches past facts",
    "add_tombstones": "a past fact that is forgotten must not come back either",
    "sources": "the events of past facts are skipped when these are forgotten",
    "sourced_only_from": "forgetting a conversation reaches past facts",
    "clear_excerpts": "forgetting reaches past facts",
    "drop_source": "forgetting a conversation reaches past facts",
    "_reassign_to_oldest_source": "forgetting a conversation reaches past facts",
    "_rows": "a merge moves past facts too",
}
SQL_OVER_ALL_ROWS = {
    "unindex_all": "forgetting reaches past facts",
}

PLANTED = """
from gaia_memory.facts.tables import facts as table

def count(tx, scope):
    return tx.execute(select(func.count()).select_from(table).where(table.c.partition == scope.partition))

def found(tx):
    return tx.execute(text("SELECT id FROM gaia_facts WHERE row = 1"))

def delete(tx):
    return tx.execute(select(table.c.id).where(current_or_past()))

def get(tx):
    return tx.execute(select(table.c.id).where(current_or_past()))

def fine(tx):
    statement = select(table.c.id).where(current())
    return tx.execute(text(f"SELECT id FROM gaia_facts AS f WHERE {current_sql('f')}"))
"""


def table_names(tree: ast.Module) -> set[str]:
    """Return the names under which a module knows the table of facts and the lists of its columns."""
    names = set(COLUMN_LISTS)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "gaia_memory.facts.tables":
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "facts"}
    return names


def statements(node: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield each innermost statement with the function or constant it belongs to."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statements(child, child.name)
        elif isinstance(child, ast.stmt) and not any(map(_is_statement, ast.iter_child_nodes(child))):
            target = child.targets[0] if isinstance(child, ast.Assign) else None
            yield owner or (target.id if isinstance(target, ast.Name) else ""), child
        elif isinstance(child, ast.stmt):
            # The head of a loop or block: what it iterates over or opens.
            head = [each for each in ast.iter_child_nodes(child) if isinstance(each, ast.expr | ast.withitem)]
            yield from ((owner, ast.Expr(_expression(each))) for each in head)
            yield from statements(child, owner)
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from statements(child, owner)


def _is_statement(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt)


def _expression(node: ast.AST) -> ast.expr:
    found = node.context_expr if isinstance(node, ast.withitem) else node
    assert isinstance(found, ast.expr)
    return found


def violations(tree: ast.Module) -> Iterator[str]:
    """Yield the owners of statements that do not say which facts they read, or read all without permission."""
    tables = table_names(tree)
    for owner, statement in statements(tree):
        nodes = list(ast.walk(statement))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        if "select" in calls and tables & names and not CONDITIONS & calls:
            yield f"{owner} selects facts without current()"
        if "current_or_past" in calls and owner not in MAY_READ_PAST_FACTS:
            yield f"{owner} may not read past facts"
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        if any(map(TABLE_IN_SQL.search, texts)) and "current_sql" not in calls and owner not in SQL_OVER_ALL_ROWS:
            yield f"{owner} has SQL over facts without current_sql()"


def test_every_statement_that_reads_facts_says_which() -> None:
    """A past fact must not appear as a current one."""
    files = [file for file in python_files(PACKAGE) if "migrations" not in file.parts]
    found = [
        f"{relative_name(file)}: {violation}"
        for file in files
        if file.name != "current.py"
        for violation in violations(syntax_tree(file))
    ]

    assert not found, violation_message(found, "statements over facts:")


def test_a_statement_that_does_not_say_which_facts_is_found() -> None:
    """This covers aliases of the table, SQL text, and statements that need not read all facts."""
    assert list(violations(ast.parse(PLANTED))) == [
        "count selects facts without current()",
        "found has SQL over facts without current_sql()",
        "get may not read past facts",
    ]
