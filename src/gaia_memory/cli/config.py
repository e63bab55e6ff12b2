"""`gaia config`: check, show and describe the configuration."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, check_models, load_config
from gaia_memory.cli.ui.command_app import CommandApp
from gaia_memory.cli.ui.fact_output import print_json, print_rows
from gaia_memory.cli.ui.terminal import print_error, print_line, print_note, print_text, silence_logger

app = CommandApp(no_args_is_help=True, help="Check, show and describe the configuration.")

_CHECK_EXAMPLES = """
Examples:

`gaia config check` checks the file that every command would use.

`gaia config check my-agents/gaia.yaml && adk web my-agents` starts only if the file is valid.
"""
_SHOW_EXAMPLES = """
Examples:

`gaia config show` shows every setting, its value and its source.

`gaia config show --json | jq '.settings[] | select(.from != "default")'` shows only settings that are not defaults.
"""
_SCHEMA_EXAMPLES = """
Examples:

`gaia config schema > gaia.schema.json`, then `# yaml-language-server: $schema=gaia.schema.json` as the first line of
gaia.yaml, makes an editor complete and check it.
"""


@app.command("check", epilog=_CHECK_EXAMPLES)
def check(
    path: Annotated[
        Path | None, typer.Argument(help="The gaia.yaml. Default: GAIA_CONFIG, else the one in GAIA_HOME.")
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Check the configuration and the environment.

    Lists all invalid values, models, providers and unknown keys and variables at once. Exits with 1 if anything is
    wrong. A missing API key is a warning, because `adk` may read it from an agent's `.env`.
    """
    from gaia_memory.errors import ConfigError

    if path is not None and config is not None:
        raise typer.BadParameter("the file is given twice: pass PATH or --config", param_hint="--config")
    path = path or config
    source, display_source, problems, warnings = "", "", [], []
    try:
        with silence_logger("gaia_memory.config"):
            loaded = load_config(path)
            source, problems = loaded.source, list(loaded.warnings)
            display_source = source if loaded.path else f"{source}{_lookup_note()}"
            warnings = asyncio.run(check_models(loaded))
    except ConfigError as error:
        source = source or error.source
        problems += error.problems
    problems += _unknown_variables(problems)
    if as_json:
        print_json({"ok": not problems, "source": source, "problems": problems, "warnings": warnings})
    elif not problems:
        print_line(f"OK: {display_source}")
    lines = _line_numbers(source) if problems else {}
    for problem in problems:
        line = lines.get(problem.partition(":")[0])
        print_error(f"{source}: {problem}{f' (line {line})' if line else ''}")
    for warning in warnings:
        print_note(f"warning: {source}: {warning}")
    if problems:
        raise typer.Exit(1)


def _unknown_variables(problems: Sequence[str]) -> list[str]:
    """Return a line for each unknown variable that no other problem names."""
    from gaia_memory.config.sources.environment import classify_variables

    _, suggestions = classify_variables(os.environ)
    return [
        f"{name}: unknown variable, ignored{f'; did you mean `{meant}`?' if meant else ''}"
        for name, meant in suggestions.items()
        if not any(line.startswith(f"{name}:") for line in problems)
    ]


def _line_numbers(source: str) -> dict[str, int]:
    """Return the line of each key in a YAML file, by its dotted path; nothing if it is no file, or not valid."""
    import yaml

    lines: dict[str, int] = {}

    def collect(node: yaml.Node | None, prefix: str) -> None:
        for key, value in node.value if isinstance(node, yaml.MappingNode) else []:
            name = f"{prefix}{key.value}"
            lines.setdefault(name, key.start_mark.line + 1)
            collect(value, f"{name}.")

    try:
        collect(yaml.compose(Path(source).read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader), "")
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return {}
    return lines


def _lookup_note() -> str:
    from gaia_memory.config.sources.load import FILE_NAME, load

    home = load(None).config.home
    return f" (GAIA_CONFIG names no file, and there is no {home / FILE_NAME})"


@app.command("show", epilog=_SHOW_EXAMPLES)
def show(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show every setting and its source: the file, an environment variable, or the default.

    Keys and passwords are masked.
    """
    from gaia_memory.cli.config_sources import effective_settings

    with silence_logger("gaia_memory.config"):
        loaded = load_config(config)
    settings = effective_settings(loaded, os.environ)
    for line in loaded.warnings:
        print_note(f"warning: {line}")
    if as_json:
        print_json({"file": None if loaded.path is None else str(loaded.path), "settings": settings})
        return
    sources = {"default": "default", "file": loaded.source}
    rows = [(row["key"], _format_value(row["value"]), row["variable"] or sources[row["from"]]) for row in settings]
    print_rows(("key", "value", "from"), rows)


def _format_value(value: Any) -> str:
    from gaia_memory.config.render import yaml_scalar

    return value if isinstance(value, str) and value else yaml_scalar(value)


@app.command("schema", epilog=_SCHEMA_EXAMPLES)
def schema() -> None:
    """Print the JSON schema of gaia.yaml, for editors."""
    from gaia_memory.config.render import render_json_schema

    print_text(render_json_schema(), end="")
