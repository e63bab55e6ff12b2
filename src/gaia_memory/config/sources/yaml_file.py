"""Reads gaia.yaml: its settings, or an error with the position of the mistake but no quotation."""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from gaia_memory.errors import ConfigError

_MISSING_FILE_MESSAGE = "no such file; check the path, or GAIA_CONFIG, or leave it out for the defaults"


class FileSnapshot:
    """The content of the file at one moment, parsed once."""

    def __init__(self, path: Path, content: bytes | str) -> None:
        """Parse the bytes of the file at `path`; a text says why there are none."""
        self.content = content
        self._source = str(path)
        self._data: Any = None
        self._problem = content if isinstance(content, str) else None
        if isinstance(content, bytes):
            try:
                self._data = _parse_mapping(content, self._source)
            except ConfigError as error:
                self._problem = error.problems[0]

    @property
    def is_empty(self) -> bool:
        """Whether the file contains no setting, not even an empty section."""
        return self._problem is None and self._data is None

    def settings(self) -> dict[Any, Any]:
        """Return a copy of the mapping in the file; an empty file is an empty mapping.

        Raises:
            ConfigError: the file is missing, unreadable, not valid YAML, or not a mapping.
        """
        if self._problem is not None:
            raise ConfigError([self._problem], source=self._source)
        return copy.deepcopy(self._data) or {}


def read_snapshot(path: Path, previous: FileSnapshot | None = None) -> FileSnapshot:
    """Return the current content of a file, or `previous` if that is the same. Blocking."""
    content = _read(path, previous)
    return previous if previous is not None and previous.content == content else _parse_once(path, content)


@lru_cache(maxsize=16)
def _parse_once(path: Path, content: bytes | str) -> FileSnapshot:
    """Return a snapshot that all parts of the process share."""
    return FileSnapshot(path, content)


def _read(path: Path, previous: FileSnapshot | None) -> bytes | str:
    """Return the bytes, or why there are none."""
    try:
        if previous is not None and path.is_fifo():
            # `--config <(…)`: a pipe gives its text once, and a second read would block for ever.
            return previous.content
        return path.read_bytes()
    except FileNotFoundError:
        return _MISSING_FILE_MESSAGE
    except OSError as error:
        return f"cannot be read ({error.strerror or type(error).__name__}); it must be a readable file"
    except ValueError:
        return "its path contains a NUL character; check the path"


def _parse_mapping(content: bytes, source: str) -> Mapping[Any, Any] | None:
    data = _parse(content, source)
    if data is not None and not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else f"a single value ({type(data).__name__})"
        raise ConfigError([f"the file contains {kind}; write `key: value` lines, such as `app: gaia`"], source=source)
    return data


def _parse(content: bytes, source: str) -> Any:
    try:
        return yaml.load(content.decode("utf-8-sig"), Loader=_Loader)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        if (error.problem or "").startswith("found character '\\t'"):
            problem = f"{position}found a tab; indent with spaces"
        else:
            problem = f"{position}{_redact_quoted(error.problem or 'not YAML')}; correct the YAML there"
    except yaml.reader.ReaderError as error:
        problem = f"character {error.position + 1} is not allowed in YAML; remove it"
    except (RecursionError, ValueError, LookupError, AttributeError, TypeError):
        problem = (
            "a value has no valid form, or is nested too deeply; put dates and numbers in quotes, omit tags (`!!…`)"
        )
    # Outside the handlers: PyYAML's own message quotes the line, which may contain a key.
    raise ConfigError([problem], source=source)


def _redact_quoted(problem: str) -> str:
    """Return PyYAML's message without the words it quotes from the file; characters and its own `<names>` stay."""
    return re.sub(r"'([^']*)'", lambda found: found[0] if re.fullmatch(r".|<.*>", found[1]) else "a word", problem)


class _Loader(yaml.SafeLoader):
    """Rejects duplicate keys: PyYAML would silently drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping of a node."""
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key in seen and key_node.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "this key occurs twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
