"""`gaia memory add`: facts about a user, word for word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, open_scope
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_json
from gaia_memory.cli.ui.read_input import has_piped_input, is_interactive, read_text
from gaia_memory.cli.ui.terminal import known_note, pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError

EXAMPLES = """
Examples:

`gaia memory add --user itay "Allergic to nuts" "Has a sister called Noa"` keeps two facts.

`printf 'Lives in Haifa\\nLikes tea\\n' | gaia memory add --user itay` keeps one fact per line; `--file` reads a file.
"""


def _require_texts(values: list[str] | None) -> list[str] | None:
    from gaia_memory.language.printable_text import is_blank

    for number, value in enumerate(values or [], 1):
        if is_blank(value):
            raise typer.BadParameter(f"text {number} of {len(values or [])} is blank: leave it out, or pass a text")
    return values


async def add(
    user: UserOption,
    texts: Annotated[
        list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False, callback=_require_texts)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read one fact per line from a file; `-` is standard input.")
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Add facts about a user, word for word. If one is refused, none is kept."""
    from gaia_memory.models import NewFact

    if file is None and texts and has_piped_input():
        print_note("standard input was not read, because facts are given as arguments: `--file -` reads it, too")
    lines = [] if file is None and (texts or is_interactive()) else read_text(file, hint="--file").splitlines()
    entries = [entry for text in [*(texts or []), *lines] if (entry := text.strip())]
    if not entries:
        raise typer.BadParameter("there is no fact to add: pass texts, --file, or lines on standard input")
    if any("\0" in text for text in entries):
        raise typer.BadParameter("a fact contains a NUL character: remove it")
    async with open_scope(config, app_name, user) as (engine, scope):
        try:
            with progress_bar("Adding facts") as advance:
                result = await engine.memory.add(scope, [NewFact(text) for text in entries], progress=advance)
        except InvalidInputError as error:
            # The message counts from 0, as a Python list.
            counted = re.sub(r"^facts\[(\d+)\]", lambda found: f"fact {int(found[1]) + 1}", str(error))
            raise InvalidInputError(counted) from error
        total = await engine.memory.count(scope)
    added = sum(result.is_new)
    if as_json:
        memories = [{**fact_to_dict(fact), "new": new} for fact, new in zip(result, result.is_new, strict=True)]
        print_json({"user": user, "added": added, "memories": memories})
        return
    note = known_note(len(result) - added)
    print_line(f"{pluralize(added, 'fact')} added{note}; {pluralize(total, 'fact')} about {user} now.")
