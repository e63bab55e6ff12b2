"""What may stand at a key, in words: the same words in the file, on the reference page and in every refusal."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as bounds
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gaia_memory.config.providers import ProviderConfig, Section

KeyPath = tuple[str, ...]


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section that this field opens, if it opens one; a provider's section counts as one value."""
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, Section) and not issubclass(kind, ProviderConfig):
        return kind
    return None


def settings(model: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every setting that is no section, with its path, in the order of declaration."""
    for name, field in model.model_fields.items():
        section = section_of(field)
        if section is None:
            yield (*path, name), field
        else:
            yield from settings(section, (*path, name))


def variable(path: KeyPath) -> str:
    """The environment variable that overrides a setting."""
    return "GAIA_" + "__".join(path).upper()


def dotted(path: KeyPath) -> str:
    """The key as it is written in messages."""
    return ".".join(path)


def allowed(field: FieldInfo) -> str:
    """What may stand at this key: kind, unit and range."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if "allowed" in extra:
        return str(extra["allowed"])
    kinds, metadata = _parts(field.annotation, list(field.metadata))
    words = _kind(kinds[0], str(extra.get("unit", "")), metadata)
    return f"{words}; null for none" if NoneType in kinds else words


def _parts(annotation: Any, metadata: list[Any]) -> tuple[list[Any], list[Any]]:
    """The kinds of a union, `NoneType` last, and what bounds them."""
    if get_origin(annotation) is Annotated:
        kind, *more = get_args(annotation)
        return _parts(kind, [*metadata, *more])
    if get_origin(annotation) not in {Union, UnionType}:
        return [annotation], [part for item in metadata for part in _flat(item)]
    kinds: list[Any] = []
    for member in get_args(annotation):
        inner, metadata = _parts(member, metadata)
        kinds += inner
    return sorted(kinds, key=lambda kind: kind is NoneType), metadata


def _flat(item: Any) -> list[Any]:
    return list(item.metadata) if isinstance(item, FieldInfo) else [item]


def _kind(kind: Any, unit: str, metadata: list[Any]) -> str:
    if kind is bool:
        return "true or false"
    if get_origin(kind) is Literal:
        *head, last = [f"`{choice}`" for choice in get_args(kind)]
        return f"{', '.join(head)} or {last}"
    number = "a whole number" if kind is int else "a number"
    return f"{number} of {unit}{_range(metadata)}"


def _range(metadata: list[Any]) -> str:
    low = next((part.ge for part in metadata if isinstance(part, bounds.Ge)), None)
    high = next((part.le for part in metadata if isinstance(part, bounds.Le)), None)
    above = next((part.gt for part in metadata if isinstance(part, bounds.Gt)), None)
    if above is not None:
        return f" above {above}"
    return f" from {low} to {high}" if high is not None else f" from {low} up"
