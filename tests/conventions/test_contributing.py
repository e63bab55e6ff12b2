"""`docs/CONTRIBUTING.md` refers to files that exist, and the changelog begins with the package's version."""

from __future__ import annotations

import re
import tomllib

from support.checkout import PACKAGE, ROOT, violation_message

PAGE = (ROOT / "docs/CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "docs/CHANGELOG.md").read_text(encoding="utf-8")


def paths_on_the_page() -> list[str]:
    """The inline code on the page that is a path: a Python, TOML, YAML or text file, or a folder."""
    return re.findall(r"`([\w./-]+(?:/|\.(?:py|toml|txt|yaml)))`", PAGE)


def test_every_path_on_the_page_exists():
    """In the package or in the checkout."""
    paths = paths_on_the_page()
    missing = [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()]

    assert len(paths) > 40
    assert not missing, violation_message(missing, "named in docs/CONTRIBUTING.md, but not found:")


def test_the_changelog_starts_with_the_version_of_the_package():
    """Versions are in descending order, each with its date."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", CHANGELOG, re.MULTILINE)

    assert versions[0] == version
    assert versions == sorted(versions, key=lambda each: tuple(map(int, each.split("."))), reverse=True)
