"""`config/gaia.yaml`, `config/gaia.schema.json` and the configuration page, rendered from the schema."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gaia_memory.config.describe import AFTER_RESTART, allowed_values, iter_settings, section_of, takes_effect
from gaia_memory.config.key_path import KeyPath, dotted_key, env_variable
from gaia_memory.config.render import render_json_schema, yaml_scalar
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.secrets import PROVIDER_VARIABLES
from gaia_memory.config.sections.provider_section import ProviderConfig

_LINE_CHARACTERS = 110

_YAML_HEAD = """\
# yaml-language-server: $schema=gaia.schema.json
#
# Every setting of gaia-memory with its default. Keep the lines you change; you may delete the rest.
# The comment above a setting describes it: purpose, allowed values, environment variable, and when a change takes
# effect. Keys and passwords belong in the environment (GEMINI_API_KEY, OPENAI_API_KEY, ...), never in this file.
"""

_PAGE_HEAD = """\
# Configuration

One YAML file, `gaia.yaml`, contains all settings. Every setting has a default:
[`config/gaia.yaml`](../../config/gaia.yaml) lists them.

The file is the one you name, else `GAIA_CONFIG`, else `gaia.yaml` in the home (`GAIA_HOME`, default `~/.gaia`). An
environment variable overrides the file, and an argument in code overrides both. The variable of a key is `GAIA_` and
the key in capitals, with `__` for each dot: `GAIA_MEMORY__RECALL_LIMIT`.

An unknown key is a warning with a suggestion; the rest of the file is loaded. A value that is not allowed refuses the
file, and one message lists all problems.

## Changing it while memory is open

A saved file takes effect at the next message, sweep or call of memory. No session is lost, and a running model call
ends as it began. Keys marked *After a restart* keep their old value until then.

A version that cannot be used (broken, empty, missing) changes nothing. The last good version stays in force, the log
has one warning, `memory.status` is `degraded`, and the next good version takes effect. Write `{}` to go back to the
defaults.

Environment variables are read together with each version of the file. A mapping, a `GaiaConfig` or a missing file
never changes.
"""

_PAGE_PROVIDERS = """\
## Providers

`memory.llm`, `memory.embedder` and `memory.vector_store` name a provider. All other keys go to mem0. These two are
equivalent:

```yaml
memory:
  llm: {provider: openai, model: gpt-5-mini}
  embedder:
    provider: openai
    config:
      model: text-embedding-3-small
```

`auto` is Gemini if `GEMINI_API_KEY` or `GOOGLE_API_KEY` is set, else `offline`, which needs no key and no network.

## Keys and passwords

They come from the environment only. A file with a secret is refused: a key named like one (`api_key`, `token`,
`password`), a value that looks like one, or a URL with a password. The message names the variable to set and never
shows the value. Providers read these variables:

| provider | variable |
|---|---|
"""

_PAGE_SECRETS_TAIL = """
For any other provider use the variable of the key, such as `GAIA_MEMORY__VECTOR_STORE__PASSWORD`. Put a database URL
with a password into `GAIA_MEMORY__DATABASE_URL` or `GAIA_SESSIONS__DATABASE_URL`.
"""


def rendered_files() -> dict[str, str]:
    """Return the content of each file by its path in the checkout."""
    return {
        "config/gaia.yaml": render_yaml(),
        "config/gaia.schema.json": render_json_schema(),
        "docs/reference/configuration.md": render_reference(),
    }


def render_yaml() -> str:
    """Return a gaia.yaml with every default and its description."""
    return "\n".join([_YAML_HEAD.rstrip(), *_yaml_lines(GaiaConfig, ())]) + "\n"


def render_reference() -> str:
    """Return the reference page."""
    rows: dict[str, list[str]] = {}
    for path, field in iter_settings(GaiaConfig):
        rows.setdefault(path[0] if len(path) > 1 else "", []).append(_table_row(path, field))
    header = "| key | default | allowed | description |\n|---|---|---|---|\n"
    tables = []
    for name, lines in rows.items():
        section = section_of(GaiaConfig.model_fields[name]) if name else None
        title = f"## `{name}`\n\n{section.__doc__}\n\n" if section else "## Top level\n\n"
        tables.append(title + header + "\n".join(lines) + "\n")
    providers = [f"| `{provider}` | {_code_list(names)} |" for provider, names in sorted(PROVIDER_VARIABLES.items())]
    providers.append("| `azure_openai` | `LLM_AZURE_OPENAI_API_KEY`, `EMBEDDING_AZURE_OPENAI_API_KEY` |")
    tail = _PAGE_PROVIDERS + "\n".join(sorted(providers)) + "\n" + _PAGE_SECRETS_TAIL
    return "\n".join([_PAGE_HEAD, *tables, tail])


def _yaml_lines(model: type[BaseModel], path: KeyPath) -> Iterator[str]:
    indent = "  " * len(path)
    for name, field in model.model_fields.items():
        child_path = (*path, name)
        yield ""
        yield from comment_lines(field.description or "", indent)
        section = section_of(field)
        if section is not None:
            yield f"{indent}{name}:"
            yield from _yaml_lines(section, child_path)
            continue
        yield from comment_lines(f"Allowed: {allowed_values(field)}", indent)
        yield from comment_lines(
            f"Variable: {env_variable(child_path)}. A change takes effect {takes_effect(field)}.", indent
        )
        yield f"{indent}{name}: {yaml_scalar(default_value(field))}"


def _table_row(path: KeyPath, field: FieldInfo) -> str:
    key, default = f"`{dotted_key(path)}`", f"`{yaml_scalar(default_value(field))}`"
    description = f"{field.description} {'*After a restart.*' if takes_effect(field) == AFTER_RESTART else ''}".strip()
    cells = (key, default, allowed_values(field), description)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code_list(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(" or "))


def default_value(field: FieldInfo) -> Any:
    """Return the default of a setting as a plain YAML value."""
    default = field.default
    if isinstance(default, ProviderConfig):
        return {"provider": default.provider}
    if isinstance(default, tuple):
        return list(default)
    return default.as_posix() if isinstance(default, Path) else default


def comment_lines(text: str, indent: str) -> list[str]:
    """Return a text as comment lines of a YAML file."""
    return textwrap.wrap(
        " ".join(text.split()),
        _LINE_CHARACTERS,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# ",
        break_on_hyphens=False,
    )
