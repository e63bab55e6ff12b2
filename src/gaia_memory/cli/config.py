"""`gaia config`: check, show and describe the configuration."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config
from gaia_memory.cli.ui.fact_output import print_json, print_rows
from gaia_memory.cli.ui.terminal import print_error, print_line, print_note, print_text, silence_logger
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig

app = typer.Typer(no_args_is_help=True, help="Check, show and describe the configuration.")

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

    Lists all invalid values and unknown keys and variables at once; once these are corrected, invalid models and
    providers. Exits with 1 if anything is wrong. A missing API key is a warning, because `adk` may read it from an
    agent's `.env`.
    """
    from gaia_memory.config.sources.environment import classify_variables
    from gaia_memory.errors import ConfigError

    source, problems, warnings = "", list[str](), list[str]()
    try:
        with silence_logger("gaia_memory.config"):
            loaded = load_config(path or config)
            source, problems = loaded.source, list(loaded.warnings)
            warnings = asyncio.run(check_models(loaded))
    except ConfigError as error:
        source = source or error.source
        problems += error.problems
    for name, meant in classify_variables(os.environ)[1].items():
        if not any(line.startswith(f"{name}:") for line in problems):
            problems.append(f"{name}: unknown variable, ignored{f'; did you mean `{meant}`?' if meant else ''}")
    if as_json:
        print_json({"ok": not problems, "source": source, "problems": problems, "warnings": warnings})
    elif not problems:
        print_line(f"OK: {source}")
    for problem in problems:
        print_error(f"{source}: {problem}")
    for warning in warnings:
        print_note(f"warning: {source}: {warning}")
    if problems:
        raise typer.Exit(1)


async def check_models(loaded: LoadedConfig) -> list[str]:
    """Return a warning for each key that a model needs and the environment lacks.

    The agents' model is checked with ADK, providers with mem0, only if they are not the usual ones: ADK and mem0 take a
    second each to load.

    Raises:
        ConfigError: a model, a provider or one of its keys is unknown; all are listed.
    """
    from gaia_memory.adk.models.model_factory import find_model_problem
    from gaia_memory.config.api_keys import MISSING_OPENAI_KEY_REMEDY, missing_key_variable
    from gaia_memory.engine_probe import EngineProbe
    from gaia_memory.errors import ConfigError

    model, problems, warnings = loaded.config.model, list[str](), list[str]()
    if problem := await run_in_thread(find_model_problem, model):
        # `adk` may read a key from an agent's `.env`.
        (warnings if problem[1] == MISSING_OPENAI_KEY_REMEDY else problems).append(": ".join(problem))
    if model.startswith("gemini-") and (missing := missing_key_variable("gemini", {}, os.environ)):
        warnings.append(f"model: {model!r} cannot be asked without {missing}: set it")
    with tempfile.TemporaryDirectory(prefix="gaia-config-") as scratch:
        probe = await EngineProbe.open(loaded.config, Path(scratch))
        try:
            await probe.check_providers()
            warnings += probe.missing_keys()
        except ConfigError as error:
            problems += error.problems
        finally:
            await probe.close()
    if problems:
        raise ConfigError(problems, source=loaded.source)
    return warnings


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
