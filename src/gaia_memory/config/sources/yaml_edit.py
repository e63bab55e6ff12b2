"""Changing one setting of gaia.yaml, with every other byte of the file left as it is."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gaia_memory.config.describe import KeyPath, dotted_key
from gaia_memory.config.sources.load import LoadedConfig, Origin
from gaia_memory.config.sources.watched_file import FileSnapshot
from gaia_memory.errors import ConfigError

_BOM = b"\xef\xbb\xbf"
_CONCURRENT_CHANGE_MESSAGE = "is being changed by somebody else; try again"
_NOT_REPLACEABLE_ERRNOS = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""What systems say of a file that is mounted by itself (containers), or of a folder that may not be written in."""


def set_in_file(origin: Origin, path: KeyPath, value: object) -> None:
    """Write `section.name: value` into the configuration's file: all of it, or nothing. Blocking.

    Only where the file cannot be replaced, and may be written, it is written in place.

    A link to the file stays one, and so do its mode and, where the system lets us, its owner.

    Raises:
        ConfigError: the file cannot be used or written, is written in a way that this cannot edit, or would not
            decide (a variable or an argument does); nothing was changed.
    """
    # A link may be switched to another file; the one that it points to now is the one to replace.
    target = Path(os.path.realpath(origin.file.path))
    source = str(origin.file.path)
    try:
        _require_file(target, source=source)
        before = target.read_bytes()
        after = edit_content(before, path, value, source=source)
        _require_in_force(origin, after, path, value)
        _replace(target, before, after, source=source)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"cannot be written ({reason}); set {_setting_line(path, value)} in it by hand"
        raise ConfigError([problem], source=source) from None


def coerce_like(current: Any, value: object) -> Any:
    """Return a value as the schema holds it, in the place of `current`: a section where that is one."""
    return type(current).model_validate(value) if isinstance(current, BaseModel) else value


def edit_content(content: bytes, path: KeyPath, value: object, *, source: str) -> bytes:
    """Return a file's bytes with one setting of a section in it.

    Raises:
        ConfigError: the file is no good YAML, or the setting stands in it in a form that only a person can change.
    """
    section, name = path
    data = FileSnapshot(Path(source), content).settings()
    section_data = data.get(section)
    if not isinstance(section_data, dict | None):
        raise ConfigError([f"{section}: must be a section; write `{section}:` and its settings below"], source=source)
    expected = {**data, section: {**(section_data or {}), name: value}}
    bom = _BOM if content.startswith(_BOM) else b""
    text = content.removeprefix(_BOM).decode("utf-8")
    after = bom + _YamlEditor(text).with_setting(section, name, value).encode("utf-8")
    try:
        is_applied = FileSnapshot(Path(source), after).settings() == expected
    except ConfigError:
        is_applied = False
    if not is_applied:
        # Anchors, tags and the like: what is meant is not what stands there.
        raise ConfigError(
            [f"is written in a way that only a person can edit; set {_setting_line(path, value)} in it"], source=source
        )
    return after


class _YamlEditor:
    """The text of a YAML file, and the places in it where something may be put."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def with_setting(self, section: str, name: str, value: object) -> str:
        """Return the text with a setting in it, where the YAML is plain enough for that."""
        root = yaml.compose(self._text, Loader=yaml.SafeLoader)
        section_node = _child_node(root, section)
        if isinstance(section_node, yaml.MappingNode):
            return self._set_in_section(section_node, name, value)
        entry = f"{{{name}: {_inline_yaml(value)}}}"
        if section_node is not None:
            return self._replace_node(section_node, entry)
        if isinstance(root, yaml.MappingNode) and root.flow_style:
            return self._insert_into_flow(root, f"{section}: {entry}")
        return self._append_section(section, name, _inline_yaml(value))

    def _set_in_section(self, section_node: yaml.MappingNode, name: str, new_value: object) -> str:
        setting, value = _child_node(section_node, name), _inline_yaml(new_value)
        if isinstance(setting, yaml.MappingNode) and not setting.flow_style and isinstance(new_value, Mapping):
            return self._replace_block(setting, new_value)
        if setting is not None:
            return self._replace_node(setting, value)
        if section_node.flow_style:
            return self._insert_into_flow(section_node, f"{name}: {value}")
        first = section_node.start_mark
        return self._splice(first.index, first.index, f"{name}: {value}{self._newline}{' ' * first.column}")

    def _append_section(self, section: str, name: str, value: str) -> str:
        gap = "" if not self._text or self._text.endswith("\n") else self._newline
        return f"{self._text}{gap}{section}:{self._newline}  {name}: {value}{self._newline}"

    def _replace_node(self, node: yaml.Node, value: str) -> str:
        start, end = node.start_mark.index, node.end_mark.index
        return self._splice(start, end, value if end > start else f" {value}")

    def _replace_block(self, node: yaml.MappingNode, settings: Mapping[str, object]) -> str:
        """Return the text with other settings in a section that has one a line; a comment behind the last one stays."""
        first = node.start_mark
        lines = [f"{name}: {_inline_yaml(value)}" for name, value in settings.items()]
        return self._splice(first.index, _end_index(node), f"{self._newline}{' ' * first.column}".join(lines))

    def _insert_into_flow(self, node: yaml.MappingNode, entry: str) -> str:
        inside = node.start_mark.index + 1
        return self._splice(inside, inside, f"{entry}, " if node.value else entry)

    def _splice(self, start: int, end: int, text: str) -> str:
        return f"{self._text[:start]}{text}{self._text[end:]}"


def _child_node(node: yaml.Node | None, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if getattr(key, "value", None) == name), None)


def _end_index(node: yaml.Node) -> int:
    """Return where the last value of a node ends: PyYAML lets a section end where the next one begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_index(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _inline_yaml(value: object) -> str:
    """Return a value as it is written within a line."""
    return (
        yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=2**31)
        .removesuffix("\n")
        .removesuffix("\n...")
    )


def _setting_line(path: KeyPath, value: object) -> str:
    return f"`{dotted_key(path)}: {_inline_yaml(value)}`"


def _require_in_force(origin: Origin, content: bytes, path: KeyPath, value: object) -> None:
    loaded: LoadedConfig = origin.load(FileSnapshot(origin.file.path, content))
    effective: Any = loaded.config
    for part in path:
        effective = getattr(effective, part)
    if effective != coerce_like(effective, value):
        problem = (
            f"{dotted_key(path)} is decided by a variable of the environment or by an argument, and not by this file"
        )
        raise ConfigError([f"{problem}; change it there"], source=loaded.source)


def _require_file(target: Path, *, source: str) -> None:
    """Refuse a pipe or a device: reading it may take for ever, and it cannot be replaced."""
    if not stat.S_ISREG(target.stat().st_mode):
        raise ConfigError(["is no ordinary file; change it where it comes from"], source=source)


def _replace(target: Path, before: bytes, after: bytes, *, source: str) -> None:
    """Put a whole new file in the place of one that still holds what was read."""
    if after == before:
        return
    file_status = target.stat()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, f"it is read-only, mode {stat.S_IMODE(file_status.st_mode):04o}")
    try:
        _replace_whole(target, file_status, before, after, source=source)
    except OSError as error:
        if error.errno not in _NOT_REPLACEABLE_ERRNOS:
            raise
        _overwrite(target, before, after, source=source)


def _overwrite(target: Path, before: bytes, after: bytes, *, source: str) -> None:
    """Write into a file that cannot be replaced: one that is mounted by itself, or lies in a folder that is closed."""
    with open(target, "r+b") as file:
        if file.read() != before:
            raise ConfigError([_CONCURRENT_CHANGE_MESSAGE], source=source)
        file.seek(0)
        file.write(after)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _replace_whole(target: Path, file_status: os.stat_result, before: bytes, after: bytes, *, source: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(file_status.st_mode))
        if hasattr(os, "chown"):
            # Only root can give a file away; whoever may write here goes on as its owner.
            with contextlib.suppress(OSError):
                os.chown(temporary, file_status.st_uid, file_status.st_gid)
        if target.read_bytes() != before:
            raise ConfigError([_CONCURRENT_CHANGE_MESSAGE], source=source)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
