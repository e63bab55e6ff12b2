"""The page for ADK's integration catalogue follows the catalogue's rules and matches the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gaia_memory import MemoryPlugin
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.engine_registry import EngineSource

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/integrations/gaia-memory.md"


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    """The front matter, from which the catalogue makes a card."""
    card: dict[str, Any] = yaml.safe_load(PAGE.read_text(encoding="utf-8").split("---\n")[1])
    return card


@pytest.fixture(scope="module")
def text() -> str:
    """The page below the front matter."""
    return PAGE.read_text(encoding="utf-8").split("---\n", 2)[2]


def table(text: str, head: str) -> dict[str, str]:
    """Return the first two columns of a table; a cell of the first has one or more names in backticks."""
    rows = text.partition(f"{head} | ")[2].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    return {name: line[1] for line in cells for name in re.findall(r"`([^`]+)`", line[0])}


def test_the_page_matches_the_code(text: str) -> None:
    """Tools, callbacks and defaults are checked."""
    tools, callbacks, keys = (table(text, head) for head in ("Tool", "Callback", "Key"))
    config = GaiaConfig().model_dump(mode="json")

    assert set(tools) == {tool.name for tool in memory_tools(EngineSource(None))}
    assert [name for name in callbacks if name not in vars(MemoryPlugin)] == []
    assert [name for name in keys if value(config, name) is KeyError] == []
    assert keys["sessions.idle_consolidate_minutes"] == f"`{value(config, 'sessions.idle_consolidate_minutes'):g}`"
    assert keys["memory.vector_store"] == f"`{{provider: {value(config, 'memory.vector_store')['provider']}}}`"


def value(config: dict[str, Any], path: str) -> Any:
    """Return the value of a dotted key, or the class KeyError if there is none."""
    found: Any = config
    for part in path.split("."):
        if not isinstance(found, dict) or part not in found:
            return KeyError
        found = found[part]
    return found
