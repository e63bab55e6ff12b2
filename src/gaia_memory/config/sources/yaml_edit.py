"""Changes one setting of gaia.yaml and keeps its comments, order and quoting."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.util import load_yaml_guess_indent

from gaia_memory.config.key_path import KeyPath, coerce_like, dotted_key, value_at
from gaia_memory.config.sources.load import Origin
from gaia_memory.config.sources.yaml_file import FileSnapshot
from gaia_memory.errors import ConfigError

_HEAD = re.compile(r"\ufeff?(?:(?:[#%].*)?\n)*---[ \t]*\n|\ufeff?")
"""The part above the settings: a byte order mark, directives and comments up to `---`."""

_DOCUMENT_END = re.compile(r"^\.\.\.", re.MULTILINE)
_INDENTATION = re.compile(r"^( +)[^\s#-]", re.MULTILINE)
_NOT_REPLACEABLE_ERRNOS = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors for a file that is itself a mount (containers), or whose folder is not writable."""


def set_in_file(origin: Origin, path: KeyPath, value: object) -> None:
    """Write `section.name: value` into the configuration's file, completely or not at all. Blocking.

    The file is replaced atomically; only a file that can be written but not replaced is written in place. A symbolic
    link to it stays, and so do its mode and, where the system permits, its owner.

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
        _write(target, before, after, source=source)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"cannot be written ({reason}); set {_setting_line(path, value)} in it by hand"
        raise ConfigError([problem], source=source) from None


def edit_content(content: bytes, path: KeyPath, value: object, *, source: str) -> bytes:
    """Return the content of a file with one setting, of a section or of none, changed or added.

    Raises:
        ConfigError: the file is not valid YAML, or uses YAML that cannot be edited without changing more.
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
    with contextlib.suppress(ConfigError, YAMLError, ValueError):
        after = _edit_text(content.decode(), section, name, value).encode()
        if FileSnapshot(Path(source), after).settings() == expected:
            return after
    # An anchor or a merge key, for example: the edit would change other settings too.
    raise ConfigError([f"cannot be edited safely; set {_setting_line(path, value)} in it by hand"], source=source)


def _edit_text(text: str, section: Sequence[str], name: str, value: object) -> str:
    if _DOCUMENT_END.search(text):
        raise ValueError
    newline = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    # ruamel.yaml keeps neither the byte order mark nor comments above `---`.
    end = found.end() if (found := _HEAD.match(text)) else 0
    head, text = text[:end], text[end:]
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = sys.maxsize
    document, sequence_indent, dash_offset = load_yaml_guess_indent(text, yaml=editor)
    mapping_indent = _INDENTATION.search(text)
    editor.indent(mapping=len(mapping_indent[1]) if mapping_indent else 2)
    if dash_offset is not None:
        editor.indent(sequence=sequence_indent, offset=dash_offset)
    if document is None:
        # Nothing but comments, which ruamel.yaml drops.
        head += f"{text}\n" if text and not text.endswith("\n") else text
        document = CommentedMap()
    settings = value_at(document, tuple(section))
    if settings is None:
        document[section[0]] = settings = CommentedMap()
    old = settings.get(name)
    if isinstance(old, CommentedMap) and isinstance(value, Mapping):
        _replace_settings(old, value)
    elif name in settings:
        settings[name] = value
    else:
        settings.insert(0, name, value)
    written = io.StringIO()
    editor.dump(document, written)
    return (head + written.getvalue()).replace("\n", newline)


def _replace_settings(old: CommentedMap, settings: Mapping[str, object]) -> None:
    """Put other settings into a section; comment lines after the section belong to the next key and stay."""
    comment = _trailing_comment(old)
    old.clear()
    old.ca.items.clear()
    old.update(settings)
    if comment is not None:
        old.ca.items[list(settings)[-1]] = comment


def _trailing_comment(settings: CommentedMap) -> Any:
    last = next(reversed(settings), None)
    value = settings.get(last)
    nested = _trailing_comment(value) if isinstance(value, CommentedMap) else None
    return nested or settings.ca.items.get(last)


def _setting_line(path: KeyPath, value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=sys.maxsize)
    return f"`{dotted_key(path)}: {text.removesuffix(chr(10)).removesuffix(chr(10) + '...')}`"


def _require_in_force(origin: Origin, content: bytes, path: KeyPath, value: object) -> None:
    loaded = origin.load(FileSnapshot(origin.path, content))
    effective = value_at(loaded.config, path)
    if effective != coerce_like(effective, value):
        problem = f"{dotted_key(path)} is set by an environment variable or an argument, which override this file"
        raise ConfigError([f"{problem}; change it there"], source=loaded.source)


def _write(target: Path, before: bytes, after: bytes, *, source: str) -> None:
    """Write a file that still has the content `before`."""
    if after == before:
        return
    file_status = target.stat()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, f"it is read-only, mode {stat.S_IMODE(file_status.st_mode):04o}")
    try:
        _replace(target, file_status, before, after, source=source)
    except OSError as error:
        if error.errno not in _NOT_REPLACEABLE_ERRNOS:
            raise
        target.write_bytes(after)


def _replace(target: Path, file_status: os.stat_result, before: bytes, after: bytes, *, source: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(file_status.st_mode))
        if hasattr(os, "chown"):
            # Only root may give a file to another owner; other users keep it as their own.
            with contextlib.suppress(OSError):
                os.chown(temporary, file_status.st_uid, file_status.st_gid)
        if target.read_bytes() != before:
            raise ConfigError(["is being changed by another program; try again"], source=source)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
