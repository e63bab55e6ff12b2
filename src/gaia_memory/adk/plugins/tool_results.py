"""Cuts long results of tools in a request to the model; the stored session keeps them whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

OWN_TOOLS = frozenset({"remember", "load_memory", "recall", "update_memory", "forget_memory", "switch_context"})
"""The tools of memory; their answers have a budget of their own."""


def cut_tool_results(request: LlmRequest, max_characters: int) -> None:
    """Cut every tool result of a request to about `max_characters`; marks say how much is missing.

    Strings are cut, and list items and keys beyond the limit are left out. Files in a result stay. The contents are
    replaced, not changed: they may belong to the session.
    """
    request.contents = [_cut_content(content, max_characters) for content in request.contents]


def _cut_content(content: types.Content, max_characters: int) -> types.Content:
    parts = [_cut_part(part, max_characters) for part in content.parts or []]
    is_cut = any(new is not old for new, old in zip(parts, content.parts or [], strict=True))
    return content.model_copy(update={"parts": parts}) if is_cut else content


def _cut_part(part: types.Part, max_characters: int) -> types.Part:
    response = part.function_response
    if response is None or response.name in OWN_TOOLS or _size(response.response) <= max_characters:
        return part
    result, _ = _cut(response.response, max_characters)
    return part.model_copy(update={"function_response": response.model_copy(update={"response": result})})


def _size(value: Any) -> int:
    """Return the characters of a result: its texts, keys and numbers; bytes are a file and do not count."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(key)) + _size(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return 0 if isinstance(value, bytes) else len(str(value))


def _cut(value: Any, remaining: int) -> tuple[Any, int]:
    """Return a result cut to `remaining` characters, and how many remain after it."""
    if isinstance(value, str):
        excess = len(value) - max(remaining, 0)
        return (value, -excess) if excess <= 0 else (f"{value[:-excess]}… [cut: {excess} more characters]", 0)
    if isinstance(value, dict):
        return _cut_mapping(value, remaining)
    if isinstance(value, list | tuple):
        return _cut_items(value, remaining)
    return value, remaining - _size(value)


def _cut_mapping(value: dict[Any, Any], remaining: int) -> tuple[dict[Any, Any], int]:
    # The shortest first, so that a status is not lost behind a long text; the order stays.
    kept: dict[Any, Any] = {}
    for key in sorted(value, key=lambda key: _size(value[key])):
        if remaining > 0 or not _size(value[key]):
            kept[key], remaining = _cut(value[key], remaining - len(str(key)))
    missing = len(value) - len(kept)
    note = {"…": f"[cut: {missing} more keys]"} if missing else {}
    return {**{key: kept[key] for key in value if key in kept}, **note}, remaining


def _cut_items(value: Sequence[Any], remaining: int) -> tuple[list[Any], int]:
    kept: list[Any] = []
    for each in value:
        if remaining <= 0 and _size(each):
            return [*kept, f"… [cut: {len(value) - len(kept)} more items]"], remaining
        item, remaining = _cut(each, remaining)
        kept.append(item)
    return kept, remaining
