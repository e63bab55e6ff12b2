"""Searchable names: files are unique, classes are nouns, constants contain a noun or a unit."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from support.checkout import PACKAGE, python_files, relative_name, syntax_tree, violation_message

MAX_FILES_IN_FOLDER = 12
MIGRATIONS = Path("database/migrations/versions")

SHARED_FILE_NAMES = {"__init__", "errors", "prompts", "registry", "render", "rows", "settings", "tables"}
"""These describe a file's part in its package, so each package may have one."""
PROVIDER_FILE_NAMES = {"gemini", "local", "offline", "ollama", "openai", "openrouter"}
COMMAND_FOLDERS = ("cli", "commands")
COMMAND_FILE_NAMES = {"embedder", "forget", "memory", "people", "reindex", "sweep", "transfer"}
"""A command's file is named like the part of the package that it calls."""

ING_ED_NOUNS = {"Bed", "Embedding", "Feed", "Finding", "Heading", "Ping", "Ranking", "Seed", "Setting", "String"}
FUNCTION_WORDS = """
about above across after against ahead along among around aside at away before behind below beneath beside between
beyond by down during for from in inside into near next of off on onto out outside over past per since so there
through till to toward under until up upon via with within without what who whose which where when why how and or
but if than
"""
QUANTITY_WORDS = """
all alike any big both each early earliest enough ever every far few fewest high huge large largest late latest
least less little long longest low many more most much never none often once one quick rare short shortest slow
small smallest some soon tiny too very
"""
VERBS = "come do done give go have is keep know leave let make say take tell told was way"


def words_of(name: str) -> list[str]:
    """The words of a name in camel case or upper case."""
    return re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)


def repeated_file_names(package: Path) -> list[str]:
    """Return the files that share their name with another file and may not."""
    files = defaultdict(list)
    for file in python_files(package):
        folder, name = file.relative_to(package).parts[0], file.stem
        is_command = folder in COMMAND_FOLDERS and name in COMMAND_FILE_NAMES
        if name not in SHARED_FILE_NAMES | PROVIDER_FILE_NAMES | {"__main__"}:
            files[folder if is_command else "", name].append(file.relative_to(package).as_posix())
    return [" and ".join(sorted(found)) for found in files.values() if len(found) > 1]


def large_folders(package: Path) -> list[str]:
    """The folders with too many files, not counting `__init__.py`."""
    folders: dict[Path, int] = defaultdict(int)
    for file in python_files(package):
        if file.stem != "__init__" and file.parent.relative_to(package) != MIGRATIONS:
            folders[file.parent] += 1
    return [f"{folder.name}/: {count}" for folder, count in folders.items() if count > MAX_FILES_IN_FOLDER]


def is_noun_class(name: str) -> bool:
    """Say whether a class may have this name: no function word, participle or gerund at its end."""
    last = words_of(name)[-1]
    return last in ING_ED_NOUNS or not (
        last.lower() in FUNCTION_WORDS.split() or re.search(r"(ing|[^e]ed|told)$", last.lower())
    )


def has_noun_or_unit(constant: str) -> bool:
    """Say whether one word of a constant may be a noun or a unit."""
    words = [word.lower() for word in words_of(constant)]
    vague = {*FUNCTION_WORDS.split(), *QUANTITY_WORDS.split(), *VERBS.split()}
    return any(word not in vague and not (len(words) == 1 and re.search(r"([^e]ed|able)$", word)) for word in words)


def classes_and_constants(file: Path) -> Iterable[tuple[int, str, bool]]:
    """Yield each class of a file and each constant at its top: line, name, and whether it is a class."""
    tree = syntax_tree(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, True
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]+", target.id):
                yield node.lineno, target.id, False


def refused_names(files: Iterable[Path]) -> list[str]:
    """Return the classes and constants of some files whose names say too little."""
    return [
        f"{file.name}:{line} {name}"
        for file in files
        for line, name, is_class in classes_and_constants(file)
        if not (is_noun_class(name) if is_class else has_noun_or_unit(name))
    ]


def test_no_file_name_is_used_twice():
    """A name found by a search leads to one file."""
    repeated = repeated_file_names(PACKAGE)

    assert not repeated, violation_message(repeated, "rename one of each:")


def test_no_folder_holds_more_than_twelve_files():
    """A longer list is hard to scan."""
    large = large_folders(PACKAGE)

    assert not large, violation_message(large, f"more than {MAX_FILES_IN_FOLDER} files:")


def test_classes_are_nouns_and_constants_have_a_noun_or_unit():
    """A name is clear without its definition."""
    files = [file for file in python_files(PACKAGE) if file.parent.relative_to(PACKAGE) != MIGRATIONS]
    refused = [f"{relative_name(file)}: {name}" for file in files for name in refused_names([file])]

    assert not refused, violation_message(refused, "say what it is:")
