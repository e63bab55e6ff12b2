"""The page for ADK's integration catalogue follows the catalogue's rules and matches the code."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from gaia_memory import MemoryPlugin
from gaia_memory.adk.engine_source import EngineSource
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.config.schema import GaiaConfig

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/integrations/gaia-memory.md"
TAG = (
    '<div class="language-support-tag">\n'
    '  <span class="lst-supported">Supported in ADK</span><span class="lst-python">Python</span>\n'
    "</div>\n"
)
SECTIONS = [
    "Use cases",
    "Prerequisites",
    "Installation",
    "Use with agent",
    "Available tools",
    "Configuration",
    "Additional resources",
]


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


def test_the_card_follows_the_rules_of_the_catalogue(card: dict[str, Any]) -> None:
    """It has four fields, a short phrase without the product's name, an existing tag and the page's own icon."""
    description = card["catalog_description"]

    assert list(card) == ["catalog_title", "catalog_description", "catalog_icon", "catalog_tags"]
    assert 45 <= len(description) <= 75
    assert re.fullmatch(r"[A-Z][a-z]+[^.]*[^.\s]", description)
    assert card["catalog_title"].lower() not in description.lower()
    assert card["catalog_tags"] == ["data"]
    assert card["catalog_icon"] == f"/integrations/assets/{PAGE.stem}.svg"


def test_the_icon_is_square_and_not_empty(card: dict[str, Any]) -> None:
    """A card without its picture is an empty frame."""
    drawing = ElementTree.fromstring((ROOT / f"docs{card['catalog_icon']}").read_text(encoding="utf-8"))
    box = [float(number) for number in drawing.attrib["viewBox"].split()]

    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert drawing.attrib["width"] == drawing.attrib["height"]
    assert box[2] == box[3] > 0
    assert len(list(drawing.iter())) > 3


def test_the_page_has_the_sections_of_a_plugin_page_in_order(text: str) -> None:
    """The heading names product and kind, and the language tag comes right below."""
    assert text.lstrip().startswith(f"# gaia-memory plugin for ADK\n\n{TAG}")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert len(re.findall(r'^=== ".+"$', text, re.MULTILINE)) >= 2


def test_the_page_follows_the_style_rules_of_its_reviewers(text: str) -> None:
    """The rules cover ADK's name, model aliases, `root_agent` and sentences that begin with code."""
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)

    assert "Google ADK" not in text
    assert "\u2014" not in text
    assert set(re.findall(r'model="([^"]+)"', text)) == {"gemini-flash-latest"}
    assert len(re.findall(r"root_agent = Agent\(", text)) == 3
    assert (
        re.findall(r"(?:^|[.:] )`\w[^|\n]*$", re.sub(r"^.* \| .*$", "", prose, flags=re.MULTILINE), re.MULTILINE) == []
    )


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
