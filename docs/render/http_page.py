"""The reference page of the HTTP interface, rendered from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gaia_memory.server.application import build_api

_HEAD = """\
# The HTTP interface

`gaia serve` and `memory_app` answer these routes. Each but `/health` needs a token in `Authorization: Bearer TOKEN`, or
the cookie of a browser that [logged in](../how-to/behind-a-reverse-proxy.md). `/openapi.json` is the same as a document
for programs. `{person}` stands for `/v1/apps/{app}/users/{user}`.

- Unknown parameters and keys are refused (422), and so are limits out of range.
- Errors have the form of RFC 9457, `application/problem+json`. Without the database it is 503 with `reason` and
  `remedy`.
- Lists are `{"items", "total", "offset", "limit", "has_more"}`, or `{"items"}` where they have no pages.
- Answers to GET have an `ETag`: send it as `If-None-Match` to get 304 while nothing changed, or, to PATCH and DELETE of
  a fact, as `If-Match` to get 412 if somebody else changed it.
- `events` is a stream of server-sent events. A client that sends the id of its last event as `Last-Event-ID` misses
  nothing and gets nothing twice, also over a restart of the server.
"""
_PERSON = "/v1/apps/{app}/users/{user}"


def render_http() -> str:
    """Return the page."""
    document = build_api().openapi()
    lines = [_HEAD]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += _render_operation(f"{method.upper()} {path.replace(_PERSON, '{person}')}", operation, document)
    return "\n".join(lines)


def _render_operation(title: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `{title}`\n"
    yield f"{operation['description']}\n"
    rows = [
        (each["name"], each["schema"], each.get("description", ""), each["required"])
        for each in operation.get("parameters", [])
        if each["in"] != "path"
    ]
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        form = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
        required = form.get("required", [])
        rows += [
            (f"body: {name}", each, each.get("description", ""), name in required)
            for name, each in form.get("properties", {}).items()
        ]
    if rows:
        yield "| name | value | meaning |\n|---|---|---|"
        for name, schema, meaning, is_required in rows:
            needed = " (required)" if is_required else ""
            yield f"| `{name}`{needed} | {_describe_value(schema)} | {meaning.replace('|', '&#124;')} |"
        yield ""


def _describe_value(schema: Mapping[str, Any]) -> str:
    choices = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    described = " or ".join(_describe_type(each) for each in choices)
    default = schema.get("default")
    return described if default in (None, "", {}) else f"{described}; default `{str(default).lower()}`"


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}" if schema["maximum"] < 2**53 else "0 or more"
    return {"date-time": "time with a zone"}.get(
        schema.get("format", ""),
        {"boolean": "true or false", "object": "object", "string": "text"}.get(schema.get("type", ""), "value"),
    )
