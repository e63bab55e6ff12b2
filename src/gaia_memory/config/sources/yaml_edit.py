"""Changes one setting of gaia.yaml and keeps every other byte of it."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

import yaml

from gaia_memory.config.key_path import KeyPath, coerce_like, dotted_key, value_at
from gaia_memory.config.sources.load import Origin
from gaia_memory.config.sources.yaml_file import FileSnapshot
from gaia_memory.errors import ConfigError
from gaia_memory.files.private_files import replace_file


def set_in_file(origin: Origin, path: KeyPath, value: object) -> None:
    """Write `section.name: value` into the configuration's file, completely or not at all. Blocking.

    The file is replaced atomically. A symbolic link to it stays, and so do its mode and, where the system permits, its
    owner.

    Raises:
        ConfigError: the file cannot be used or written, or an environment variable or argument overrides the
            setting; nothing was changed.
    """
    # A link may be switched to another file; replace the one that it points to.
    target = Path(os.path.realpath(origin.path))
    source = str(origin.path)
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            # A pipe may block for ever.
            raise ConfigError(["is not a regular file; change it where it comes from"], source=source)
        before = target.read_bytes()
        after = edit_content(before, path, value, source=source)
        _require_in_force(origin, after, path, value)
        if after != before:
            _write(target, before, after, source=source)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"cannot be written ({reason}); set {_setting_line(path, value)} in it by hand"
        raise ConfigError([problem], source=source) from None


def edit_content(content: bytes, path: KeyPath, value: object, *, source: str) -> bytes:
    """Return the content of a file with one setting, of a section or of none, changed or added.

    Raises:
        ConfigError: the file is not valid YAML, or the change would not be that of the one setting alone.
    """
    *section, name = path
    data = FileSnapshot(Path(source), content).settings()
    section_data = value_at(data, tuple(section))
    if not isinstance(section_data, dict | None):
        label = section[0]
        raise ConfigError([f"{label}: must be a section; write `{label}:` and its settings below"], source=source)
    changed = {**(section_data or {}), name: value}
    expected = {**data, section[0]: changed} if section else changed
    if expected == data:
        return content
    with contextlib.suppress(ConfigError, yaml.YAMLError, ValueError):
        after = _edit_text(content.decode(), path, value).encode()
        if FileSnapshot(Path(source), after).settings() == expected:
            return after
    # An anchor or a merge key, for example: the edit would change other settings, too.
    raise ConfigError([f"cannot be edited safely; set {_setting_line(path, value)} in it by hand"], source=source)


def _edit_text(text: str, path: KeyPath, value: object) -> str:
    """Return the text with the value in place of the one at `path`, or with a new line where there is none."""
    root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    node, missing = root, path
    while missing and isinstance(node, yaml.MappingNode):
        found = next((each for key, each in node.value if key.value == missing[0]), None)
        if found is None:
            break
        node, missing = found, missing[1:]
    newline = "\r\n" if "\r\n" in text else "\n"
    line = _flow(_nested(missing, value))
    if root is None or node is None or (node is root and not isinstance(node, yaml.ScalarNode)):
        return f"{text}{'' if text.endswith(newline) or not text else newline}{line[1:-1]}{newline}"
    is_block = isinstance(node, yaml.CollectionNode) and bool(node.value) and not node.flow_style
    if isinstance(node, yaml.CollectionNode) and node.value and missing:
        # In front of the other settings of its section.
        first = node.value[0][0].start_mark
        gap = newline + " " * first.column if is_block else ", "
        return f"{text[: first.index]}{line[1:-1]}{gap}{text[first.index :]}"
    start, end = node.start_mark.index, _last_of(node).end_mark.index
    if is_block:
        if "#" in text[start:end] + text[end:].partition(newline)[0]:
            raise ValueError("the comments of a section would be lost")
        start = len(text[:start].rstrip())
    return f"{text[:start]}{'' if end > start and not is_block else ' '}{line}{text[end:]}"


def _last_of(node: yaml.Node) -> yaml.Node:
    """Return where the text of a node ends: a block seems to reach to what stands behind it."""
    while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _nested(path: KeyPath, value: object) -> object:
    return {path[0]: _nested(path[1:], value)} if path else value


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=sys.maxsize, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _setting_line(path: KeyPath, value: object) -> str:
    return f"`{dotted_key(path)}: {_flow(value)}`"


def _require_in_force(origin: Origin, content: bytes, path: KeyPath, value: object) -> None:
    loaded = origin.load(FileSnapshot(origin.path, content))
    effective = value_at(loaded.config, path)
    if effective != coerce_like(effective, value):
        problem = f"{dotted_key(path)} is set by an environment variable or an argument, which override this file"
        raise ConfigError([f"{problem}; change it there"], source=loaded.source)


def _write(target: Path, before: bytes, after: bytes, *, source: str) -> None:
    """Write a file that still has the content `before`."""

    def check() -> None:
        if target.read_bytes() != before:
            raise ConfigError(["is being changed by another program; try again"], source=source)

    replace_file(target, after, check=check)
