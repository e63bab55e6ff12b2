"""Editing one setting changes nothing else in gaia.yaml."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from docs.render.config_files import render_yaml

from gaia_memory.config.sources.load import Origin, load
from gaia_memory.config.sources.yaml_edit import edit_content, set_in_file
from gaia_memory.config.sources.yaml_file import FileSnapshot
from gaia_memory.errors import ConfigError

ENABLED = ("memory", "enabled")


def off(text: str) -> str:
    """Return the text with memory switched off."""
    return edit_content(text.encode(), ENABLED, False, source="gaia.yaml").decode()


def origin_of(path: Path, environ: dict[str, str] | None = None) -> Origin:
    """Return the origin of a configuration."""
    origin = load(path, environ=environ or {}).origin
    assert origin is not None
    return origin


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("memory:\n  enabled: true # why\n", "memory:\n  enabled: false # why\n"),
        (
            "# a\nmemory:\n  # b\n  enabled:   yes\n  preload: true\n",
            "# a\nmemory:\n  # b\n  enabled:   false\n  preload: true\n",
        ),
        ("memory:\n    recall_limit: 3\napp: x\n", "memory:\n    enabled: false\n    recall_limit: 3\napp: x\n"),
        ("memory: {recall_limit: 3}\n", "memory: {enabled: false, recall_limit: 3}\n"),
        ("memory: {enabled: true}", "memory: {enabled: false}"),
        ("memory: {}\n", "memory: {enabled: false}\n"),
        ("memory:\napp: x\n", "memory: {enabled: false}\napp: x\n"),
        ("memory:  # soon\napp: x\n", "memory: {enabled: false}  # soon\napp: x\n"),
        ("memory: null\n", "memory: {enabled: false}\n"),
        ("memory:\n  enabled:\n", "memory:\n  enabled: false\n"),
        ("app: x\n", "app: x\nmemory: {enabled: false}\n"),
        ("app: x # no end of line", "app: x # no end of line\nmemory: {enabled: false}\n"),
        ("# all defaults\n", "# all defaults\nmemory: {enabled: false}\n"),
        ("", "memory: {enabled: false}\n"),
        ("app: x\r\nmemory:\r\n  preload: true\r\n", "app: x\r\nmemory:\r\n  enabled: false\r\n  preload: true\r\n"),
        ("\ufeffmemory: {enabled: true}\n", "\ufeffmemory: {enabled: false}\n"),
        (
            "app: caf\u00e9 \U0001f330\nmemory: {enabled: true}\n",
            "app: caf\u00e9 \U0001f330\nmemory: {enabled: false}\n",
        ),
        ("memory: {enabled: false}\n", "memory: {enabled: false}\n"),
        ("# a\n---\nmemory: {n: 010, x: yes}\n", "# a\n---\nmemory: {enabled: false, n: 010, x: yes}\n"),
        (
            "memory:\n    preload: 'yes' # a\n    stop:\n    -   b\n# c\napp: x\n",
            "memory:\n    enabled: false\n    preload: 'yes' # a\n    stop:\n    -   b\n# c\napp: x\n",
        ),
        ("a: &m {b: 1}\nmemory:\n  <<: *m\n", "a: &m {b: 1}\nmemory:\n  enabled: false\n  <<: *m\n"),
    ],
)
def test_only_the_setting_changes(before: str, after: str) -> None:
    """Comments, order, quotes, indentation and line endings are kept."""
    assert off(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# a\nhome: data  # b\napp: x\n", "# a\nhome: .  # b\napp: x\n"),
        ("# a\n\n# b\napp: x\n", "# a\n\n# b\napp: x\nhome: .\n"),
        ("# all defaults\n", "# all defaults\nhome: .\n"),
    ],
)
def test_a_setting_of_no_section_changes_alone(before: str, after: str) -> None:
    """Such as the home."""
    assert edit_content(before.encode(), ("home",), ".", source="gaia.yaml").decode() == after


@pytest.mark.parametrize(
    "text",
    [
        "common: &m {enabled: true}\nmemory: *m\n",
        "app: x\n...\n",
        "  app: x\n",
        "memory:\n  enabled: &x true\n  n: *x\n",
        "{app: x}\n",
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(text: str) -> None:
    """An anchor would change another setting as well; the message contains the line to write."""
    with pytest.raises(ConfigError, match=r"cannot be edited safely; set `memory\.enabled: false`"):
        off(text)


def test_a_section_that_is_not_a_mapping_is_refused() -> None:
    """Loading the file refuses it as well."""
    with pytest.raises(ConfigError, match="must be a section"):
        off("memory: 3\n")


def test_the_file_written_by_init_can_be_switched_off_and_on() -> None:
    """Afterwards all settings and comments are the same."""
    text = render_yaml()
    switched = off(text)
    back = edit_content(switched.encode(), ENABLED, True, source="gaia.yaml").decode()

    settings = [FileSnapshot(Path("x"), each.encode()).settings() for each in (text, switched, back)]
    comments = [[line for line in each.splitlines() if "#" in line] for each in (text, back)]
    assert settings[1]["memory"]["enabled"] is False
    assert settings[0] == settings[2]
    assert comments[0] == comments[1]


def test_the_file_is_replaced_atomically_and_keeps_its_mode_and_link(tmp_path: Path) -> None:
    """No temporary file is left."""
    real, link = tmp_path / "real.yaml", tmp_path / "gaia.yaml"
    real.write_text("memory: {enabled: true}\n")
    real.chmod(0o640)
    link.symlink_to(real)
    before = real.stat().st_ino

    set_in_file(origin_of(link), ENABLED, False)

    assert real.read_text() == "memory: {enabled: false}\n"
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.stat().st_ino != before
    assert list(tmp_path.glob(".*")) == []


def test_a_setting_overridden_by_a_variable_is_refused(tmp_path: Path) -> None:
    """The file would contradict the value in force."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n")

    with pytest.raises(ConfigError, match="set by an environment variable"):
        set_in_file(origin_of(path, {"GAIA_MEMORY__ENABLED": "true"}), ENABLED, False)

    assert path.read_text() == "app: x\n"


def test_a_file_that_has_become_invalid_is_not_overwritten(tmp_path: Path) -> None:
    """The error says what is wrong."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n")
    origin = origin_of(path)
    path.write_text("memory: {recall_limit: many}\n")

    with pytest.raises(ConfigError, match=r"recall_limit"):
        set_in_file(origin, ENABLED, False)

    assert path.read_text() == "memory: {recall_limit: many}\n"


def test_a_concurrent_edit_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is saved by another program while ours is being written."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n")
    origin, sync = origin_of(path), os.fsync

    def saved_meanwhile(descriptor: int) -> None:
        sync(descriptor)
        path.write_text("app: x\nmodel: offline\n")

    monkeypatch.setattr(os, "fsync", saved_meanwhile)
    with pytest.raises(ConfigError, match="try again"):
        set_in_file(origin, ENABLED, False)

    assert path.read_text() == "app: x\nmodel: offline\n"
    assert list(tmp_path.glob(".*")) == []


def test_a_missing_file_or_a_pipe_is_refused(tmp_path: Path) -> None:
    """The call does not block."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n")
    origin = origin_of(path)
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be written"):
        set_in_file(origin, ENABLED, False)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        set_in_file(origin, ENABLED, False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_reported(tmp_path: Path) -> None:
    """Nothing is changed."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n")
    origin = origin_of(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            set_in_file(origin, ENABLED, False)
    finally:
        tmp_path.chmod(0o700)

    assert path.read_text() == "app: x\n"


EMBEDDER = ("memory", "embedder")
OPENAI = {"provider": "openai", "model": "m"}


@pytest.mark.acceptance("C18")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("app: x\n", "app: x\nmemory: {embedder: {provider: openai, model: m}}\n"),
        ("memory: {preload: true}\n", "memory: {embedder: {provider: openai, model: m}, preload: true}\n"),
        (
            "memory:\n  embedder:\n  preload: true\n",
            "memory:\n  embedder: {provider: openai, model: m}\n  preload: true\n",
        ),
        (
            "memory:\n  embedder: {provider: gemini, embedding_dims: 8} # why\n",
            "memory:\n  embedder: {provider: openai, model: m} # why\n",
        ),
    ],
)
def test_a_nested_section_is_replaced_as_a_whole(before: str, after: str) -> None:
    """Nothing of the old provider is left, and the surrounding text stays."""
    assert edit_content(before.encode(), EMBEDDER, OPENAI, source="gaia.yaml").decode() == after
    with pytest.raises(ConfigError, match="cannot be edited safely"):
        edit_content(b"memory:\n  embedder:\n    provider: x # c\n", EMBEDDER, OPENAI, source="gaia.yaml")
