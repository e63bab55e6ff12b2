"""The reference page of public names, each with its signature and purpose."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

_NOT_CONSTRUCTED = {"Gaia", "Conversation", "Memory"}
"""Classes that callers receive and never construct."""

_HOST_METHODS = {"close", "generate_content_async", "model_post_init", "raises_errors"}
"""Methods that ADK, pydantic or `open_memory` calls."""

_HEAD = """\
# Public names

These names are stable; everything else may change. Values are frozen. The fakes of `gaia_memory.testing` have
[their own page](../how-to/test-your-agent.md).
"""


_LENGTH_NOTE = (
    "`remember` takes at most {remembered:,} characters, `add` at most {added:,} a fact: "
    "[how long a fact may be](../how-to/what-is-learned.md#how-long-a-fact-may-be)."
)
_SERVICES_NOTE = "It also has ADK's services for a Runner: `session_service` and `memory_service`."


def render_public() -> str:
    """Return the page of public names."""
    import gaia_memory
    from gaia_memory import models
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.commands.command import Reply
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.drafts.screen import MAX_FACT_CHARACTERS, MAX_VERBATIM_CHARACTERS
    from gaia_memory.memory import Memory

    lengths = _LENGTH_NOTE.format(remembered=MAX_FACT_CHARACTERS, added=MAX_VERBATIM_CHARACTERS)
    names = [getattr(gaia_memory, name) for name in gaia_memory.__all__]
    errors = [found for found in names if inspect.isclass(found) and issubclass(found, Exception)]
    values = [found for found in names if found.__module__.startswith("gaia_memory.models")]
    parts = [found for found in names if found not in errors and found not in values and found is not GaiaConfig]
    returned_values = [models.Contact, models.Profile, models.Status, models.SweepReport, Reply]
    sections = [
        ("`from gaia_memory import …`", "", sorted(parts, key=inspect.isclass)),
        ("Returned by `open_memory`", _SERVICES_NOTE, [Gaia]),
        ("Returned by `gaia.conversation`", "", [Conversation]),
        ("`gaia.memory`", lengths, [Memory]),
        ("Values", "`GaiaConfig` is [the configuration](configuration.md).", [*values, *returned_values]),
        ("Errors", "The whole tree: [errors](errors.md).", errors),
    ]
    return "\n".join([_HEAD, *(_section(title, words, found) for title, words, found in sections)])


def first_line(documented: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def signature_of(function: Any, *, name: str) -> str:
    """Return a call: the name, and the arguments with their types and defaults."""
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in {"self", "_"}]
    words: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in {word[0] for word in words}:
            words.append("*")
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        words.append(f"{star}{parameter.name}{_annotation_suffix(parameter)}{_default_suffix(parameter)}")
    return f"{name}({', '.join(words)})"


def _section(title: str, introduction: str, members: list[Any]) -> str:
    entries = [_entry(one) for one in members]
    return "\n\n".join(part for part in (f"## {title}", introduction, *entries) if part) + "\n"


def _entry(documented: Any) -> str:
    if not inspect.isclass(documented):
        signature = signature_of(documented, name=documented.__name__)
        call = f"{_call_prefix(documented)}{signature}{_return_annotation(documented)}"
        return "\n\n".join([f"### `{documented.__name__}`", first_line(documented), f"```text\n{call}\n```"])
    lines = [f"### `{documented.__name__}`", first_line(documented)]
    if _is_constructed_by_callers(documented):
        lines.append(f"```text\n{signature_of(documented, name=documented.__name__)}\n```")
    members = [_item(member, name) for name, member in _members(documented)]
    return "\n\n".join([*lines, "\n".join(members)] if members else lines)


def _is_constructed_by_callers(kind: type) -> bool:
    return kind.__name__ not in _NOT_CONSTRUCTED and (not issubclass(kind, Exception) or "__init__" in vars(kind))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and its mixins, without the hooks that only ADK calls."""
    mixins = [base for base in kind.__bases__ if base.__name__.endswith("Mixin")]
    # What a class wraps or a mixin declares again has one name.
    names = dict.fromkeys(name for each in (kind, *mixins) for name in vars(each))
    for name, member in ((name, inspect.getattr_static(kind, name)) for name in names):
        if name.startswith("_") or name.endswith("_callback") or name in _HOST_METHODS:
            continue
        if inspect.isfunction(member) or isinstance(member, property):
            yield name, member


def _item(member: Any, name: str) -> str:
    if isinstance(member, property):
        return f"- `{name}`: {first_line(member)}"
    return (
        f"- `{_call_prefix(member)}{signature_of(member, name=name)}{_return_annotation(member)}`: {first_line(member)}"
    )


def _return_annotation(function: Any) -> str:
    result = inspect.signature(function).return_annotation
    return "" if result in (None, "None", inspect.Signature.empty) else f" -> {_annotation_name(result)}"


def _call_prefix(function: Any) -> str:
    """Return how a call is made: awaited, entered or iterated over."""
    inner = inspect.unwrap(function)
    if inspect.isasyncgenfunction(inner):
        return "async for … in " if inner is function else "async with "
    return "await " if inspect.iscoroutinefunction(inner) else ""


def _annotation_suffix(parameter: inspect.Parameter) -> str:
    return "" if parameter.annotation is parameter.empty else f": {_annotation_name(parameter.annotation)}"


def _annotation_name(annotation: Any) -> str:
    return annotation.strip("'\"") if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default_suffix(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, Enum):
        return f" = {value.name}"
    if isinstance(value, Path):
        return f" = {str(value)!r}"
    return " = …" if repr(value).startswith("<") else f" = {value!r}"
