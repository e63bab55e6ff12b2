"""`gaia memory export` and `gaia memory import`: a user's memory as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
    scope_of,
)
from gaia_memory.cli.ui.fact_output import print_json, to_json_text
from gaia_memory.cli.ui.read_input import read_text
from gaia_memory.cli.ui.terminal import known_note, pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig

EXPORT_EXAMPLES = """
Examples:

`gaia memory export --user itay --output itay.json` writes a file that only you can read.

`gaia memory export --user itay | jq '.facts | length'` writes to standard output.
"""
IMPORT_EXAMPLES = """
Examples:

`gaia memory import --user itay itay.json` imports an export; a second time it adds nothing.

`gaia memory export -u itay -c old.yaml | gaia memory import -u itay -c new.yaml -` copies a user to another home.
"""


def export(
    user: UserOption,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write, readable only by you. Default: standard output."),
    ] = None,
    app_name: AppOption = None,
    config: ConfigOption = None,
) -> None:
    """Print everything stored about a user as JSON: facts with their sources, profile, pending conversations.

    Works while memory is off.
    """
    loaded = load_config(config)
    if output is None or str(output) == "-":
        print_json(run_async(_export(loaded, user, app_name)))
        return
    from gaia_memory.cli.ui.output_files import require_no_database, write_file

    require_no_database(output.expanduser())
    data = run_async(_export(loaded, user, app_name))
    write_file(output.expanduser(), to_json_text(data) + "\n", mode=0o600)
    print_note(f"{pluralize(len(data['facts']), 'fact')} about {user} written to {output}")


async def _export(loaded: LoadedConfig, user: str, app_name: str | None) -> dict[str, Any]:
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        scope = scope_of(engine, app_name, user)
        data = await engine.memory.export(scope)
        if not data["facts"]:
            await print_other_apps(engine, scope)
        return data


def import_(
    user: UserOption,
    file: Annotated[Path, typer.Argument(help="An export; `-` is standard input.", show_default=False)],
    restore_forgotten: Annotated[
        bool, typer.Option("--restore-forgotten", help="Import forgotten facts, too.")
    ] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Import the export of this user or another one. If any part is wrong, nothing is imported.

    Existing facts stay as they are, and forgotten facts stay forgotten. Facts keep their times and sources. The profile
    and pending conversations are not imported.
    """
    loaded = load_config(config)
    source_name = "standard input" if str(file) == "-" else str(file)
    data = _read_export(file, source_name)
    try:
        imported, added, total = run_async(_import(loaded, user, app_name, data, restore_forgotten=restore_forgotten))
    except InvalidInputError as error:
        raise InvalidInputError(f"{source_name}: {error}") from error
    given_count = len(data["facts"])
    if as_json:
        print_json({"user": user, "given": given_count, "taken": imported, "added": added, "total": total})
        return
    omitted_note = (
        f", {pluralize(given_count - imported, 'fact')} left out (forgotten or duplicate)"
        if imported < given_count
        else ""
    )
    print_line(
        f"{pluralize(imported, 'fact')} imported{known_note(imported - added)}{omitted_note}; "
        f"{pluralize(total, 'fact')} about {user} now."
    )


def _read_export(file: Path, source_name: str) -> Mapping[str, Any]:
    """Return the JSON object in a file.

    Raises:
        typer.BadParameter: the file cannot be read or contains no JSON object.
    """
    text = read_text(file, hint="FILE")
    try:
        data = json.loads(text)
    except ValueError as error:
        # Python's message gives the position and quotes nothing of the text.
        raise typer.BadParameter(f"{source_name} is no JSON: {error}", param_hint="FILE") from error
    except RecursionError as error:
        raise typer.BadParameter(f"{source_name} is no export: it is nested too deeply", param_hint="FILE") from error
    if not isinstance(data, dict):
        raise typer.BadParameter(
            f"{source_name} is no export: pass the output of `gaia memory export`", param_hint="FILE"
        )
    return data


async def _import(
    loaded: LoadedConfig, user: str, app_name: str | None, data: Mapping[str, Any], *, restore_forgotten: bool
) -> tuple[int, int, int]:
    """Return how many facts were imported, how many of them are new, and how many the user has now."""
    async with engine_without_background(loaded) as engine:
        scope = scope_of(engine, app_name, user)
        before = {fact.id for fact in await engine.memory.facts(scope)}
        with progress_bar("Importing facts") as advance:
            imported = await engine.memory.import_(scope, data, restore_forgotten=restore_forgotten, progress=advance)
        _note_other_person(data, user)
        current = await engine.memory.facts(scope)
        # Another process may write facts in the meantime.
        given_texts = {fact["text"] for fact in data["facts"]}
        added = sum(fact.id not in before and fact.text in given_texts for fact in current)
        return imported, min(added, imported), len(current)


def _note_other_person(data: Mapping[str, Any], user: str) -> None:
    scope_data = data.get("scope")
    other = scope_data.get("user") if isinstance(scope_data, Mapping) else None
    if isinstance(other, str) and other != user:
        print_note(f"the file is about {other}: its facts were imported as facts about {user}")
