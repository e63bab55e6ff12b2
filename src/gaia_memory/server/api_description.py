"""What the OpenAPI document says about each route, in words: for the page of the server and for the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MAX_NAMED_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query, or a key of a body: which values it takes and what it means."""

    name: str
    values: str
    meaning: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path: what it does, its parameters, and what each status of its answers means."""

    method: str
    path: str
    does: str
    parameters: tuple[Parameter, ...]
    answers: dict[str, str]


def read_operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield the operations of an OpenAPI document that FastAPI made, in its order."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, each in operations.items():
            parameters = (*_read_query(each), *_read_body(each, schemas))
            answers = {status: answer["description"] for status, answer in each["responses"].items()}
            yield Operation(method.upper(), path, each["description"], parameters, answers)


def _read_query(operation: Mapping[str, Any]) -> Iterator[Parameter]:
    for each in operation.get("parameters", ()):
        if each["in"] != "path":
            meaning = each.get("description", "")
            yield Parameter(each["name"], _describe_values(each["schema"]), meaning, each["required"])


def _read_body(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Parameter]:
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        form = schemas.get(schema.get("$ref", "").rpartition("/")[2])
        if form is None:
            yield Parameter(
                "body", _describe_values(schema), schema.get("description", ""), body.get("required", False)
            )
            return
        for name, each in form["properties"].items():
            is_required = name in form.get("required", ())
            yield Parameter(f"body: {name}", _describe_values(each), each.get("description", ""), is_required)


def _describe_values(schema: Mapping[str, Any]) -> str:
    choices = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    described = " or ".join(map(_describe_type, choices))
    default = schema.get("default")
    return described if default in (None, "", {}) else f"{described}; default `{str(default).lower()}`"


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "minimum" in schema:
        named = schema["maximum"] < _MAX_NAMED_NUMBER
        return f"{schema['minimum']} to {schema['maximum']}" if named else f"{schema['minimum']} or more"
    if schema.get("format") == "date-time":
        return "time with a zone"
    names = {"boolean": "true or false", "object": "object", "string": "text"}
    described = names.get(schema.get("type", ""), "value")
    return f"{described}, at most {schema['maxLength']:,} characters" if "maxLength" in schema else described
