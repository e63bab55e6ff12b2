"""`gaia memory export` and `gaia memory import`: a user's memory as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, UserOption
from gaia_memory.cli.memory.target import Target, require_named_user
from gaia_memory.cli.ui.fact_output import (
    SkipRefusedOption,
    known_note,
    not_current_note,
    print_json,
    print_left_out,
    refused_to_dict,
    to_json_text,
)
from gaia_memory.cli.ui.output_files import require_writable, write_file
from gaia_memory.cli.ui.read_input import display_name, read_text
from gaia_memory.cli.ui.terminal import pluralize, print_line, print_note, progress_bar
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
    async with Target(user=user, app_name=app_name, config=config).open(allow_disabled=True) as opened:
        data = await opened.memory.export(opened.scope)
        stored = (await opened.memory.preview_forget(opened.scope)).facts
        note = not_current_note(stored, opened.engine.clock.now())
        if not data["facts"]:
            await opened.print_other_scopes()
    if file is None:
        print_json(data)
        return
    write_file(file, to_json_text(data) + "\n", mode=0o600)
    print_note(f"{pluralize(len(data['facts']), 'fact')}{note} about {user} written to {output}")


async def import_(
    context: typer.Context,
    target: Target,
    file: Annotated[Path, typer.Argument(help="An export; `-` is standard input.", show_default=False)],
    restore_forgotten: Annotated[
        bool, typer.Option("--restore-forgotten", help="Import forgotten facts, too.")
    ] = False,
    skip_refused: SkipRefusedOption = False,
) -> None:
    """Import the export of this user or another one. If any part is wrong, nothing is imported.

    A fact ends only if another one of its key was said later, and forgotten facts stay forgotten. Facts keep their
    times and sources. The profile and pending conversations are not imported.
    """
    from gaia_memory.transfer.export_format import drop_refused

    data, user = _read_export(file), target.user
    exported = data.get("scope")
    owner = exported.get("user") if isinstance(exported, Mapping) else None
    other = owner if isinstance(owner, str) and owner != user else None
    require_named_user(context, user, other)
    refused = list[tuple[str, str]]()
    async with target.open(needs_home=False) as opened:
        memory, scope, options = opened.memory, opened.scope, {"restore_forgotten": restore_forgotten}
        if skip_refused:
            data, refused = drop_refused(data, allow_numbers=opened.engine.config.memory.allow_numbers)
        # Expired facts, too, which no list shows.
        before = {fact.id for fact in (await memory.preview_forget(scope)).facts}
        try:
            with progress_bar("Importing facts") as advance:
                taken = await memory.import_(scope, data, progress=advance, **options)
        except InvalidInputError as error:
            raise InvalidInputError(f"{display_name(file)}: {error}") from error
        new = [fact for fact in (await memory.preview_forget(scope)).facts if fact.id not in before]
        total, now = await memory.count(scope), opened.engine.clock.now()
    # Another process may write facts in the meantime.
    added, given = min(len(new), taken), len(data["facts"])
    if other is not None:
        print_note(f"the file is about {other}, and is imported for {user}")
    print_left_out(refused, new)
    if target.as_json:
        counts = {"given": given + len(refused), "taken": taken, "added": added, "total": total}
        print_json({"user": user, **counts, **refused_to_dict(refused)})
        return
    omitted_note = f", {given - taken} left out (forgotten or duplicate)" if taken < given else ""
    note = f"{not_current_note(new, now)}{known_note(taken - added)}{omitted_note}"
    print_line(f"{pluralize(added, 'fact')} imported{note}; {pluralize(total, 'fact')} about {user} now.")
    if taken < given and not restore_forgotten:
        print_note("What was forgotten stays forgotten; --restore-forgotten imports it, too.")


def _read_export(file: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file, or refuse another content."""
    text, name = read_text(file, hint="FILE"), display_name(file)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Python's message gives the position and quotes nothing of the text.
        raise typer.BadParameter(f"{name} is not JSON: {error}", param_hint="FILE") from error
    is_list = isinstance(data, list) or (
        isinstance(data, dict) and "format" not in data and {"results", "memories"} & set(data)
    )
    if is_list or not isinstance(data, dict):
        hint = f"for a list of memories, such as mem0's get_all, use `gaia memory add --file {file}`"
        raise typer.BadParameter(f"{name} is not an export: {hint}", param_hint="FILE")
    return data
