"""Reading gaia.yaml: what is in the file, or a refusal that says where it breaks without showing what it holds."""

from __future__ import annotations

import copy
import os
import re
import stat
import threading
import time
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from gaia_memory.errors import ConfigError

TRUSTED_AGE_SECONDS = 2.0
"""Files younger than this are read again: within the steps of a file system's clock (2 s on FAT) a second change may
leave no trace in its time and size."""

_MAX_READS = 3
_SPECIAL_FILE_TESTS = (stat.S_ISFIFO, stat.S_ISCHR, stat.S_ISSOCK)
_MISSING_FILE_MESSAGE = (
    "no such file; check the path (argument, `config=` or GAIA_CONFIG), or leave it out for the defaults"
)

_Signature = tuple[int, ...]


class FileSnapshot:
    """What the file held at one moment, parsed once, and which complaints about it were told already."""

    def __init__(self, path: Path, content: bytes | str) -> None:
        """Parse the bytes of the file at `path`; text is why there are none."""
        self.content = content
        self._source = str(path)
        self._data: Any = None
        self._problem = content if isinstance(content, str) else None
        self._reported: set[str] = set()
        if isinstance(content, bytes):
            try:
                self._data = _parse_mapping(content, self._source)
            except ConfigError as error:
                self._problem = error.problems[0]

    @property
    def is_empty(self) -> bool:
        """True where the file holds no setting, not even an empty section."""
        return self._problem is None and self._data is None

    def settings(self) -> dict[Any, Any]:
        """A copy of the mapping in the file; an empty file is an empty mapping.

        Raises:
            ConfigError: the file is missing, unreadable, no YAML, or no mapping.
        """
        if self._problem is not None:
            raise ConfigError([self._problem], source=self._source)
        return copy.deepcopy(self._data) or {}

    def is_first_report(self, message: str) -> bool:
        """True the first time this complaint is made about this version, by whichever part of the process."""
        is_first = message not in self._reported
        self._reported.add(message)
        return is_first


class WatchedFile:
    """One file of the process: read when it may have changed, parsed when its bytes did. For worker threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._snapshot: FileSnapshot | None = None
        self._trusted_signature: _Signature | None = None

    def snapshot(self) -> FileSnapshot:
        """What the file holds now; the same object for as long as its bytes are the same."""
        with self._lock:
            if self._snapshot is not None and self._is_unchanged():
                return self._snapshot
            content, self._trusted_signature = self._read()
            if self._snapshot is None or self._snapshot.content != content:
                self._snapshot = FileSnapshot(self.path, content)
            return self._snapshot

    def _is_unchanged(self) -> bool:
        try:
            file_status = os.stat(self.path)
        except OSError:
            return False
        # A pipe gives its text once.
        return _signature(file_status) == self._trusted_signature or any(
            is_pipe(file_status.st_mode) for is_pipe in _SPECIAL_FILE_TESTS
        )

    def _read(self) -> tuple[bytes | str, _Signature | None]:
        """The bytes, or why there are none, and the signature that stands for them from now on."""
        try:
            for _ in range(_MAX_READS - 1):
                content, trusted, is_whole = _read(self.path)
                if is_whole:
                    return content, trusted
            content, trusted, _ = _read(self.path)
            return content, trusted
        except FileNotFoundError:
            return _MISSING_FILE_MESSAGE, None
        except OSError as error:
            return f"cannot be read ({error.strerror or type(error).__name__}); it must be a readable file", None
        except ValueError:
            return "its path holds a NUL, which no file system knows; check the path", None


def watch_file(path: Path) -> WatchedFile:
    """The one object for a file, whichever part of the process asks."""
    with _watch_lock:
        return _cached_file(path)


_watch_lock = threading.Lock()
"""Two parts that load a file at the same moment meet in one `WatchedFile`."""


@lru_cache(maxsize=256)
def _cached_file(path: Path) -> WatchedFile:
    return WatchedFile(path)


def _read(path: Path) -> tuple[bytes, _Signature | None, bool]:
    """The bytes, their signature if a later change must show in it, and False while somebody is writing them."""
    now = time.time()
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        content = file.read()
        after = os.fstat(file.fileno())
    has_settled = now - max(before.st_mtime, before.st_ctime) > TRUSTED_AGE_SECONDS
    # Half a file may be good YAML, and say something else than the whole. A pipe ends where its writer ends.
    is_whole = _signature(before) == _signature(after) or not stat.S_ISREG(before.st_mode)
    return content, _signature(before) if has_settled else None, is_whole


def _signature(file_status: os.stat_result) -> _Signature:
    # The change time tells an edit whose modification time was put back.
    return file_status.st_dev, file_status.st_ino, file_status.st_size, file_status.st_mtime_ns, file_status.st_ctime_ns


def _parse_mapping(content: bytes, source: str) -> Mapping[Any, Any] | None:
    data = _parse(_decode(content, source), source)
    if data is not None and not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else f"a single value ({type(data).__name__})"
        raise ConfigError([f"the file holds {kind}; write `key: value` lines, such as `app: gaia`"], source=source)
    return data


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is no UTF-8; save the file as UTF-8"
    raise ConfigError([problem], source=source)


def _parse(text: str, source: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        if (error.problem or "").startswith("found character '\\t'"):
            problem = f"{position}a tab stands there; indent with spaces"
        else:
            problem = f"{position}{_redact_quoted(error.problem or 'no YAML')}; correct the YAML there"
    except yaml.reader.ReaderError as error:
        problem = f"character {error.position + 1} is not allowed in YAML; remove it"
    except RecursionError:
        problem = "lists and sections lie too deep; write plain `key: value` lines"
    except ValueError:
        problem = "a date or number is out of range; put it in quotes"
    except (LookupError, AttributeError, TypeError):
        problem = "a value is not what its tag (`!!…`) says; write it without the tag"
    # Outside the handlers: PyYAML's own message quotes the line, which may hold a key.
    raise ConfigError([problem], source=source)


def _redact_quoted(problem: str) -> str:
    """PyYAML's complaint without the words it quotes from the file; signs and its own `<names>` stay."""
    return re.sub(r"'([^']*)'", lambda found: found[0] if re.fullmatch(r".|<.*>", found[1]) else "a word", problem)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice: YAML would silently drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping of a node."""
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key in seen and key_node.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "this key stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
