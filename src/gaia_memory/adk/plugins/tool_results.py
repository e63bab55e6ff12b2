"""Cuts long results of tools in a request to the model; the stored session keeps them whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gaia_memory.adk.tools.memory_tools import MemoryTool

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

OWN_TOOLS = frozenset({"remember", "load_memory", "recall", "update_memory", "forget_memory", "switch_context"})
"""The tools of memory; their answers have a budget of their own."""

_SEPARATOR_CHARACTERS = 4
"""What JSON adds for each further item, such as quotes and a comma."""

_MARK_CHARACTERS = 60


def cut_tool_results(request: LlmRequest, max_characters: int) -> None:
    """Cut every tool result of a request to `max_characters`; marks say how much is missing.

    Marks in nested results, and where the limit is below 1,000 characters, may exceed it a little. Strings are cut, and
    list items and keys beyond the limit are left out. Files in a result stay. The contents are replaced, not changed:
    they may belong to the session. A tool of the agent's own is cut whatever its name.
    """
    tools = request.tools_dict
    exempt = {name for name in OWN_TOOLS if isinstance(tools.get(name), MemoryTool | None)}
    request.contents = [_cut_content(content, max_characters, exempt) for content in request.contents]


def _cut_content(content: types.Content, max_characters: int, exempt: Collection[str]) -> types.Content:
    parts = [_cut_part(part, max_characters, exempt) for part in content.parts or []]
    is_cut = any(new is not old for new, old in zip(parts, content.parts or [], strict=True))
    return content.model_copy(update={"parts": parts}) if is_cut else content


def _cut_part(part: types.Part, max_characters: int, exempt: Collection[str]) -> types.Part:
    response = part.function_response
    if response is None or response.name in exempt or _size(response.response) <= max_characters:
        return part
    room_for_marks = _MARK_CHARACTERS if max_characters >= 1_000 else 0
    result, _ = _cut(response.response, max_characters - room_for_marks)
    return part.model_copy(update={"function_response": response.model_copy(update={"response": result})})


def _size(value: Any) -> int:
    """Return the characters of a result: its texts, keys and numbers; bytes are a file and do not count."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(key)) + _size(each) for key, each in value.items()) + _separators(value)
    if isinstance(value, list | tuple):
        return sum(map(_size, value)) + _separators(value)
    if isinstance(value, BaseModel):
        return _size(_as_json(value))
    return 0 if isinstance(value, bytes) else len(str(value))


def _separators(items: Sized) -> int:
    return max(len(items) - 1, 0) * _SEPARATOR_CHARACTERS


def _as_json(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(mode="json", exclude_none=True)


def _contains_file(value: Any) -> bool:
    if isinstance(value, dict | list | tuple):
        return any(map(_contains_file, value.values() if isinstance(value, dict) else value))
    return isinstance(value, bytes)


def _cut(value: Any, remaining: int) -> tuple[Any, int]:
    """Return a result cut to `remaining` characters, and how many remain after it."""
    if isinstance(value, str):
        excess = len(value) - max(remaining, 0)
        return (value, -excess) if excess <= 0 else (f"{value[:-excess]}… [cut: {excess} more characters]", 0)
    if isinstance(value, dict):
        return _cut_mapping(value, remaining)
    if isinstance(value, list | tuple):
        return _cut_items(value, remaining)
    if isinstance(value, BaseModel):
        return _cut_mapping(_as_json(value), remaining)
    return value, remaining - _size(value)


def _cut_mapping(value: dict[Any, Any], remaining: int) -> tuple[dict[Any, Any], int]:
    # The shortest first, so that a status is not lost behind a long text; the order stays.
    kept: dict[Any, Any] = {}
    for key in sorted(value, key=lambda key: len(str(key)) + _size(value[key])):
        cost = len(str(key)) + (_SEPARATOR_CHARACTERS if kept else 0)
        if remaining > cost or _contains_file(value[key]):
            kept[key], remaining = _cut(value[key], remaining - cost)
    missing = len(value) - len(kept)
    note = {"…": f"[cut: {missing} more keys]"} if missing else {}
    return {**{key: kept[key] for key in value if key in kept}, **note}, remaining


def _cut_items(value: Sequence[Any], remaining: int) -> tuple[list[Any], int]:
    kept: list[Any] = []
    for each in value:
        remaining -= _SEPARATOR_CHARACTERS if kept else 0
        if remaining > 0 or _contains_file(each):
            item, remaining = _cut(each, remaining)
            kept.append(item)
    missing = len(value) - len(kept)
    return [*kept, *([f"… [cut: {missing} more items]"] if missing else [])], remaining
