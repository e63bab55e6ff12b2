"""Reading gaia.yaml: what is in the file, or a refusal that says where it breaks without showing what it holds."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from gaia_memory.errors import ConfigError


def read(path: Path) -> dict[Any, Any]:
    """The mapping in the file; an empty file is an empty mapping.

    Raises:
        ConfigError: the file is missing, unreadable, no YAML, or no mapping.
    """
    data = _parse(_text(path), str(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else f"a single value ({type(data).__name__})"
        raise ConfigError([f"the file holds {kind}; write `key: value` lines, such as `app: gaia`"], source=str(path))
    return data


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        problem = "no such file; check the path (argument, `config=` or GAIA_CONFIG), or leave it out for the defaults"
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is no UTF-8; save the file as UTF-8"
    except OSError as error:
        problem = f"cannot be read ({error.strerror or type(error).__name__}); it must be a readable file"
    raise ConfigError([problem], source=str(path))


def _parse(text: str, source: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = f"{place}{_without_content(error.problem or 'no YAML')}; correct the YAML there"
    except yaml.reader.ReaderError as error:
        problem = f"character {error.position + 1} is not allowed in YAML; remove it"
    except RecursionError:
        problem = "lists and sections lie too deep; write plain `key: value` lines"
    except ValueError:
        problem = "a date or number is out of range; put it in quotes"
    # Outside the handlers: PyYAML's own message quotes the line, which may hold a key.
    raise ConfigError([problem], source=source)


def _without_content(problem: str) -> str:
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
