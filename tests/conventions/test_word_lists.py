"""No pattern is long, and no list of a language's words stands outside the modules that need one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gaia_memory.language.distinctive_words import COMMON_WORDS
from gaia_memory.language.stop_words import STOP_WORDS
from support.checkout import ROOT, syntax_tree, violation_message

SOURCE = ROOT / "src/gaia_memory"
MAX_PATTERN_CHARACTERS = 200
MIN_LISTED_WORDS = 6
MIN_WORDS_OF_A_TEXT = 20
LONG_PATTERNS = ("redaction/", "language/tokenizer.py")
WORD_LISTS = {
    "language/": "stop words, irregular forms, common words, the yes of a confirmation, one reader of dates",
    "redaction/": "credentials by form",
    "keyless/statements.py": "the one English pattern of requests and greetings",
    "backend/model_errors.py": "words of models' error messages, which nobody says",
    "transfer/transcripts/plain_text.py": "labels of speakers in exported chats",
}
"""Where words of a language may be listed, and what for."""

PATTERN_CALLS = ("compile", "compile_linear", "search", "match", "fullmatch", "sub", "findall", "finditer", "split")
KNOWN_WORDS = COMMON_WORDS | STOP_WORDS


def source_files(allowed: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Yield the modules outside of `allowed` paths, with their names."""
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith(allowed):
            yield name, file


def pattern_length(call: ast.Call) -> int:
    """Return the length of the pattern that a call of `re` is given as a literal; 0 for another call."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in PATTERN_CALLS or not call.args:
        return 0
    parts = [node for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return sum(len(str(node.value)) for node in parts)


def listed_words(node: ast.AST) -> list[str]:
    """Return the words that a collection, an alternation or a text of words lists; none for prose."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        elements = node.keys if isinstance(node, ast.Dict) else node.elts
        return [each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return []
    if "|" in node.value:
        return re.findall(r"(?<![^|(:?])[^\W\d_]+(?:'[^\W\d_]+)?(?=[|)])", node.value)
    words = node.value.split()
    # Prose has capitals and signs, and says "the" twice.
    is_list = node.value.islower() and all(word.replace("'", "").isalpha() for word in words)
    return words if is_list and MIN_WORDS_OF_A_TEXT <= len(words) == len(set(words)) else []


def is_of_language(word: str) -> bool:
    """Return whether a text is a common word, or a word in another script or with accents."""
    return word in KNOWN_WORDS or (len(word) > 1 and word.isalpha() and not word.isascii())


def test_no_pattern_is_longer_than_200_characters() -> None:
    """A longer one reads language, or cannot be read."""
    long = [
        f"{name}:{node.lineno}"
        for name, file in source_files(LONG_PATTERNS)
        for node in ast.walk(syntax_tree(file))
        if isinstance(node, ast.Call) and pattern_length(node) > MAX_PATTERN_CHARACTERS
    ]

    assert not long, violation_message(long, f"patterns of more than {MAX_PATTERN_CHARACTERS} characters:")


def test_words_of_a_language_are_listed_only_where_they_may_be() -> None:
    """Code compares, models understand: what a sentence means is asked, in a question that is asked anyway."""
    lists = [
        f"{name}:{node.lineno}: {' '.join(words[:5])} …"
        for name, file in source_files(tuple(WORD_LISTS))
        for node in ast.walk(syntax_tree(file))
        if isinstance(node, ast.expr) and (words := [word for word in listed_words(node) if is_of_language(word)])
        if len(words) >= MIN_LISTED_WORDS
    ]

    assert not lists, violation_message(lists, "lists of words outside of WORD_LISTS:")
