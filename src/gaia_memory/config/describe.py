"""Allowed values in words: the same words in the file, on the reference page and in error messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter
from pydantic.fields import FieldInfo

from gaia_memory.config.key_path import KeyPath
from gaia_memory.config.sections.provider_section import ProviderConfig, Section

AT_NEXT_MESSAGE = "at the next message"
AFTER_RESTART = "after a restart"


def section_of(field: FieldInfo) -> type[Section] | None:
    """Return the section type of a field, None if it is a value; a provider's section counts as a value."""
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, Section) and not issubclass(kind, ProviderConfig):
        return kind
    return None


def iter_settings(model: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Yield the path and field of every setting in the order of declaration, sections excluded."""
    for name, field in model.model_fields.items():
        section = section_of(field)
        if section is None:
            yield (*path, name), field
        else:
            yield from iter_settings(section, (*path, name))


def takes_effect(field: FieldInfo) -> str:
    """Return when a change of this key in the file takes effect."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return str(extra.get("takes_effect", AT_NEXT_MESSAGE))


def allowed_values(field: FieldInfo) -> str:
    """Return the allowed values of a setting: type, unit and range."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if "allowed" in extra:
        return str(extra["allowed"])
    annotated: Any = Annotated[field.annotation, Field(), *field.metadata]
    schema = TypeAdapter(annotated).json_schema()
    kinds = schema.get("anyOf", [schema])
    description = " or ".join(
        _describe_type(kind, str(extra.get("unit", ""))) for kind in kinds if kind.get("type") != "null"
    )
    return f"{description}; null for none" if {"type": "null"} in kinds else description


def _describe_type(schema: dict[str, Any], unit: str) -> str:
    if schema["type"] == "boolean":
        return "true or false"
    if "enum" in schema:
        *head, last = [f"`{choice}`" for choice in schema["enum"]]
        return f"{', '.join(head)} or {last}"
    number = "a whole number" if schema["type"] == "integer" else "a number"
    return f"{number} of {unit} {_describe_range(schema)}"


def _describe_range(schema: dict[str, Any]) -> str:
    if "exclusiveMinimum" in schema:
        return f"above {schema['exclusiveMinimum']:g}"
    if "maximum" in schema:
        return f"from {schema['minimum']:g} to {schema['maximum']:g}"
    return f"from {schema['minimum']:g} up"
