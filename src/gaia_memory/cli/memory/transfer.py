"""`gaia memory export` and `gaia memory import`: a user's memory as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
import yaml

from gaia_memory.cli.engines import AppOption, ConfigOption, UserOption, load_config, open_engine
from gaia_memory.cli.memory.target import Target, require_named_user
from gaia_memory.cli.ui.fact_output import (
    SkipRefusedOption,
    known_note,
    not_current_note,
    print_json,
    print_left_out,
    print_rows,
    refused_to_dict,
    to_json_text,
)
from gaia_memory.cli.ui.output_files import require_writable, write_file
from gaia_memory.cli.ui.read_input import display_name, read_text
from gaia_memory.cli.ui.terminal import pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError
from gaia_memory.threads import run_in_thread

FromMem0Option = Annotated[
    Path | None,
    typer.Option(
        "--from-mem0",
        metavar="CONFIG",
        help="Import all users, or that of `--user`, from the store in mem0's own configuration, a YAML or JSON file; "
        "`-` is mem0's defaults. What was imported before is left alone.",
    ),
]
EXPORT_EXAMPLES = """
Examples:

`gaia memory export --user ada --output ada.json` writes a file that only you can read.

`gaia memory export --user ada | jq '.facts | length'` writes to standard output.
"""
IMPORT_EXAMPLES = """
Examples:

`gaia memory import --user ada ada.json` imports an export; a second time it adds nothing.

`gaia memory export -u ada -c old.yaml | gaia memory import -u ada -c new.yaml -` copies a user to another home.

`gaia memory import --from-mem0 mem0.yaml --dry-run` counts, by user, what is in the store of a program with mem0.
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
    file: Annotated[Path | None, typer.Argument(help="An export; `-` is standard input.", show_default=False)] = None,
    from_mem0: FromMem0Option = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With `--from-mem0`: count, and import nothing.")] = False,
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

    if (file is None) == (from_mem0 is None) or (dry_run and from_mem0 is None):
        raise typer.BadParameter(
            "pass either an export, or --from-mem0 with mem0's configuration, and perhaps --dry-run"
        )
    if file is None:
        await _import_from_mem0(context, target, from_mem0, restore_forgotten=restore_forgotten, dry_run=dry_run)
        return
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


async def _import_from_mem0(
    context: typer.Context, target: Target, file: Path | None, *, restore_forgotten: bool, dry_run: bool
) -> None:
    from gaia_memory.transfer.from_mem0 import open_foreign_store, read_rows

    settings = {} if str(file) == "-" else _read_mem0_config(file)
    source = context.get_parameter_source("user")
    user = target.user if source is not None and source.name == "COMMANDLINE" else None
    config = (await run_in_thread(load_config, target.config)).config
    async with AsyncExitStack() as stack:
        # A dry run makes no home.
        folder = Path(stack.enter_context(TemporaryDirectory())) if dry_run else config.home
        store = await stack.enter_async_context(open_foreign_store(settings, folder))
        rows = await run_in_thread(read_rows, await store.rows(), user=user, allow_numbers=config.memory.allow_numbers)
        if not rows.counts:
            named = "a user_id" if user is None else f"the user_id {user!r}, which is --user"
            raise InvalidInputError(f"no row of the store has {named}: only rows with one are imported")
        if not dry_run:
            engine = await stack.enter_async_context(open_engine(target.config))
            scope_of = partial(engine.scope, target.app_name or config.app)
            advance = stack.enter_context(progress_bar("Importing facts"))
            await engine.memory.move_in(store, rows, scope_of, restore_forgotten=restore_forgotten, progress=advance)
    print_left_out(rows.refused, [fact.drafts[0].fact for facts in rows.facts.values() for fact in facts])
    if target.as_json:
        print_json({"users": rows.counts, "left_out": rows.left_out, **refused_to_dict(rows.refused)})
        return
    for name, count in rows.left_out.most_common():
        print_note(f"left out {name}: {count}")
    columns = list(next(iter(rows.counts.values()), ()))
    print_rows(("user", *columns), [(name, *map(str, counts.values())) for name, counts in sorted(rows.counts.items())])
    if dry_run:
        print_line("Nothing was imported.")


def _read_mem0_config(file: Path | None) -> Mapping[str, Any]:
    try:
        settings = yaml.safe_load(read_text(file, hint="--from-mem0"))
    except (yaml.YAMLError, RecursionError) as error:
        raise typer.BadParameter(f"{file} is neither YAML nor JSON: {error}", param_hint="--from-mem0") from error
    if not isinstance(settings, Mapping) or "vector_store" not in settings:
        fix = "pass what mem0's `Memory.from_config` takes, or `-` for mem0's defaults"
        raise typer.BadParameter(f"{file} has no `vector_store`: {fix}", param_hint="--from-mem0")
    return settings


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
