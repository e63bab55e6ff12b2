"""The reference page of the HTTP interface, rendered from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator

from gaia_memory.server.api_description import Operation, read_operations
from gaia_memory.server.application import build_api

_HEAD = """\
# The HTTP interface

`gaia serve` and `memory_app` answer these routes. Each but `/health` needs a token in `Authorization: Bearer TOKEN`, or
the cookie of a browser that [logged in](../how-to/behind-a-reverse-proxy.md). `/openapi.json` is the same as a document
for programs, and `/api` as a page for a browser. `{person}` stands for `/v1/apps/{app}/users/{user}`.

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
    lines = [_HEAD]
    for each in read_operations(build_api().openapi()):
        lines += _render_operation(each)
    return "\n".join(lines)


def _render_operation(operation: Operation) -> Iterator[str]:
    yield f"## `{operation.method} {operation.path.replace(_PERSON, '{person}')}`\n"
    yield f"{operation.does}\n"
    if operation.parameters:
        yield "| name | value | meaning |\n|---|---|---|"
        for each in operation.parameters:
            needed = " (required)" if each.is_required else ""
            yield f"| `{each.name}`{needed} | {each.values} | {each.meaning.replace('|', '&#124;')} |"
        yield ""
