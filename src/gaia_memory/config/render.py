"""The schema as a commented gaia.yaml, as a JSON schema and as a reference page.

`python -m gaia_memory.config.render` writes them all when it is run in a checkout.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gaia_memory.config.describe import allowed_values, iter_settings, section_of, takes_effect
from gaia_memory.config.key_path import KeyPath, dotted_key, env_variable
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.secrets import PROVIDER_VARIABLES
from gaia_memory.config.sections.provider_section import ProviderConfig

_LINE_CHARACTERS = 110
_COMMAND = "python -m gaia_memory.config.render"

_YAML_HEAD = """\
# yaml-language-server: $schema=gaia.schema.json
#
# Every setting of gaia-memory, with its default: keep the lines you change, the rest may go.
# Above each stand what it does, what may stand there, the environment variable that overrides it, and when a
# change of this file takes effect.
# Keys and passwords never stand in this file: they come from the environment (GEMINI_API_KEY, OPENAI_API_KEY, ...).
"""

_PAGE_HEAD = """\
# Configuration

Everything is set in one YAML file, `gaia.yaml`, and nothing in it is required:
[`config/gaia.yaml`](../../config/gaia.yaml) holds every key with its default.

Which file: the one you name; else the one that the environment variable `GAIA_CONFIG` names; else `gaia.yaml` in the
home (`GAIA_HOME`, by default `~/.gaia`); else none. An environment variable overrides the file, an argument in code
overrides both. A variable is named after its key: `GAIA_`, then the key with `__` for each dot.

A key that is not known is a warning with a suggestion, and the rest of the file is loaded. A value that is not allowed
refuses the file: one message lists everything that is wrong, with the value and what may stand there.

## Changing it while memory is open

A saved file is taken up at the next message, at the next call of memory and at each look for quiet conversations; no
session is lost, and a call of a model that is under way ends as it began. Some keys take effect after a restart: until
then the old value stays in force, and the rest of the file is taken.

A version that cannot be used (broken, empty, missing, with a value that is not allowed) changes nothing: the last good
version stays in force, one warning in the log says why, `memory.status` is `degraded`, and the next good version is
taken up by itself. Where every setting is taken out of a file, write `{}` to go back to the defaults.

The environment is read together with the file: a variable that the program changes later counts from the next version
of the file on. A configuration that is no file (a mapping, a `GaiaConfig`, none) never changes.
"""

_PAGE_PROVIDERS = """\
## Providers

`memory.llm`, `memory.embedder` and `memory.vector_store` name a provider; all other keys go to mem0 as they are. These
two say the same:

```yaml
memory:
  llm: {provider: openai, model: gpt-5-mini}
  embedder:
    provider: openai
    config:
      model: text-embedding-3-small
```

`auto` is Gemini when `GEMINI_API_KEY` or `GOOGLE_API_KEY` is set, else `offline`, which needs no key and no network.

## Keys and passwords

They come from the environment only. An entry named like a key (`api_key`, `token`, `password`, ...), a value that looks
like one, or a URL with a password in it refuses the file; the message names the variable to set and never shows the
value. Providers read these by themselves:

| provider | variable |
|---|---|
"""

_PAGE_SECRETS_TAIL = """
Where a provider reads none, use the key's own variable, such as `GAIA_MEMORY__VECTOR_STORE__PASSWORD`; a database URL
with a password goes into `GAIA_MEMORY__DATABASE_URL` or `GAIA_SESSIONS__DATABASE_URL`.
"""


def render_yaml() -> str:
    """A gaia.yaml that says and explains the defaults."""
    return "\n".join([_YAML_HEAD.rstrip(), *_yaml_lines(GaiaConfig, ())]) + "\n"


def render_json_schema() -> str:
    """The JSON schema, for editors."""
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """The JSON schema of gaia.yaml."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **GaiaConfig.model_json_schema()}


def render_reference() -> str:
    """The reference page."""
    rows: dict[str, list[str]] = {}
    for path, field in iter_settings(GaiaConfig):
        rows.setdefault(path[0] if len(path) > 1 else "", []).append(_table_row(path, field))
    header = "| key | default | may be | what it does | a change takes effect |\n|---|---|---|---|---|\n"
    tables = []
    for name, lines in rows.items():
        section = section_of(GaiaConfig.model_fields[name]) if name else None
        title = f"## `{name}`\n\n{section.__doc__}\n\n" if section else "## The whole\n\n"
        tables.append(title + header + "\n".join(lines) + "\n")
    providers = [f"| `{provider}` | {_code_list(names)} |" for provider, names in sorted(PROVIDER_VARIABLES.items())]
    providers.append("| `azure_openai` | `LLM_AZURE_OPENAI_API_KEY`, `EMBEDDING_AZURE_OPENAI_API_KEY` |")
    tail = _PAGE_PROVIDERS + "\n".join(sorted(providers)) + "\n" + _PAGE_SECRETS_TAIL
    return "\n".join([_PAGE_HEAD, *tables, tail])


def rendered_files() -> dict[str, str]:
    """What is rendered, by its path in a checkout."""
    return {
        "config/gaia.yaml": render_yaml(),
        "config/gaia.schema.json": render_json_schema(),
        "docs/reference/configuration.md": render_reference(),
    }


def write_rendered_files(files: Mapping[str, str], *, command: str) -> int:
    """Write rendered files into the checkout that is the working directory; returns the exit code of `command`."""
    checkout = Path.cwd()
    if not (checkout / "src" / "gaia_memory" / "config" / "schema.py").is_file():
        sys.stderr.write(f"{checkout} is no checkout of gaia-memory: run `{command}` in its top folder\n")
        return 2
    for name, text in files.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")
    return 0


def main() -> int:
    """Write the rendered configuration files."""
    return write_rendered_files(rendered_files(), command=_COMMAND)


def default_value(field: FieldInfo) -> Any:
    """The default as it may stand in the file."""
    default = field.default
    if isinstance(default, ProviderConfig):
        return {"provider": default.provider}
    return default.as_posix() if isinstance(default, Path) else default


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


def comment_lines(text: str, indent: str) -> list[str]:
    """The text as comment lines of a YAML file."""
    return textwrap.wrap(
        " ".join(text.split()),
        _LINE_CHARACTERS,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# ",
        break_on_hyphens=False,
    )


def yaml_scalar(value: Any) -> str:
    """The value as it stands behind a key in a YAML file."""
    text = yaml.safe_dump(value, default_flow_style=True, width=_LINE_CHARACTERS)
    return text.removesuffix("\n").removesuffix("\n...")


def _table_row(path: KeyPath, field: FieldInfo) -> str:
    key, default = f"`{dotted_key(path)}`", f"`{yaml_scalar(default_value(field))}`"
    cells = (key, default, allowed_values(field), field.description or "", takes_effect(field))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code_list(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(" or "))


if __name__ == "__main__":
    raise SystemExit(main())
