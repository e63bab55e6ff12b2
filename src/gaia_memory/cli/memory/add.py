"""`gaia memory add`: facts about a user, word for word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    load_config,
    open_scope,
    require_named_user,
)
from gaia_memory.cli.memory.filter_options import (
    KeyOption,
    MetadataOption,
    ValidUntilOption,
    parse_metadata,
    parse_valid_until,
)
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_json, print_rows
from gaia_memory.cli.ui.read_input import display_name, has_piped_input, is_interactive, read_text
from gaia_memory.cli.ui.refused import SkipRefusedOption, print_masked, print_refused, refused_to_dict
from gaia_memory.cli.ui.terminal import known_note, pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.cli.memory.files.fact_files import FileFact
    from gaia_memory.models import AddResult, Scalar

EXAMPLES = """
Examples:

`gaia memory add --user ada "Allergic to nuts" "Has a sister called Noa"` keeps two facts.

`gaia memory add --user ada --category health --metadata level=5 "Runs every morning"` adds metadata to filter by.

`gaia memory add --user ada --valid-until 2026-03-20 "Is on holiday"` keeps a fact that expires after that day.

`gaia memory add --user ada --key user/home "Lives in Oslo"` replaces the fact that has this key.

`printf 'Lives in Haifa\\nLikes tea\\n' | gaia memory add --user ada` keeps one fact per line.

`echo '{"results": [{"memory": "Likes tea"}]}' | gaia memory add --user ada --file - --dry-run` only shows it.
"""

_MAX_NAMED_REASONS = 5


def _require_texts(values: list[str] | None) -> list[str] | None:
    from gaia_memory.language.printable_text import is_blank

    for number, value in enumerate(values or [], 1):
        if is_blank(value):
            raise typer.BadParameter(f"text {number} of {len(values or [])} is blank: leave it out, or pass a text")
    return values


async def add(
    context: typer.Context,
    user: UserOption,
    texts: Annotated[
        list[str] | None, typer.Argument(help="The facts, each in quotes.", show_default=False, callback=_require_texts)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="Read facts from a file: lines without `#` comments, bullets, JSON (Lines); `-` is standard input.",
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="The category of the facts, such as health.")
    ] = None,
    key: KeyOption = None,
    metadata: MetadataOption = None,
    valid_until: ValidUntilOption = None,
    skip_refused: SkipRefusedOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the facts, and keep none.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Add facts about a user, word for word. If one is refused, none is kept, except with `--skip-refused`.

    JSON may be a list of texts or of objects with `text`, `metadata`, `category`, `key` and `said_at`, also under
    `memories` or `results`, as mem0's `get_all` returns them. What the file says is deleted, expired or of another
    `user_id` is left out.
    """
    if file is None and texts and has_piped_input():
        print_note("standard input was not read, because facts are given as arguments: `--file -` reads it, too")
    entries = _with_details(
        _entries(texts or [], file), category, key, parse_metadata(metadata), parse_valid_until(valid_until)
    )
    entries, left_out = _without_ended_and_others(context, entries, user)
    if dry_run:
        allow_numbers = (await run_in_thread(load_config, config)).config.memory.allow_numbers
        _print_dry_run(entries, user, left_out, allow_numbers=allow_numbers, skip_refused=skip_refused, as_json=as_json)
        return
    async with open_scope(config, app_name, user, needs_home=False) as (engine, scope):
        try:
            with progress_bar("Adding facts") as advance:
                result = await engine.memory.add(
                    scope,
                    [entry.fact for entry in entries],
                    on_refused="skip" if skip_refused else "raise",
                    reconcile=True,
                    progress=advance,
                )
        except InvalidInputError as error:
            # The message counts from 0, as a Python list.
            placed = re.sub(r"^facts\[(\d+)\]", lambda found: entries[int(found[1])].place, str(error))
            raise InvalidInputError(placed) from error
        total = await engine.memory.count(scope)
    refused = [(entries[index].place, reason) for index, reason in result.refused]
    _print_added(user, result, refused, left_out, total, as_json=as_json)


def _print_added(
    user: str,
    result: AddResult,
    refused: Sequence[tuple[str, str]],
    left_out: Mapping[str, int],
    total: int,
    *,
    as_json: bool,
) -> None:
    added = sum(result.is_new)
    print_refused(refused)
    print_masked(result)
    if as_json:
        memories = [{**fact_to_dict(fact), "new": new} for fact, new in zip(result, result.is_new, strict=True)]
        counts = {"added": added, "left_out": left_out}
        print_json({"user": user, **counts, "memories": memories, **refused_to_dict(refused)})
        return
    now = datetime.now(UTC)
    if over := sum(fact.valid_until is not None and fact.valid_until <= now for fact in result):
        verb = "has" if over == 1 else "have"
        print_note(f"{pluralize(over, 'fact')} {verb} expired already, and no list or search shows them")
    note = known_note(len(result) - added)
    print_line(f"{pluralize(added, 'fact')} added{note}; {pluralize(total, 'fact')} about {user} now.")


def _entries(texts: Sequence[str], file: Path | None) -> list[FileFact]:
    """Return the facts of the arguments, then those of the file or of standard input."""
    from gaia_memory.cli.memory.files.fact_files import FileFact, parse_facts
    from gaia_memory.models import NewFact

    content = "" if file is None and (texts or is_interactive()) else read_text(file, hint="--file")
    if any("\0" in text for text in (*texts, content)):
        raise typer.BadParameter("a fact contains a NUL character: remove it")
    entries = [FileFact(NewFact(text.strip()), f"fact {number}") for number, text in enumerate(texts, 1)]
    try:
        entries += parse_facts(content, suffix="" if file is None else file.suffix)
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
    try:
        return [
            replace(
                entry,
                fact=replace(
                    entry.fact,
                    category=entry.fact.category or category,
                    key=entry.fact.key or key,
                    metadata={**metadata, **entry.fact.metadata},
                    valid_until=entry.fact.valid_until or valid_until,
                ),
            )
            for entry in entries
        ]
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("NewFact.", "--", 1)) from error


def _without_ended_and_others(
    context: typer.Context, entries: Sequence[FileFact], user: str
) -> tuple[list[FileFact], dict[str, int]]:
    """Leave out what the file itself counts no longer and what is about another user; return how many by reason."""
    owners = sorted({entry.user for entry in entries if entry.user is not None})
    require_named_user(context, user, next(iter(owners), None) if user not in owners else None)
    reasons = [entry.ended or ("" if entry.user in (None, user) else f"about {entry.user}") for entry in entries]
    kept = [entry for entry, reason in zip(entries, reasons, strict=True) if not reason]
    left_out = dict(Counter(filter(None, reasons)))
    shown = ", ".join(f"{count} {reason}" for reason, count in list(left_out.items())[:_MAX_NAMED_REASONS])
    if not kept:
        fix = "" if all(entry.ended for entry in entries) else ": pass the --user it is about"
        raise InvalidInputError(f"no fact of the file is added for {user} ({shown}){fix}")
    if left_out:
        print_note(f"{pluralize(sum(left_out.values()), 'fact')} left out: {shown}")
    return kept, left_out


def _print_dry_run(
    entries: Sequence[FileFact],
    user: str,
    left_out: Mapping[str, int],
    *,
    allow_numbers: bool,
    skip_refused: bool,
    as_json: bool,
) -> None:
    from gaia_memory.learn.screen import screen_draft
    from gaia_memory.models import Draft

    facts, refused = [], []
    for entry in entries:
        try:
            facts.append(screen_draft(Draft(fact=entry.fact, source="add"), allow_numbers=allow_numbers).fact)
        except InvalidInputError as error:
            if not skip_refused:
                raise InvalidInputError(f"{entry.place}: {error}") from error
            refused.append((entry.place, str(error)))
    print_refused(refused)
    print_masked(facts)
    if as_json:
        memories = [
            {
                "text": fact.text,
                "said_at": None if fact.said_at is None else fact.said_at.isoformat(),
                "metadata": dict(fact.metadata),
            }
            for fact in facts
        ]
        counts = {"added": 0, "left_out": left_out}
        print_json({"user": user, **counts, "memories": memories, **refused_to_dict(refused)})
        return
    rows = [
        (
            "" if fact.said_at is None else fact.said_at.astimezone().date().isoformat(),
            fact.text,
            ", ".join(f"{name}={value}" for name, value in fact.metadata.items()),
        )
        for fact in facts
    ]
    print_rows(("date", "fact", "metadata"), rows)
    print_line(f"{pluralize(len(facts), 'fact')} would be added about {user}; nothing was kept.")
