"""Every Python block of the README and the docs runs as printed."""

import ast
import importlib
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```python\n.*?^```\n\n```text\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL)
EVERY_RUN = ("README.md",)
"""The page a newcomer reads first runs in every tier; of the others, only the names they import are checked there."""
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def code_of(page: Path) -> list[str]:
    """Return the Python blocks of a page; those in a tab are indented."""
    return [dedent(found["code"]) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.acceptance("G11")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=() if page.name in EVERY_RUN else pytest.mark.slow)
        for page in WITH_CODE
    ],
)
def test_the_code_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    """Warnings are errors; the programs print what the page shows below them."""
    program = tmp_path / "page.py"
    program.write_text("\n\n".join(code_of(page)), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"HOME": str(tmp_path), "GAIA_HOME": str(tmp_path / "home")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    warnings = ["-W", "error", "-W", r"ignore:[EXPERIMENTAL]:UserWarning"]

    ran = subprocess.run(
        [sys.executable, *warnings, str(program)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    shown = "".join(found["output"] for found in OUTPUT.finditer(page.read_text(encoding="utf-8")))
    shown = shown.replace("On Monday", f"On {datetime.now().astimezone():%A}")
    assert not shown or ran.stdout == shown


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_compile_and_import_existing_names(page: Path) -> None:
    """This checks each name imported from the package."""
    for code in code_of(page):
        for node in ast.walk(compile(code, str(page), "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gaia_memory"):
                module = importlib.import_module(str(node.module))
                assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def test_relative_links_between_pages_are_valid() -> None:
    """Every target exists."""
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []


def test_every_page_is_reachable_from_the_readme() -> None:
    """Links are followed from page to page; decisions are linked by their folder."""
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
            waiting += [(page.parent / link).resolve() for link in links]
    unreached = [page for page in PAGES if page not in reached and page.parent.name != "decisions"]

    assert unreached == []
    assert "](decisions/)" in (ROOT / "docs/index.md").read_text(encoding="utf-8")


def test_the_readme_links_the_start_page_which_links_every_other_page() -> None:
    """The start page is the complete list."""
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs") for page in PAGES[1:] if page.parent.name != "decisions"]

    assert "](docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert [str(page) for page in pages if page.name != "index.md" and f"]({page.as_posix()})" not in index] == []
