"""`gaia memory history`, `edit` and `undo`: what a fact was before, its correction, and the way back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, open_scope, print_other_scopes
from gaia_memory.cli.memory.filter_options import KeyOption, MetadataOption, parse_metadata
from gaia_memory.cli.memory.forget import find_fact
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_json, print_rows, shorten_ids
from gaia_memory.cli.ui.terminal import print_line
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import escape_line, is_blank
from gaia_memory.models.history.actors import describe_actor

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, PastFact, Scope

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

UNDO_EXAMPLES = """
Examples:

`gaia memory undo 3f9a1c --user ada` makes a fact current again that has ended, with an id from its history.

With the id of a current fact it goes back to what that replaced last. The same again goes forward.
"""

IdArgument = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of the fact, current or past, or its first six characters.", show_default=False
    ),
]


_REASONS = {"retracted": "taken back", "expired": "ended", "merged": "joined with another fact"}
"""What a table says of the endings that need other words than their names."""


def _require_words(text: str | None) -> str | None:
    if text is not None and is_blank(text):
        raise typer.BadParameter("the text is blank: pass the new words, or leave it out")
    return text


async def history(
    fact_id: IdArgument,
    user: UserOption,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show when a fact was true, and all that it replaced or was replaced by, oldest first.

    Exits with 1 if the user never had such a fact.
    """
    from gaia_memory.models.masked_fact import mask_past_fact

    async with open_scope(config, app_name, user) as (engine, scope):
        fact = await _find_any(engine, scope, fact_id)
        allow_numbers = engine.config.memory.allow_numbers
        line = await engine.memory.history(scope, fact.id)
        periods = [mask_past_fact(each, allow_numbers=allow_numbers) for each in line]
    if as_json:
        print_json({"user": user, "history": [_period_to_dict(period) for period in periods]})
        return
    ids = dict(zip((each.id for each in periods), shorten_ids([each.id for each in periods]), strict=True))
    print_rows(("from", "until", "fact", "ended", "id"), [(*_row(each), ids[each.id]) for each in periods])


async def edit(
    fact_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id of the fact, or its first six characters.", show_default=False)
    ],
    user: UserOption,
    text: Annotated[
        str | None, typer.Argument(help="The new words, in quotes.", show_default=False, callback=_require_words)
    ] = None,
    category: Annotated[str | None, typer.Option("--category", help="The category of the fact.")] = None,
    key: KeyOption = None,
    metadata: MetadataOption = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="NAME", help="Metadata to remove. Repeat it for more.", show_default=False),
    ] = None,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
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
    async with open_scope(config, app_name, user) as (engine, scope):
        known = find_fact(await engine.memory.facts(scope), fact_id, escape_line(user))
        fact = await engine.memory.update(scope, known.id, text=text, metadata=changes or None, **fields)
    if as_json:
        print_json(fact_to_dict(fact))
    else:
        change = "The fact is corrected:" if fact.text != known.text else "The details of the fact are changed:"
        print_line("The two facts are one now:" if fact.id != known.id else change)
        print_line(fact.text)


async def undo(
    fact_id: IdArgument,
    user: UserOption,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Undo the last ending of a fact: it is current again, and what took its place goes to history.

    Exits with 1 if nothing about the fact can be undone.
    """
    from gaia_memory.models.masked_fact import mask_fact

    async with open_scope(config, app_name, user) as (engine, scope):
        found = await _find_any(engine, scope, fact_id)
        if not any(period.ended_at for period in await engine.memory.history(scope, found.id)):
            raise InvalidInputError(f"{fact_id} has never changed, so there is nothing to undo: {found.text}")
        restored = await engine.memory.restore(scope, found.id)
        fact = mask_fact(restored, allow_numbers=engine.config.memory.allow_numbers)
    if as_json:
        print_json(fact_to_dict(fact))
    else:
        print_line(f"Current again: {fact.text}")


async def _find_any(engine: Engine, scope: Scope, fact_id: str) -> Fact:
    """Return the current or past fact with this id, or with an id that starts with it; exit if there is none."""
    facts = await engine.memory.facts(scope)
    if not facts:
        await print_other_scopes(engine, scope)
    return find_fact([*facts, *await engine.memory.past_facts(scope)], fact_id, escape_line(scope.user))


def _period_to_dict(period: PastFact) -> dict[str, Any]:
    times = {name: getattr(period, name) for name in ("first_said_at", "said_at", "ended_at")}
    return {
        "id": period.id,
        "text": period.text,
        **{name: None if moment is None else moment.isoformat() for name, moment in times.items()},
        "ended_by": period.ended_by,
        "why": period.why,
        "actor": period.actor,
    }


def _row(period: PastFact) -> tuple[str, str, str, str]:
    ending = f"{_REASONS.get(period.why, period.why)} by {describe_actor(period.actor)}" if period.why else ""
    return _day(period.first_said_at), _day(period.ended_at), period.text, ending


def _day(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().date().isoformat()
