"""Sizes, names and docstrings that keep a package readable for newcomers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from support.checkout import (
    PACKAGE,
    ROOT,
    TESTS,
    Function,
    functions,
    python_files,
    relative_name,
    syntax_tree,
    violation_message,
)

MODULE_LINES, STORE_LINES = 400, 700
STORES = {"src/gaia_memory/facts/fact_store.py", "src/gaia_memory/ledger/ledger.py"}
"""A store's class is a list of queries, which nobody reads from the first to the last."""

FUNCTION_LINES = 60
BANNED_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "misc", "util", "utils"}
TOP_LEVEL = {"LICENSE", "README.md", "config", "docs", "pyproject.toml", "src", "tests"}
BUILT = {"build", "dist"}

# Places that call code that may raise anything; each also says why in the code.
CATCH_ALL = {
    "src/gaia_memory/engine_probe.py": "a store that is looked at may raise anything",
    "src/gaia_memory/adk/memory_service.py": "what a callback passes wrongly must not end the person's turn",
    "src/gaia_memory/adk/plugins/error_boundary.py": "a plugin callback that raises ends the person's turn",
    "src/gaia_memory/backend/builder.py": "a third-party provider may raise anything, and some exit",
    "src/gaia_memory/backend/foreign_store.py": "each engine of mem0's has errors of its own",
    "src/gaia_memory/backend/providers/agent_models.py": "the model of a host's agent may raise anything",
    "src/gaia_memory/backend/providers/swappable_llm.py": "a third-party client may fail to close",
    "src/gaia_memory/backend/embedder.py": "a third-party provider may raise anything, and some exit",
    "src/gaia_memory/backend/mem0_store/erasures.py": "a locked file must not keep the other facts from being followed",
    "src/gaia_memory/backend/mem0_store/follower.py": "the loop that follows tries again, whatever failed",
    "src/gaia_memory/backend/mem0_store/open_store.py": "a broken store may fail to be closed in any way",
    "src/gaia_memory/backend/language_model.py": "a third-party provider may raise anything, and some exit",
    "src/gaia_memory/backend/mem0_store/chroma/folders.py": "a damaged folder may fail in any way; it is replaced",
    "src/gaia_memory/backend/thread_pools.py": "an error of a worker thread is handed to the one who waits",
    "src/gaia_memory/backend/providers/reranker.py": "a third-party provider may raise anything, and some exit",
    "src/gaia_memory/backend/mem0_store/store.py": "each store of mem0 refuses a fact with errors of its own",
    "src/gaia_memory/backend/mem0_store/vector_backfill.py": "a provider may raise anything; the vector comes later",
    "src/gaia_memory/cli/__init__.py": "a person at a terminal is helped by a sentence, not by a traceback",
    "src/gaia_memory/cli/doctor/checks.py": "whatever a broken installation raises is a finding",
    "src/gaia_memory/cli/doctor/model_checks.py": "a model of ADK's may raise anything",
    "src/gaia_memory/server/access/access_gate.py": "a server that prints an error would print what people said",
    "src/gaia_memory/reminders/announcer.py": "the host's callback may fail in any way",
    "src/gaia_memory/learning/sweep_scheduler.py": "a database outage must not end the scheduler",
    "src/gaia_memory/profile/distil.py": "the host's hook may fail in any way",
    "src/gaia_memory/learning/consolidate.py": "a broken conversation is counted, reported and retried",
    "src/gaia_memory/learning/discovery.py": "a host's session service may fail in any way",
    "src/gaia_memory/threads.py": "a task cannot receive every error that a thread raises",
    "src/gaia_memory/learning/sweep.py": "one conversation that breaks must not keep the others waiting",
}

CONSTRUCTOR_ARGUMENTS = 8
# Services that take more arguments than the limit.
LONG_CONSTRUCTORS = {"src/gaia_memory/adk/plugins/invocation_state.py:InvocationState"}


def test_modules_are_short():
    """Modules should be short enough to read completely."""
    long = [
        f"{name}: {size}"
        for file in python_files(PACKAGE)
        if (size := lines(file)) > (STORE_LINES if (name := relative_name(file)) in STORES else MODULE_LINES)
    ]

    assert not long, violation_message(long, f"more than {MODULE_LINES} lines:")


def test_functions_are_short():
    """A function has one task."""
    long = [
        f"{relative_name(file)}:{function.lineno} {function.name}: {size}"
        for file in python_files(PACKAGE)
        for function in functions(file)
        if (size := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    ]

    assert not long, violation_message(long, f"more than {FUNCTION_LINES} lines:")


def test_constructors_take_few_arguments():
    """A service with more arguments has more than one task; frozen values and pydantic models are exempt."""
    found = {
        f"{relative_name(file)}:{name}"
        for file in python_files(PACKAGE)
        if file != PACKAGE / "engine.py"
        for name, count in constructor_arguments(syntax_tree(file))
        if count > CONSTRUCTOR_ARGUMENTS
    }
    long, stale = sorted(found - LONG_CONSTRUCTORS), sorted(LONG_CONSTRUCTORS - found)

    assert not long, violation_message(long, f"more than {CONSTRUCTOR_ARGUMENTS} arguments; group them:")
    assert not stale, violation_message(stale, "LONG_CONSTRUCTORS lists classes with fewer arguments:")


def test_no_module_has_a_vague_name():
    """A module called `utils` collects everything."""
    paths = [*PACKAGE.rglob("*.py"), *(folder for folder in PACKAGE.rglob("*") if folder.is_dir())]
    banned = sorted(
        relative_name(path) for path in paths if not BANNED_NAMES.isdisjoint(path.stem.strip("_").split("_"))
    )

    assert not banned, violation_message(banned, "name them after the one thing inside:")


def test_the_top_level_contains_only_the_modules_of_the_layout():
    """Everything else belongs in a folder."""
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}

    strays = sorted(found - TOP_LEVEL - BUILT)
    assert not strays, violation_message(strays, "not in the layout:")


def test_catch_alls_are_used_at_borders_only():
    """Anywhere else an `except Exception` hides a mistake."""
    found = {relative_name(file) for file in python_files(PACKAGE) if catch_alls(file)}
    strays, stale = sorted(found - set(CATCH_ALL)), sorted(set(CATCH_ALL) - found)

    assert not strays, violation_message(strays, "catch what can happen by name, or give the reason in CATCH_ALL:")
    assert not stale, violation_message(stale, "CATCH_ALL lists files that catch nothing any more:")


def test_every_catch_all_has_a_comment_that_says_why():
    """The comment is on the same line or next to it."""
    silent = [
        f"{relative_name(file)}:{line}"
        for file in python_files(PACKAGE)
        for line in catch_alls(file)
        if not any("#" in text for text in file.read_text(encoding="utf-8").splitlines()[line - 2 : line + 1])
    ]

    assert not silent, violation_message(silent, "say in a comment why everything is caught:")


def test_every_test_has_a_docstring():
    """The docstrings serve as the specification (`pytest --collect-only`)."""
    silent = [
        f"{relative_name(file)}:{function.lineno} {function.name}"
        for file in python_files(TESTS)
        if file.name.startswith("test_")
        for function in written_tests(syntax_tree(file))
        if not ast.get_docstring(function)
    ]

    assert not silent, violation_message(silent, "tests without a docstring:")


def constructor_arguments(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the services of a module with the number of their constructor arguments."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                arguments = member.args
                yield node.name, len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]) - 1
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        is_service = any(isinstance(member, ast.AsyncFunctionDef) for member in node.body)
        if "dataclass" in decorators and ("frozen=True" not in decorators or is_service):
            yield node.name, sum(is_constructor_field(member) for member in node.body)


def is_constructor_field(member: ast.stmt) -> bool:
    """Say whether a statement of a dataclass declares a constructor argument."""
    if not isinstance(member, ast.AnnAssign) or ast.unparse(member.annotation).startswith("ClassVar"):
        return False
    return member.value is None or "init=False" not in ast.unparse(member.value)


def lines(file: Path) -> int:
    """Return the number of lines of a file."""
    return len(file.read_text(encoding="utf-8").splitlines())


def written_tests(tree: ast.Module) -> list[Function]:
    """Return the test functions of a module and of its classes."""
    holders = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    return [
        node
        for holder in holders
        for node in holder.body
        if isinstance(node, Function) and node.name.startswith("test")
    ]


def catch_alls(file: Path) -> list[int]:
    """Return the lines that catch every exception without re-raising it."""
    found = []
    for node in ast.walk(syntax_tree(file)):
        if isinstance(node, ast.ExceptHandler):
            again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if not again and (node.type is None or names_everything(node.type)):
                found.append(node.lineno)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            found += [node.lineno for argument in node.args if names_everything(argument)]
    return found


def names_everything(node: ast.expr) -> bool:
    """Say whether an `except` clause names Exception or BaseException."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(ast.unparse(part) in {"Exception", "BaseException"} for part in parts)
