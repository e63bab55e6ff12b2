"""`gaia memory why`, `history`, `edit`, `retire` and `undo`: where a fact is from, what it was, its correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.memory.filter_options import KeyOption, MetadataOption, parse_metadata
from gaia_memory.cli.memory.target import IdArgument, Target
from gaia_memory.cli.ui.fact_output import fact_to_dict, iso, local_day, print_json, print_rows, shorten_ids
from gaia_memory.cli.ui.terminal import print_line
from gaia_memory.errors import InvalidInputError
from gaia_memory.models.endings import describe_actor

if TYPE_CHECKING:
    from gaia_memory.models import Origin, PastFact

WHY_EXAMPLES = """
Examples:

`gaia memory why 3f9a1c --user ada` shows who said the fact, when, where and in which words.

`gaia memory why 3f9a1c --user ada --json | jq -r '.sources[].excerpt'` prints only the words.
"""

HISTORY_EXAMPLES = """
Examples:

`gaia memory history 3f9a1c --user ada` shows when the fact was true, what it replaced and what replaced it.

`gaia memory history 3f9a1c --user ada --json | jq -r '.history[].text'` prints only the wordings.
"""

EDIT_EXAMPLES = """
Examples:

`gaia memory edit 3f9a1c "Lives in Bergen" --user ada` gives the fact other words; the earlier ones go to its history.

`gaia memory edit 3f9a1c --user ada --category home --metadata level=5` changes only the category and the metadata.

`gaia memory edit 3f9a1c --user ada --remove level` removes metadata.
"""

RETIRE_EXAMPLES = """
Examples:

`gaia memory retire 3f9a1c --why "That was my sister" --user ada` says that the fact was never true.

`gaia memory undo 3f9a1c --user ada` takes that back.
"""

UNDO_EXAMPLES = """
Examples:

`gaia memory undo 3f9a1c --user ada` makes a fact current again that has ended, with an id from its history.

With the id of a current fact it goes back to what that replaced last. The same again goes forward.
"""

_REASONS = {
    "retracted": "taken back",
    "expired": "ended",
    "merged": "joined with another fact",
    "untrue": "called never true",
}
"""What a table says of the endings that need other words than their names."""


async def why(target: Target, fact_id: IdArgument) -> None:
    """Show where a fact comes from: each source, with the beginning of what the user said.

    Exits with 1 if the user has no such fact.
    """
    async with target.open() as opened:
        fact = opened.mask(await opened.find(fact_id))
        origins = opened.mask_origins(await opened.memory.sources(opened.scope, fact.id))
    sources = [_source_to_dict(each) for each in origins]
    if target.as_json:
        print_json({"id": fact.id, "text": fact.text, "sources": sources})
        return
    print_line(fact.text)
    days = [local_day(each.said_at or each.noted_at) for each in origins]
    names = ("source", "channel", "agent", "session_id", "excerpt")
    rows = [(day, *(each[name] or "" for name in names)) for day, each in zip(days, sources, strict=True)]
    print_rows(("date", *names), rows)


async def history(target: Target, fact_id: IdArgument) -> None:
    """Show when a fact was true, and all that it replaced or was replaced by, oldest first.

    Exits with 1 if the user never had such a fact.
    """
    from gaia_memory.models.masked_fact import mask_past_fact

    async with target.open() as opened:
        fact = await opened.find(fact_id, with_past=True)
        allow_numbers = opened.engine.config.memory.allow_numbers
        line = await opened.memory.history(opened.scope, fact.id)
    periods = [mask_past_fact(each, allow_numbers=allow_numbers) for each in line]
    if target.as_json:
        print_json({"user": target.user, "history": [_period_to_dict(each) for each in periods]})
        return
    ids = shorten_ids([each.id for each in periods])
    rows = [(*_row(each), shown) for each, shown in zip(periods, ids, strict=True)]
    print_rows(("from", "until", "fact", "ended", "id"), rows)


async def edit(
    target: Target,
    fact_id: IdArgument,
    text: Annotated[str | None, typer.Argument(help="The new words, in quotes.", show_default=False)] = None,
    category: Annotated[str | None, typer.Option("--category", help="The category of the fact.")] = None,
    key: KeyOption = None,
    metadata: MetadataOption = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="NAME", help="Metadata to remove. Repeat it for more.", show_default=False),
    ] = None,
) -> None:
    """Correct a current fact, which keeps its id. Its earlier words stay in its history. `--key ""` removes the key.

    If another fact says the new words already, the two become one.
    """
    from gaia_memory.models import FactChanges

    changes: dict[str, Any] = {**dict.fromkeys(remove or ()), **parse_metadata(metadata)}
    if category is not None:
        changes["category"] = category
    fields = FactChanges() if key is None else FactChanges(key=key or None)
    if text is None and not changes and not fields:
        raise typer.BadParameter("there is nothing to change: pass words, --category, --key, --metadata or --remove")
    async with target.open() as opened:
        known = await opened.find(fact_id)
        fact = await opened.memory.update(opened.scope, known.id, text=text, metadata=changes or None, **fields)
    if target.as_json:
        print_json(fact_to_dict(fact))
        return
    change = "The fact is corrected:" if fact.text != known.text else "The details of the fact are changed:"
    print_line("The two facts are one now:" if fact.id != known.id else change)
    print_line(fact.text)


async def retire(
    target: Target,
    fact_id: IdArgument,
    why: Annotated[str, typer.Option("--why", help="Why it was never true, for its history.", show_default=False)],
) -> None:
    """Say that a fact, current or past, was never true. It answers for no time any more; its history keeps it."""
    async with target.open() as opened:
        fact = opened.mask(await opened.find(fact_id, with_past=True))
        await opened.memory.retire(opened.scope, fact.id, why=why)
    if target.as_json:
        print_json(fact_to_dict(fact))
    else:
        print_line(f"Never true: {fact.text}")


async def undo(target: Target, fact_id: IdArgument) -> None:
    """Undo the last ending of a fact: it is current again, and what took its place goes to history.

    Exits with 1 if nothing about the fact can be undone.
    """
    async with target.open() as opened:
        found = await opened.find(fact_id, with_past=True)
        if not any(each.ended_at for each in await opened.memory.history(opened.scope, found.id)):
            raise InvalidInputError(f"{fact_id} has never changed, so there is nothing to undo: {found.text}")
        fact = opened.mask(await opened.memory.restore(opened.scope, found.id))
    if target.as_json:
        print_json(fact_to_dict(fact))
    else:
        print_line(f"Current again: {fact.text}")


def _period_to_dict(period: PastFact) -> dict[str, Any]:
    return {
        "id": period.id,
        "text": period.text,
        "first_said_at": iso(period.first_said_at),
        "said_at": iso(period.said_at),
        "ended_at": iso(period.ended_at),
        "ended_by": period.ended_by,
        "why": period.why,
        "actor": period.actor,
        "note": period.note,
    }


def _row(period: PastFact) -> tuple[str, str, str, str]:
    ending = f"{_REASONS.get(period.why, period.why)} by {describe_actor(period.actor)}" if period.why else ""
    noted = f"{ending}: {period.note}" if period.note else ending
    return local_day(period.first_said_at), local_day(period.ended_at), period.text, noted


def _source_to_dict(origin: Origin) -> dict[str, Any]:
    """Return a source as data for JSON; `said_at` is when it was noted if nobody knows when it was said."""
    return {
        # What an import says of its sources is not known to be true.
        "source": "import" if origin.is_imported else origin.source,
        "said_at": iso(origin.said_at or origin.noted_at),
        "channel": origin.channel,
        "agent": origin.agent,
        "session_id": origin.session_id,
        "excerpt": origin.excerpt,
    }
