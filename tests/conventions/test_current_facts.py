"""Every statement that reads facts says which ones: current facts, or all that are stored."""

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
    "owner": "mem0's calls name a fact by its id alone, also for its history",
    "delete": "forgetting reaches past facts",
    "delete_all": "forgetting reaches past facts",
    "add_tombstones": "a past fact that is forgotten must not come back either",
    "copies": "forgetting reaches past facts",
    "_is_of_scope": "forgetting reaches past facts",
    "sourced_only_from": "forgetting a conversation reaches past facts",
    "drop_source": "forgetting a conversation reaches past facts",
    "_reassign_to_latest_source": "forgetting a conversation reaches past facts",
    "_rows": "a merge moves past facts too",
    "_keep_due_dates": "a merge moves past facts too",
    "stored": "an expired fact can be ended, reworded and restored",
    "expire": "it ends what is not current any more",
    "_load_versions": "an expired fact can be ended",
    "_move_to_past": "an expired fact ends",
    "move_to_current": "a fact that comes back is indexed, whatever its validity",
    "load_texts": "history has past facts",
    "stored_ids": "an expired fact has not ended",
    "_is_current": "an expired fact still has its wording",
    "_rewrite": "an expired fact can be reworded",
    "facts": "an export and a forget miss none",
    "count": "the index of recall has every stored fact",
    "ids": "the index of recall has every stored fact",
    "indexed_facts": "the index of recall has every stored fact",
    "_recompute_features": "the index of recall has every stored fact",
    "vectors": "the index of recall has every stored fact",
    "_select_alike": "a short id stays the same, whatever the validity of others",
    "record_shown": "an expired fact was shown, too",
    "days": "it counts what was added, whatever its validity",
    "missing_vectors": "every stored fact gets a vector, and another when the embedder is switched",
    "embedders": "an embedder is switched for every stored fact",
    "_load_rows": "an expired fact that is said again is the same fact",
    "_insert_facts": "a fact that has not begun to hold is indexed",
    "begin": "it looks for facts that have begun to hold",
    "ids_as_of": "it compares the validity with another time",
    "get_any": "it reads what held at another time",
    "outdated": "it looks for facts that have expired",
    "_PROMPT_STATE": "it counts what has expired or not begun to hold",
    "origins": "an export misses none",
    "_without_taken_ids": "an id stays that of one fact, whatever its validity",
    "_existing_ids": "a merge moves past facts too",
    "are_sensitive": "a text stays sensitive once it has expired",
    "load_facts": "the follower compares the validity with its clock",
    "backfill_vectors": "a vector is stored for every stored fact",
    "reset_store": "the follower compares the validity with its clock",
    "count_outdated": "every stored fact has its features",
    "mark_outdated": "every stored fact has its features",
    "rebuild_features": "every stored fact has its features",
    "_stem_weights": "a word of any stored fact is known",
    "ids_without_vector_of": "a vector is stored for every stored fact",
    "replace_vectors": "a vector is stored for every stored fact",
    "before_change": "a tool may change an expired fact",
    "stored_rows": "what a tool forgot comes back whole",
    "_keyed_rows": "an expired fact has its key until a sweep ends it",
    "_put_back": "an expired fact still has its wording",
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
    statement = select(table.c.id).where(current(now))
    return tx.execute(text(f"SELECT id FROM gaia_facts AS f WHERE {current_or_past_sql('f')}"))
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
        if any(map(TABLE_IN_SQL.search, texts)) and "current_or_past_sql" not in calls:
            yield f"{owner} has SQL over facts without current_or_past_sql()"


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
        "found has SQL over facts without current_or_past_sql()",
        "get may not read past facts",
    ]
