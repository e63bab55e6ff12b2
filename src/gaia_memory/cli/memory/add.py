"""`gaia memory add`: facts about a user, word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.memory.filter_options import KeyOption, MetadataOption, ValidUntilOption, parse_metadata
from gaia_memory.cli.memory.target import Target
from gaia_memory.cli.ui.fact_output import (
    SkipRefusedOption,
    fact_to_dict,
    known_note,
    not_current_note,
    print_json,
    print_left_out,
    refused_to_dict,
)
from gaia_memory.cli.ui.read_input import display_name, is_interactive, read_text
from gaia_memory.cli.ui.terminal import pluralize, print_line, progress_bar
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.cli.ui.fact_files import FileFact
    from gaia_memory.models import NewFact, Scalar

EXAMPLES = """
Examples:

`gaia memory add --user ada "Allergic to nuts" "Has a sister called Noa"` keeps two facts.

`gaia memory add --user ada --category health --metadata level=5 "Runs every morning"` adds metadata to filter by.

`gaia memory add --user ada --valid-until 2026-03-20 "Is on holiday"` keeps a fact that expires after that day.

`gaia memory add --user ada --key user/home "Lives in Oslo"` replaces the fact that has this key.

`printf 'Lives in Haifa\\nLikes tea\\n' | gaia memory add --user ada` keeps one fact per line.

`echo '{"results": [{"memory": "Likes tea"}]}' | gaia memory add --user ada --file -` keeps mem0's `get_all`.
"""


async def add(
    target: Target,
    texts: Annotated[list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False)] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="Read facts from a file: lines without `#` comments, bullets, or JSON; `-` is standard input.",
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="The category of the facts, such as health.")
    ] = None,
    key: KeyOption = None,
    metadata: MetadataOption = None,
    valid_until: ValidUntilOption = None,
    skip_refused: SkipRefusedOption = False,
) -> None:
    """Add facts about a user, word for word. If one is refused, none is kept, except with `--skip-refused`.

    JSON may be a list of texts or of objects with `text`, `metadata`, `category`, `key` and `said_at`, also under
    `memories` or `results`, as mem0's `get_all` returns them. A fact with another `user_id` is refused.
    """
    user = target.user
    entries = _with_details(_entries(texts or [], file), category, key, parse_metadata(metadata), valid_until)
    for entry in entries:
        if entry.user not in (None, user):
            raise InvalidInputError(f"{entry.place} is about {entry.user!r}, not about {user!r}; nothing was kept")
    async with target.open(needs_home=False) as opened:
        on_refused: Any = "skip" if skip_refused else "raise"
        given = [entry.fact for entry in entries]
        try:
            with progress_bar("Adding facts") as advance:
                result = await opened.memory.add(
                    opened.scope, given, on_refused=on_refused, reconcile=True, progress=advance
                )
        except InvalidInputError as error:
            # The message counts from 0, as a Python list.
            placed = re.sub(r"^facts\[(\d+)\]", lambda found: entries[int(found[1])].place, str(error))
            raise InvalidInputError(placed) from error
        total = await opened.memory.count(opened.scope)
    refused, added = [(entries[index].place, reason) for index, reason in result.refused], sum(result.is_new)
    print_left_out(refused, result)
    if target.as_json:
        memories = [
            {**fact_to_dict(fact), "new": new, "current": fact.id not in result.past}
            for fact, new in zip(result, result.is_new, strict=True)
        ]
        print_json({"user": user, "added": added, "memories": memories, **refused_to_dict(refused)})
        return
    note = f"{not_current_note(result, datetime.now(UTC), result.past)}{known_note(len(result) - added)}"
    print_line(f"{pluralize(added, 'fact')} added{note}; {pluralize(total, 'fact')} about {user} now.")


def _entries(texts: Sequence[str], file: Path | None) -> list[FileFact]:
    """Return the facts of the arguments, then those of the file or of standard input."""
    from gaia_memory.cli.ui.fact_files import FileFact, parse_facts
    from gaia_memory.models import NewFact

    content = "" if file is None and (texts or is_interactive()) else read_text(file, hint="--file")
    try:
        entries = [FileFact(NewFact(text.strip()), f"fact {number}") for number, text in enumerate(texts, 1)]
    except InvalidInputError as error:
        raise typer.BadParameter(str(error).replace("NewFact.text", "a fact")) from error
    try:
        entries += parse_facts(content)
    except InvalidInputError as error:
        raise InvalidInputError(f"{display_name(file)}: {error}; nothing was kept") from error
    if not entries:
        raise typer.BadParameter("there is no fact to add: pass texts, --file, or lines on standard input")
    return entries


def _with_details(
    entries: Sequence[FileFact],
    category: str | None,
    key: str | None,
    metadata: Mapping[str, Scalar],
    valid_until: datetime | None,
) -> list[FileFact]:
    """Give the category, the key, the metadata and the end of the options to each fact that does not name its own."""
    if key is not None and len(entries) > 1:
        raise typer.BadParameter(f"--key is {key!r}, which one fact has at a time: add the facts one by one")

    def with_details(fact: NewFact) -> NewFact:
        return replace(
            fact,
            category=fact.category or category,
            key=fact.key or key,
            metadata={**metadata, **fact.metadata},
            valid_until=fact.valid_until or valid_until,
        )

    try:
        return [replace(entry, fact=with_details(entry.fact)) for entry in entries]
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("NewFact.", "--", 1)) from error
