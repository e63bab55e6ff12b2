"""Turns raw data into a checked configuration; one pass reports every problem with its fix."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gaia_memory.config.describe import allowed_values, iter_settings, section_of
from gaia_memory.config.key_path import KeyPath, dotted_key, env_variable, has_path, value_at
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.redaction.mask import display_value

KeyLabel = Callable[[KeyPath], str]
"""Returns the name of a setting in messages: its dotted key, its environment variable or the argument."""


def split_known_keys(data: Mapping[Any, Any], label: KeyLabel) -> tuple[dict[str, Any], list[str]]:
    """Return the part of `data` that the schema knows, and a warning for each other key."""
    warnings: list[str] = []
    known = _collect_known(data, GaiaConfig, (), label, warnings)
    return known, warnings


def validate(data: Mapping[str, Any], label: KeyLabel) -> GaiaConfig | list[str]:
    """Return the configuration, or all of its problems: one line per key."""
    try:
        return GaiaConfig.model_validate(data)
    except ValidationError as error:
        problems: dict[KeyPath, str] = {}
        for detail in error.errors(include_url=False):
            path, field = _setting_at(detail["loc"])
            reason = str(detail["ctx"]["error"]) if detail["type"] == "value_error" else "is not allowed"
            is_default = not has_path(data, path) and not field.is_required()
            value = str(field.default) if is_default else value_at(data, path)
            problems.setdefault(path, f"{label(path)}: {display_value(value)} {reason}; give {allowed_values(field)}")
        return list(problems.values())


def _collect_known(
    data: Mapping[Any, Any], model: type[BaseModel], path: KeyPath, label: KeyLabel, warnings: list[str]
) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key, value in data.items():
        child_path = (*path, str(key))
        field = model.model_fields.get(key) if isinstance(key, str) else None
        if field is None:
            warnings.append(f"{label(child_path)}: unknown key, ignored{_suggestion(child_path, label)}")
            continue
        section = section_of(field)
        if section is None or not (value is None or isinstance(value, Mapping)):
            known[key] = value
        else:
            known[key] = _collect_known(value or {}, section, child_path, label, warnings)
    return known


def _suggestion(path: KeyPath, label: KeyLabel) -> str:
    """Return a did-you-mean: a key of the same section if one is close, else one of another section."""
    known = [known for known, _ in iter_settings(GaiaConfig)]
    sections = sorted({known[:1] for known in known if len(known) > 1})
    siblings = {known[-1]: known for known in [*known, *sections] if known[:-1] == path[:-1]}
    anywhere = {known[-1]: known for known in reversed(known)}
    for keys in (siblings, anywhere):
        matches = difflib.get_close_matches(path[-1].lower(), keys, n=1, cutoff=0.7)
        if matches:
            suggested = keys[matches[0]]
            display_name = env_variable(suggested) if label(path).upper().startswith("GAIA_") else dotted_key(suggested)
            return f"; did you mean `{display_name}`?"
    return ""


def _setting_at(location: tuple[int | str, ...]) -> tuple[KeyPath, FieldInfo]:
    """Return the setting that a pydantic error is about; anything below it (a branch of a union) is cut off."""
    path: KeyPath = (str(location[0]),)
    field = GaiaConfig.model_fields[path[0]]
    for part in map(str, location[1:]):
        section = field.annotation
        if not (isinstance(section, type) and issubclass(section, BaseModel)) or part not in section.model_fields:
            break
        path, field = (*path, part), section.model_fields[part]
    return path, field
