"""The segments of a request's path, each of which may contain a slash: apps name their users as they like."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.types import Scope


def with_escaped_segments(scope: Scope) -> Scope:
    """Return the scope of a request with `%` and `/` in the segments of its path escaped: `unquote` each of them.

    Servers decode a path as a whole, after which nothing tells the slash of an id from one between two segments.
    """
    path: str = scope["path"]
    raw: str = (scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1")
    # A middleware that changed the path alone is right about it.
    segments = map(unquote, raw.split("/")) if unquote(raw) == path else path.split("/")
    return {**scope, "path": "/".join(each.replace("%", "%25").replace("/", "%2F") for each in segments)}
