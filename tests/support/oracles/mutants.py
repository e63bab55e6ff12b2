"""Functions of the package with one condition removed, to check that a test fails."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import dedent
from types import FunctionType
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """`function` of `module` in which the `nth` `old` is replaced with `new`."""

    module: str
    function: str
    old: str
    new: str
    nth: int = 0

    def __str__(self) -> str:
        return f"{self.module.removeprefix('gaia_memory.')}:{self.function}:{self.nth}"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Make every caller of the function run the mutant until the block ends."""
        function = self._target()
        original = function.__code__
        function.__code__ = self._mutated_code(function)
        try:
            yield
        finally:
            function.__code__ = original

    def _target(self) -> FunctionType:
        found: Any = importlib.import_module(self.module)
        for name in self.function.split("."):
            found = inspect.getattr_static(found, name)
        if isinstance(found, property):
            found = found.fget
        assert isinstance(found, FunctionType), self
        return found

    def _mutated_code(self, function: Callable[..., Any]) -> Any:
        parts = dedent(inspect.getsource(function)).split(self.old)
        assert len(parts) > self.nth + 1, f"{self} is not in the source any more"
        source = self.old.join(parts[: self.nth + 1]) + self.new + self.old.join(parts[self.nth + 1 :])
        namespace: dict[str, Any] = {}
        exec(
            compile(f"from __future__ import annotations\n{source}", str(self), "exec"),
            dict(function.__globals__),
            namespace,
        )
        [changed] = [value for value in namespace.values() if isinstance(value, FunctionType | property)]
        return (changed.fget if isinstance(changed, property) else changed).__code__
