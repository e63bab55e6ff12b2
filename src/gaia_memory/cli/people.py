"""`gaia people`: everybody who is known, and user ids that belong to one person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    YesOption,
    command,
    open_engine,
    print_other_scopes,
    require_app_name,
)
from gaia_memory.cli.ui.fact_output import iso, print_json, print_rows
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_line

if TYPE_CHECKING:
    from gaia_memory.models import PersonSummary

LIST_EXAMPLES = """
Examples:

`gaia people` lists everybody with the number of facts and of conversations to be learned.

`gaia people --json | jq -r '.people[] | select(.facts > 100) | .user'` prints who has more than 100 facts.
"""
_PAGE_PEOPLE = 100

app = typer.Typer(help="List everybody who is known; merge user ids that belong to one person.")

_MERGE_EXAMPLES = """
Examples:

`gaia people merge telegram:12345 ada` asks, then moves the facts of the guest to ada.

`gaia people merge telegram:12345 ada --yes --json` does not ask, and prints the counts.
"""


@app.callback(invoke_without_command=True, epilog=LIST_EXAMPLES)
@command
async def people(
    context: typer.Context,
    offset: Annotated[int, typer.Option("--offset", min=0, help="How many people to skip.")] = 0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The maximum number of people.")] = _PAGE_PEOPLE,
    app_name: Annotated[
        str | None, typer.Option("--app", help="Only people of this app. Default: all apps.", callback=require_app_name)
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List everybody who has a fact or a conversation to be learned, with counts. Works while memory is off."""
    if context.invoked_subcommand is not None:
        return
    async with open_engine(config, allow_disabled=True, needs_home=True) as engine:
        everybody = await engine.memory.people()
    known = [person for person in everybody if app_name is None or person.scope.app in (app_name, None)]
    page = known[offset : offset + limit]
    has_more = offset + len(page) < len(known)
    if as_json:
        print_json({"people": [_person_to_dict(each) for each in page], "total": len(known), "has_more": has_more})
        return
    if not known:
        print_line(f"Nobody is known{'' if app_name is None else f' in the app {app_name}'} yet.")
        return
    if page:
        columns = ("user", "app", "facts", "to be learned", "last message", "last change")
        print_rows(columns, [_row(each) for each in page])
    # Who is known in two apps has two rows.
    rows, people_count = pluralize(len(known), "row"), len({each.scope.user for each in known})
    count = pluralize(people_count, "person", "people")
    count = f"{rows} about {count}" if people_count < len(known) else count
    next_page = f"`--offset {offset + len(page)}` shows the next ones"
    print_line(f"{len(page)} of {count}; {next_page}." if has_more else f"{count}.")


def _person_to_dict(person: PersonSummary) -> dict[str, Any]:
    return {
        "user": person.scope.user,
        "app": person.scope.app,
        "facts": person.facts,
        "pending": person.pending,
        "last_message_at": iso(person.last_message_at),
        "last_change_at": iso(person.last_change_at),
    }


def _row(person: PersonSummary) -> Sequence[str]:
    times = (person.last_message_at, person.last_change_at)
    shown = ["" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M") for moment in times]
    return person.scope.user, person.scope.app or "(all)", str(person.facts), str(person.pending), *shown


@app.command("merge", epilog=_MERGE_EXAMPLES)
@command
async def merge(
    from_user: Annotated[str, typer.Argument(metavar="FROM", help="The user id to move from.", show_default=False)],
    into_user: Annotated[str, typer.Argument(metavar="INTO", help="The user id to move to.", show_default=False)],
    yes: YesOption = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Move the facts of one user id to another one of the same person. This cannot be undone.

    Facts keep their ids. A fact of both is kept once. Forgotten facts stay forgotten. Pending conversations of either
    have to be learned first.
    """
    for name, value in (("FROM", from_user), ("INTO", into_user)):
        if not value:
            raise typer.BadParameter("is empty: pass a user id", param_hint=name)
    async with open_engine(config, allow_disabled=True, needs_home=True) as engine:
        source, target = (engine.scope(app_name or engine.config.app, user) for user in (from_user, into_user))
        if not yes:
            counts = []
            for scope in (source, target):
                counts.append((await engine.memory.status(scope)).facts)
                if not counts[-1]:
                    await print_other_scopes(engine, scope)
            moved, existing = (pluralize(count, "fact") for count in counts)
            question = f"Move {moved} of {from_user} to {into_user}, who has {existing}? This cannot be undone."
            confirm(question, unchanged_message="nothing was moved")
        merged = await engine.memory.merge(source, target)
    if as_json:
        moves = {"moved": merged.moved, "joined": merged.joined, "dropped": merged.dropped}
        print_json({"from": from_user, "into": into_user, **moves})
        return
    print_line(f"Moved {pluralize(merged.moved, 'fact')} of {from_user} to {into_user}.")
    if merged.joined:
        verb = "is" if merged.joined == 1 else "are"
        print_line(f"{pluralize(merged.joined, 'fact')} of both {verb} kept once.")
    if merged.dropped:
        print_line(f"{pluralize(merged.dropped, 'fact')} left out: forgotten by {into_user}.")
