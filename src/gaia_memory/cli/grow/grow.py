"""`gaia grow`: facts that a model proposes from how somebody uses their agent, and that you agree to."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, YesOption, command, open_engine
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import ask, is_interactive
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note
from gaia_memory.errors import InvalidInputError, ModelError
from gaia_memory.growth import MAX_USAGE_DAYS, USAGE_DAYS

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.growth.digest import UsageDigest
    from gaia_memory.growth.proposals import Proposal
    from gaia_memory.models import Scope

MIN_TURNS = 10
"""Fewer turns show no habit."""

RUN_EXAMPLES = """
Examples:

`gaia grow run --user ada --dry-run` shows ada's counts and what the model proposes, and keeps nothing.

`gaia grow run -i` asks about each proposal for everybody with ten turns in the last 7 days.

`gaia grow run --days 30 --yes --json` keeps all, and prints what became of each.
"""

app = typer.Typer(no_args_is_help=True)


@app.callback()
def grow() -> None:
    """Propose facts from how people use their agents, in counts alone."""


@app.command("run", epilog=RUN_EXAMPLES)
@command
async def run(
    user: Annotated[
        list[str] | None,
        typer.Option("--user", "-u", help="Only this user. Repeat it for more. Default: all.", show_default=False),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", min=1, max=MAX_USAGE_DAYS, help="How many days to look at, today included.")
    ] = USAGE_DAYS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the proposals, and keep none.")] = False,
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Ask about each proposal.")] = False,
    yes: YesOption = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show how people use their agents, ask the model what that says about them, and keep what you agree to.

    The model sees counts and names of tools, commands and channels: no word that anybody said. Without `-i` or `--yes`
    nothing is kept. Exits with 1 if the model fails, or proposes something for somebody whom it was not asked about.
    """
    if dry_run + interactive + yes > 1:
        raise typer.BadParameter("pass one of --dry-run, -i and --yes")
    if interactive and (as_json or not is_interactive()):
        raise typer.BadParameter("-i asks at a terminal, which --json and pipes have not: pass --yes or --dry-run")
    async with open_engine(config, needs_home=True) as engine:
        if not engine.config.memory.usage_days:
            print_note("nothing is counted: `memory.usage_days` is 0")
        can_propose, people = engine.memory.can_propose, await _choose(engine, user, app_name, days)
        grown = [await _grow(engine, each, days, keeps=yes, asks=interactive, as_json=as_json) for each in people]
    if as_json:
        print_json({"days": days, "people": grown})
    elif not people:
        print_line(f"Nobody has had a turn in the last {pluralize(days, 'day')}.")
    if people and not can_propose:
        print_note("proposals need a model: set `memory.llm`; `gaia config show` prints it")
    if any(each["failure"] or each["other_users"] for each in grown):
        raise typer.Exit(1)


async def _choose(engine: Engine, users: list[str] | None, app_name: str | None, days: int) -> list[Scope]:
    """Return the people with turns; those who are named must be known."""
    memory, app = engine.memory, app_name or engine.config.app
    people = [each for each in await memory.users_with_usage(days=days) if each.app in (None, app)]
    if not users:
        return people
    chosen = [engine.scope(app, user) for user in dict.fromkeys(users)]
    known = {*people, *(each.scope for each in await memory.people())}
    if unknown := [each.user for each in chosen if each not in known]:
        names = ", ".join(map(repr, unknown))
        raise InvalidInputError(f"nobody is known as {names} in the app {app!r}: `gaia people` lists everybody")
    return chosen


async def _grow(engine: Engine, scope: Scope, days: int, *, keeps: bool, asks: bool, as_json: bool) -> dict[str, Any]:
    """Show how one person uses their agents and what the model proposes, keep what is agreed to; return it as JSON."""
    memory, name = engine.memory, scope.user
    digest = await memory.usage(scope, days=days)
    result: dict[str, Any] = {"user": name, "app": scope.app, "usage": digest.to_dict(), "proposals": []}
    result |= {"left_out": 0, "other_users": [], "failure": ""}
    if not as_json:
        _print_digest(name, digest)
    if digest.turns < MIN_TURNS or not memory.can_propose:
        return result
    try:
        found = await memory.proposals(scope, days=days)
    except ModelError as error:
        print_error(f"no proposals for {name!r}, and nothing was kept: {error}")
        return result | {"failure": str(error)}
    for other in found.other_users:
        print_error(f"asked about {name!r}, the model proposed something for {other!r}: it was left out")
    for proposal in found.proposals:
        if not as_json:
            _print_proposal(proposal)
        fact = None
        if keeps or (asks and ask("Keep it?")):
            try:
                fact = await memory.keep_proposal(scope, proposal, counted=found.counted)
            except InvalidInputError as error:
                result["failure"] = str(error)
                print_error(str(error))
        result["proposals"].append({**asdict(proposal), "id": fact and fact.id})
    if not as_json:
        kept = sum(each["id"] is not None for each in result["proposals"])
        left_out = f" {found.left_out} left out: known, forgotten or unfit." if found.left_out else ""
        print_line(f"{pluralize(len(found.proposals), 'proposal')} for {name}, {kept} kept.{left_out}")
    return result | {"left_out": found.left_out, "other_users": list(found.other_users)}


def _print_proposal(proposal: Proposal) -> None:
    print_line(f"- {proposal.text}" + (f" [{proposal.key}]" if proposal.key else ""))
    print_line(f"  because: {proposal.because or 'no reason given'} ({proposal.figures})")


def _print_digest(user: str, digest: UsageDigest) -> None:
    print_line(f"{user}: {digest.turns} turns on {digest.active_days} of the last {pluralize(digest.days, 'day')}")
    for name, counts in digest.groups():
        print_line(f"  {name}: {', '.join(f'{each} {count}' for each, count in counts.items())}")
    if digest.turns < MIN_TURNS:
        print_line(f"Too few turns for proposals: they need {MIN_TURNS}.")
