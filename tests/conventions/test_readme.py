"""The README is short and begins with what a newcomer needs; the contributors' map names every part of the package."""

from __future__ import annotations

import re

from support.checkout import PACKAGE, ROOT, violation_message

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "docs/CONTRIBUTING.md").read_text(encoding="utf-8")
MAX_LINES = 120
FIRST_SCREEN_LINES = 32


def on_the_map() -> set[str]:
    """Return the folders and modules in the first column of the table `src/gaia_memory/`."""
    table = CONTRIBUTING.partition("| `src/gaia_memory/` |")[2].partition("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`([\w/]+)`", line.split("|")[1])}


def rooms() -> set[str]:
    """Return every folder (`name/`) and module (`name`) of the package."""
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}


def test_every_folder_and_module_is_on_the_map():
    """Contributors must find them."""
    missing = sorted(rooms() - on_the_map())

    assert not missing, violation_message(missing, "not in the map of docs/CONTRIBUTING.md:")


def test_the_map_names_no_missing_folder_or_module():
    """A wrong map is worse than none."""
    gone = sorted(on_the_map() - rooms())

    assert not gone, violation_message(gone, "in the map of docs/CONTRIBUTING.md, but not in the package:")


def test_the_first_two_commands_of_the_readme_are_the_demo_and_the_tests():
    """No other command comes before them."""
    commands = re.findall(r"<!-- (\w+) command -->\n```bash\n(.+?)\n```", README, re.DOTALL)

    assert [name for name, _ in commands] == ["demo", "test"]
    assert re.findall(r"```(bash)", README) == ["bash", "bash"]
    assert commands[0][1].endswith("gaia demo")
    assert '"$VENV/bin/pytest"' in commands[1][1]


def test_the_first_screen_of_the_readme_has_a_picture_and_a_program_with_its_output():
    """A newcomer sees what the package does before how to install it."""
    first_screen = "\n".join(README.splitlines()[:FIRST_SCREEN_LINES])
    picture, program, output = (first_screen.find(text) for text in ("![", "```python", "```text"))

    assert -1 < picture < program < output
    assert len(README.splitlines()) <= MAX_LINES
