"""Paths of settings: `("memory", "recall_limit")` is `memory.recall_limit` and `GAIA_MEMORY__RECALL_LIMIT`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

KeyPath = tuple[str, ...]

_Model = TypeVar("_Model", bound=BaseModel)


def dotted_key(path: KeyPath) -> str:
    """Return the key as messages show it."""
    return ".".join(path)


def env_variable(path: KeyPath) -> str:
    """Return the environment variable that overrides a setting."""
    return "GAIA_" + "__".join(path).upper()


def value_at(data: object, path: KeyPath) -> Any:
    """Return the value at a path of nested mappings or models, None if the path does not exist."""
    value: Any = data
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
    return value


def has_path(data: Mapping[Any, Any], path: KeyPath) -> bool:
    """Return whether nested mappings set a path, or set one of its sections to a single value."""
    value: Any = data
    for part in path:
        if not isinstance(value, Mapping):
            return value is not None
        if part not in value:
            return False
        value = value[part]
    return True


def with_value(model: _Model, path: KeyPath, value: Any) -> _Model:
    """Return a copy of a model with another value at a path; nothing is validated."""
    name, *rest = path
    return model.model_copy(update={name: with_value(getattr(model, name), tuple(rest), value) if rest else value})


def coerce_like(current: Any, value: object) -> Any:
    """Return `value` in the type that the schema has for `current`: a model if that is a section."""
    return type(current).model_validate(value) if isinstance(current, BaseModel) else value
