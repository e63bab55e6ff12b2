"""No pattern that meets a stranger's text takes longer than in proportion to it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
import re2

import gaia_memory

SMALL, LARGE = 4_000, 16_000
MOST_TIMES_AS_LONG = 5
FLOOR_SECONDS = 0.002
"""What is faster than this needs no better measure."""

HOPELESS_SECONDS = 0.05
TRIES = 4

LANGUAGE_RULES = (
    "keyless.statements",
    "language.dates",
    "learn.tool_statements",
)
"""Modules whose patterns read sentences."""

UNITS = (
    *(
        "a",
        "A",
        "1",
        " ",
        "\t\n",
        "\n",
        "-",
        ".",
        ",",
        "'",
        '"',
        "_",
        "([{<",
        ")]}>",
        "\\",
        "`",
        "*",
        ":",
        "/",
        "a@",
        "&#",
    ),
    *("&#", "%25", "e\u0301", "\u0301", "a\u200b", "ab ", "tea and ", "2021-05-03 ", "3 May 2021, ", "1 ", "1.2", "a1"),
    *(
        "+49 30 ",
        "deadbeef",
        "QWxh/+",
        "sk-abc",
        "password is ",
        "password: ",
        "pin 123 ",
        "code ",
        "token a1b2 ",
        "/z.",
    ),
    *(
        "/z.",
        "key=a1b2c3d4 ",
        "a://a:b@",
        "admin:",
        "4000 1234 5678 9012 ",
        "AB12 ",
        "abandon ability ",
        "\u5bc6\u7801:abc",
    ),
    *(
        "[redacted: a code] ",
        "[](",
        "a=",
        "a. ",
        "a? ",
        "\u6f22",
        "\U0001f600",
        "123 456 ",
        "Ab Cd ",
        "'a' ",
        "<a>",
        "</a>",
    ),
)


def patterns_of(value: object, depth: int = 3) -> Iterator[Any]:
    """Yield the compiled patterns in a value of a module."""
    if isinstance(value, re.Pattern | type(re2.compile("a"))):
        yield value
    elif depth and isinstance(value, Mapping):
        yield from patterns_of([*value, *value.values()], depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_of(each, depth - 1)


def methods_of(module: ModuleType, name: str) -> tuple[str, ...]:
    """Return how a module searches with a pattern of this name; in every way where that cannot be seen."""
    used = set(re.findall(rf"\b{name}\.(\w+)\(", inspect.getsource(module)))
    found = tuple(method for method in ("match", "fullmatch") if method in used)
    return found if used and used <= {"match", "fullmatch"} else (*found, "finditer")


def patterns_of_package() -> list[tuple[str, tuple[str, ...], Any]]:
    """Return the place, the ways of searching and the pattern of each in the package."""
    found: dict[Any, tuple[str, tuple[str, ...]]] = {}
    for info in pkgutil.walk_packages(gaia_memory.__path__, "gaia_memory."):
        is_of_rules = info.name.removeprefix("gaia_memory.").startswith(LANGUAGE_RULES)
        if ".migrations." in info.name or info.name.endswith("__main__") or is_of_rules:
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for pattern in patterns_of(value):
                found.setdefault(pattern, (f"{info.name}.{name}", methods_of(module, name)))
    return [(place, methods, pattern) for pattern, (place, methods) in found.items()]


def seconds(run: Callable[[str | bytes], object], text: str | bytes) -> float:
    """Return the processor's time, the least of several tries."""
    best = float("inf")
    for _ in range(TRIES):
        begun = time.process_time()
        run(text)
        best = min(best, time.process_time() - begun)
        if best < FLOOR_SECONDS or best > HOPELESS_SECONDS:
            break
    return best


def is_superlinear(run: Callable[[str | bytes], object], text: Callable[[int], str | bytes]) -> bool:
    """Return whether the time grows faster than the text; short texts first, since some patterns would never end."""
    small = 0.0
    for size in (25, 100, 400, SMALL):
        if (small := seconds(run, text(size))) > HOPELESS_SECONDS:
            return True
    large = seconds(run, text(LARGE))
    return large > FLOOR_SECONDS and large > MOST_TIMES_AS_LONG * max(small, FLOOR_SECONDS / MOST_TIMES_AS_LONG)


def is_linear(pattern: Any, method: str, unit: str) -> bool:
    """Return whether a pattern takes long texts of this unit; a busy machine may need another look."""

    def text(size: int) -> str | bytes:
        made = (unit * (size // len(unit) + 1))[:size] + "\x00"
        return made.encode() if isinstance(pattern.pattern, bytes) else made

    def run(value: str | bytes) -> object:
        return [0 for _ in pattern.finditer(value)] if method == "finditer" else getattr(pattern, method)(value)

    return any(not is_superlinear(run, text) for _ in range(3))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_pattern_of_the_package_is_linear() -> None:
    """Four times a nasty text takes at most five times as long, or a message could stop the process."""
    patterns = patterns_of_package()
    slow = {
        f"{place}.{method}": unit
        for place, methods, pattern in patterns
        for method in methods
        if (unit := next((each for each in UNITS if not is_linear(pattern, method, each)), None)) is not None
    }

    assert len(patterns) > 100
    assert slow == {}
