"""`gaia grow`: facts that a model proposes from how somebody uses their agent, and that you agree to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, YesOption, command, open_engine
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import is_interactive
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note
from gaia_memory.errors import InvalidInputError, ModelError
from gaia_memory.growth import MAX_USAGE_DAYS, USAGE_DAYS

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.growth.digest import UsageDigest
    from gaia_memory.growth.proposals import Proposal, Proposals
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


@dataclass(slots=True)
class _Growth:
    """What was shown about one person, and what was kept; `failure` is why the model proposed nothing."""

    scope: Scope
    digest: UsageDigest
    proposals: Proposals | None = None
    kept: list[str | None] = field(default_factory=list)
    failure: str = ""

    def to_dict(self) -> dict[str, Any]:
        found = self.proposals
        shown = [] if found is None else zip(found.proposals, self.kept, strict=True)
        return {
            "user": self.scope.user,
            "app": self.scope.app,
            "usage": self.digest.to_dict(),
            "proposals": [{**asdict(each), "id": fact_id} for each, fact_id in shown],
            "known": 0 if found is None else found.known,
            "strangers": [] if found is None else list(found.strangers),
            "failure": self.failure,
        }


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
        people = await _choose(engine, user, app_name, days)
        growths = [_Growth(each, await engine.memory.usage(each, days=days)) for each in people]
        for growth in growths:
            if not as_json:
                _print_digest(growth.scope.user, growth.digest)
            await _grow(engine, growth, keeps=yes, asks=interactive, as_json=as_json)
        can_propose = engine.memory.can_propose
    if as_json:
        print_json({"days": days, "people": [each.to_dict() for each in growths]})
    elif not growths:
        print_line(f"Nobody has had a turn in the last {pluralize(days, 'day')}.")
    if growths and not can_propose:
        print_note("proposals need a model: see `gaia config get memory.llm`")
    if any(each.failure or (each.proposals and each.proposals.strangers) for each in growths):
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


async def _grow(engine: Engine, growth: _Growth, *, keeps: bool, asks: bool, as_json: bool) -> None:
    """Ask the model about one person, show each proposal, and keep those that are agreed to."""
    memory, name = engine.memory, growth.scope.user
    if growth.digest.turns < MIN_TURNS or not memory.can_propose:
        if growth.digest.turns < MIN_TURNS and not as_json:
            print_line(f"Too few turns for proposals: they need {MIN_TURNS}.")
        return
    try:
        found = growth.proposals = await memory.proposals(growth.scope, growth.digest)
    except ModelError as error:
        growth.failure = str(error)
        print_error(f"no proposals for {name!r}, and nothing was kept: {error}")
        return
    for stranger in found.strangers:
        print_error(f"the model proposed something for {stranger!r}, whom it was not asked about: it was left out")
    for proposal in found.proposals:
        if not as_json:
            _print_proposal(proposal)
        is_wanted = keeps or (asks and typer.confirm("Keep it?", err=True))
        growth.kept.append((await memory.keep_proposal(growth.scope, proposal)).id if is_wanted else None)
    if not as_json:
        kept = len(growth.kept) - growth.kept.count(None)
        known = f" {found.known} known already." if found.known else ""
        print_line(f"{pluralize(len(growth.kept), 'proposal')} for {name}, {kept} kept.{known}")


def _print_proposal(proposal: Proposal) -> None:
    print_line(f"- {proposal.text}" + (f" [{proposal.key}]" if proposal.key else ""))
    print_line(f"  because: {proposal.because} ({proposal.figures})")


def _print_digest(user: str, digest: UsageDigest) -> None:
    print_line(f"{user}: {digest.turns} turns on {digest.active_days} of the last {pluralize(digest.days, 'day')}")
    for name, counts in digest.groups():
        print_line(f"  {name}: {_listed(counts)}")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
