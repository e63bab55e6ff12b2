"""`gaia memory add`: facts about a user, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    engine_without_background,
    load_config,
    require_texts,
    run_async,
    scope_of,
)
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_json
from gaia_memory.cli.ui.read_input import is_interactive, read_fact_lines
from gaia_memory.cli.ui.terminal import known_note, pluralize, print_line, progress_bar

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import AddResult

EXAMPLES = """
Examples:

`gaia memory add --user itay "Allergic to nuts" "Has a sister called Noa"` keeps two facts.

`printf 'Lives in Haifa\\nLikes tea\\n' | gaia memory add --user itay` keeps one fact per line; `--file` reads a file.
"""


def add(
    user: UserOption,
    texts: Annotated[
        list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False, callback=require_texts)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read one fact per line from a file; `-` is standard input.")
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Add facts about a user, word for word. If one is refused, none is kept."""
    loaded = load_config(config)
    lines = [] if file is None and (texts or is_interactive()) else read_fact_lines(file)
    entries = [entry for text in [*(texts or []), *lines] if (entry := text.strip())]
    if not entries:
        raise typer.BadParameter("there is no fact to add: pass texts, --file, or lines on standard input")
    if any("\0" in text for text in entries):
        raise typer.BadParameter("a fact contains a NUL character: remove it")
    result, total = run_async(_add(loaded, user, app_name, entries))
    added = sum(result.is_new)
    if as_json:
        print_json({"user": user, "added": added, "memories": [fact_to_dict(fact) for fact in result]})
        return
    note = known_note(len(result) - added)
    print_line(f"{pluralize(len(result), 'fact')} kept{note}; {pluralize(total, 'fact')} about {user} now.")


async def _add(loaded: LoadedConfig, user: str, app_name: str | None, texts: list[str]) -> tuple[AddResult, int]:
    """Return the facts that were kept, and how many the user has now."""
    from gaia_memory.models import NewFact

    async with engine_without_background(loaded) as engine:
        scope = scope_of(engine, app_name, user)
        with progress_bar("Keeping facts") as advance:
            result = await engine.memory.add(scope, [NewFact(text) for text in texts], progress=advance)
        return result, await engine.memory.count(scope)
