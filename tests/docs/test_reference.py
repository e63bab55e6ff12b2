"""The reference pages match the code."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import pytest
from docs.render import config_files, llms_txt
from docs.render import reference_pages as render
from docs.render.__main__ import COMMAND, main

import gaia_memory
from gaia_memory.memory import Memory

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages as rendered from the code."""
    return render.rendered_pages()


@pytest.mark.parametrize("name", ["cli", "commands", "costs", "errors", "mem0-calls", "public-api"])
def test_the_committed_pages_are_up_to_date(name: str, pages: dict[str, str]) -> None:
    """`python -m docs.render` in the checkout updates them."""
    committed = (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8")

    assert committed == pages[f"docs/reference/{name}.md"], f"{name}.md is stale: run `{COMMAND}`"


def test_the_list_for_coding_agents_is_up_to_date_and_names_every_page_of_the_start_page() -> None:
    """`python -m docs.render` in the checkout updates it."""
    [(name, text)] = llms_txt.rendered_files(ROOT / "docs").items()
    targets = re.findall(r"(?<!!)\[[^]]+]\(([^)]+)\)", (ROOT / "docs/index.md").read_text(encoding="utf-8"))

    assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `{COMMAND}`"
    assert len(targets) > 20
    assert [target for target in targets if f"]({target})" not in text] == []


def test_every_public_name_is_documented(pages: dict[str, str]) -> None:
    """So is every method of `gaia.memory`."""
    page = pages[_page("public-api")]
    names = set(gaia_memory.__all__) - {"GaiaConfig"}
    methods = {name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")}

    assert [name for name in sorted(names) if f"### `{name}`" not in page] == []
    assert [name for name in sorted(methods) if f"- `await {name}(" not in page and f"- `{name}(" not in page] == []
    assert "async with open_memory(source: ConfigArgument = LOOK_UP, *, home: str | Path | None = None" in page


def test_rendering_writes_only_into_a_checkout(tmp_path, monkeypatch, capsys):
    """In any other folder it writes nothing and exits with code 2."""
    monkeypatch.chdir(tmp_path)
    refused = main()
    left = list(tmp_path.rglob("*.md"))
    (tmp_path / "src/gaia_memory/config").mkdir(parents=True)
    (tmp_path / "src/gaia_memory/config/schema.py").touch()
    for name in ("README.md", "docs/index.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    written = main()

    assert (refused, left, written) == (2, [], 0)
    assert (tmp_path / "docs/reference/cli.md").read_text(encoding="utf-8") == render.render_cli()
    assert (tmp_path / "config/gaia.yaml").read_text(encoding="utf-8") == config_files.render_yaml()
    assert COMMAND in capsys.readouterr().err


def _page(name: str) -> str:
    return f"docs/reference/{name}.md"
