"""`gaia config`: is the configuration right, what is in force, and what there is to set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config, run_async
from gaia_memory.cli.ui.fact_output import print_json, print_rows
from gaia_memory.cli.ui.terminal import print_error, print_line, print_note, print_text, silence_logger

if TYPE_CHECKING:
    from gaia_memory.cli.config_sources import Setting
    from gaia_memory.config.sources.load import LoadedConfig

app = typer.Typer(no_args_is_help=True, help="Check, show and describe the configuration.")

_CHECK_EXAMPLES = """
Examples:

`gaia config check` looks at the file that every command would use.

`gaia config check my-agents/gaia.yaml && adk web my-agents` starts only with a file that is right.
"""
_SHOW_EXAMPLES = """
Examples:

`gaia config show` shows every setting, its value, and who set it.

`gaia config show --json | jq '.settings[] | select(.from != "default")'` shows what is not a default.
"""
_SCHEMA_EXAMPLES = """
Examples:

`gaia config schema > gaia.schema.json`, then `# yaml-language-server: $schema=gaia.schema.json` as the first line of
gaia.yaml, lets an editor complete and check it.
"""


@app.command("check", epilog=_CHECK_EXAMPLES)
def check(
    path: Annotated[
        Path | None, typer.Argument(help="The gaia.yaml; else GAIA_CONFIG, else the one in GAIA_HOME.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look whether the configuration is right, the environment included. Leaves with 1 when anything is not.

    Listed at once: values that are refused, and keys and variables that are unknown and would be ignored. Once all
    values are right, what mem0 says of its providers, too.
    """
    from gaia_memory.errors import ConfigError

    source, display_source, problems = "", "", []
    try:
        with silence_logger("gaia_memory.config"):
            loaded = load_config(path)
            source, problems = loaded.source, list(loaded.warnings)
            display_source = source if loaded.path else f"{source}{_lookup_note()}"
            run_async(_check_providers(loaded))
    except ConfigError as error:
        source = source or error.source
        problems += error.problems
    problems += _unknown_variables(problems)
    if as_json:
        print_json({"ok": not problems, "source": source, "problems": problems})
    elif not problems:
        print_line(f"OK: {display_source}")
    for problem in problems:
        print_error(f"{source}: {problem}")
    if problems:
        raise typer.Exit(1)


def _unknown_variables(problems: Sequence[str]) -> list[str]:
    """Return a line for each variable that sets nothing; where its section is known, a problem tells it already."""
    from gaia_memory.config.sources.environment import classify_variables

    _, suggestions = classify_variables(os.environ)
    return [
        f"{name}: unknown variable, ignored{f'; did you mean `{meant}`?' if meant else ''}"
        for name, meant in suggestions.items()
        if not any(line.startswith(f"{name}:") for line in problems)
    ]


def _lookup_note() -> str:
    from gaia_memory.config.sources.load import FILE_NAME, load

    home = load(None).config.home
    return f" (GAIA_CONFIG names no file, and there is no {home / FILE_NAME})"


async def _check_providers(loaded: LoadedConfig) -> None:
    """Ask mem0 about providers other than the usual ones; it takes a second to load, and is left alone else.

    Raises:
        ConfigError: a provider or one of its keys is unknown.
    """
    import tempfile

    from gaia_memory.cli.unopened_home import unopened_engine

    with tempfile.TemporaryDirectory(prefix="gaia-config-") as scratch:
        engine = await unopened_engine(loaded.config, Path(scratch))
        try:
            await engine.check()
        finally:
            await engine.backend.close(grace=0.1)


@app.command("show", epilog=_SHOW_EXAMPLES)
def show(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show every setting in force and where it comes from: the file, a variable of the environment, or its default.

    Keys and passwords are not shown.
    """
    from gaia_memory.cli.config_sources import effective_settings

    with silence_logger("gaia_memory.config"):
        loaded = load_config(config)
    settings = effective_settings(loaded, os.environ)
    for line in loaded.warnings:
        print_note(f"warning: {line}")
    if as_json:
        rows = [
            {"key": each.key, "value": each.value, "from": each.source, "variable": each.variable} for each in settings
        ]
        print_json({"file": None if loaded.path is None else str(loaded.path), "settings": rows})
        return
    print_rows(
        ("key", "value", "from"), [(each.key, _format_value(each), _source_label(each, loaded)) for each in settings]
    )


def _format_value(setting: Setting) -> str:
    from gaia_memory.config.render import yaml_scalar

    return setting.value if isinstance(setting.value, str) and setting.value else yaml_scalar(setting.value)


def _source_label(setting: Setting, loaded: LoadedConfig) -> str:
    if setting.source == "file":
        return loaded.source
    return setting.variable or "default"


@app.command("schema", epilog=_SCHEMA_EXAMPLES)
def schema() -> None:
    """Print the JSON schema of gaia.yaml, for editors."""
    from gaia_memory.config.render import render_json_schema

    print_text(render_json_schema(), end="")
