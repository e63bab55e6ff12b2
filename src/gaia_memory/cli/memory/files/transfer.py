"""`gaia memory export` and `gaia memory import`: a user's memory as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    open_scope,
    print_other_scopes,
    require_named_user,
)
from gaia_memory.cli.ui.fact_output import not_current_note, print_json, to_json_text
from gaia_memory.cli.ui.output_files import require_writable, write_file
from gaia_memory.cli.ui.read_input import display_name, read_text
from gaia_memory.cli.ui.refused import SkipRefusedOption, print_masked, print_refused, refused_to_dict
from gaia_memory.cli.ui.terminal import known_note, pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError

EXPORT_EXAMPLES = """
Examples:

`gaia memory export --user ada --output ada.json` writes a file that only you can read.

`gaia memory export --user ada | jq '.facts | length'` writes to standard output.
"""
IMPORT_EXAMPLES = """
Examples:

`gaia memory import --user ada ada.json` imports an export; a second time it adds nothing.

`gaia memory export -u ada -c old.yaml | gaia memory import -u ada -c new.yaml -` copies a user to another home.
"""


async def export(
    user: UserOption,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write, readable only by you. Default: standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    app_name: AppOption = None,
    config: ConfigOption = None,
) -> None:
    """Print everything stored about a user as JSON: facts with their sources, profile, pending conversations.

    The facts include those that have expired or not begun to hold, which no list shows.
    Works while memory is off.
    """
    file = None if output is None or str(output) == "-" else output.expanduser()
    if file is not None:
        require_writable(file, overwrite=force)
    async with open_scope(config, app_name, user, allow_disabled=True) as (engine, scope):
        data = await engine.memory.export(scope)
        note = not_current_note((await engine.memory.preview_forget(scope)).facts, engine.clock.now())
        if not data["facts"]:
            await print_other_scopes(engine, scope)
    if file is None:
        print_json(data)
        return
    write_file(file, to_json_text(data) + "\n", mode=0o600)
    count = pluralize(len(data["facts"]), "fact")
    print_note(f"{count}{note} about {user} written to {output}")


async def import_(
    context: typer.Context,
    user: UserOption,
    file: Annotated[Path, typer.Argument(help="An export; `-` is standard input.", show_default=False)],
    restore_forgotten: Annotated[
        bool, typer.Option("--restore-forgotten", help="Import forgotten facts, too.")
    ] = False,
    skip_refused: SkipRefusedOption = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Import the export of this user or another one. If any part is wrong, nothing is imported.

    Existing facts stay as they are, and forgotten facts stay forgotten. Facts keep their times and sources. The profile
    and pending conversations are not imported.
    """
    data = _read_export(file)
    exported = data.get("scope")
    owner = exported.get("user") if isinstance(exported, Mapping) else None
    other = owner if isinstance(owner, str) and owner != user else None
    require_named_user(context, user, other)
    from gaia_memory.redaction.credentials import mask_credentials
    from gaia_memory.transfer.export_format import drop_refused

    async with open_scope(config, app_name, user, needs_home=False) as (engine, scope):
        refused, allow_numbers = list[tuple[str, str]](), engine.config.memory.allow_numbers
        if skip_refused:
            data, refused = drop_refused(data, allow_numbers=allow_numbers)
        # Expired facts, too, which no list shows.
        before = {fact.id for fact in (await engine.memory.preview_forget(scope)).facts}
        try:
            with progress_bar("Importing facts") as advance:
                taken = await engine.memory.import_(scope, data, restore_forgotten=restore_forgotten, progress=advance)
        except InvalidInputError as error:
            raise InvalidInputError(f"{display_name(file)}: {error}") from error
        stored, total = (await engine.memory.preview_forget(scope)).facts, await engine.memory.count(scope)
        now = engine.clock.now()
    # Another process may write facts in the meantime.
    texts = {mask_credentials(fact["text"], allow_numbers=allow_numbers) for fact in data["facts"]}
    new = [fact for fact in stored if fact.id not in before and fact.text in texts]
    added, given = min(len(new), taken), len(data["facts"])
    if other is not None:
        print_note(f"the file is about {other}, and is imported for {user}")
    print_refused(refused)
    print_masked(new)
    if as_json:
        counts = {"given": given + len(refused), "taken": taken, "added": added, "total": total}
        print_json({"user": user, **counts, **refused_to_dict(refused)})
        return
    omitted_note = f", {given - taken} left out (forgotten or duplicate)" if taken < given else ""
    print_line(
        f"{pluralize(added, 'fact')} imported{not_current_note(new, now)}{known_note(taken - added)}{omitted_note}; "
        f"{pluralize(total, 'fact')} about {user} now."
    )
    if taken < given and not restore_forgotten:
        print_note("What was forgotten stays forgotten; --restore-forgotten imports it, too.")


def _read_export(file: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file, or refuse another content."""
    text, name = read_text(file, hint="FILE"), display_name(file)
    try:
        data = json.loads(text)
    except ValueError as error:
        # Python's message gives the position and quotes nothing of the text.
        raise typer.BadParameter(f"{name} is not JSON: {error}", param_hint="FILE") from error
    except RecursionError as error:
        raise typer.BadParameter(f"{name} is not an export: it is nested too deeply", param_hint="FILE") from error
    if isinstance(data, list) or (
        isinstance(data, dict) and "format" not in data and {"results", "memories"} & set(data)
    ):
        message = f"{name} looks like a list of memories, such as mem0's get_all: use `gaia memory add --file {file}`"
        raise typer.BadParameter(message, param_hint="FILE")
    if not isinstance(data, dict):
        message = f"{name} is not an export: pass the output of `gaia memory export`"
        raise typer.BadParameter(message, param_hint="FILE")
    return data
