"""`gaia memory forget`: remove what is remembered, and wait until no file holds it any more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.opening import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    load_config,
    name_other_apps,
    quiet_engine,
    run,
)
from gaia_memory.cli.reading import at_terminal
from gaia_memory.cli.rendering import print_json
from gaia_memory.cli.terminal import Advance, bar, complain, counted, printable

if TYPE_CHECKING:
    from gaia_memory.config.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, Receipt, Scope

EXAMPLES = """
Examples:

`gaia memory forget --user itay` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user itay -y --json` asks nothing and prints the receipt.

With `--id` and the first characters of an id (six or more; `gaia memory list` shows them) one fact is forgotten.
"""

_LOOK_SECONDS = 0.05
_SHORTEST_PREFIX = 6


def forget(
    user: UserOption,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact whose id is this, or begins with it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget everything about a person, or one fact. What was said so far is not learned again.

    Leaves with 1 when nothing is known of the person here, or the fact is not there.
    """
    loaded = load_config(config)
    fact, question = run(_check(loaded, user, app_name, fact_id))
    if not yes:
        _confirm(question)
    receipt, elsewhere = run(_forget(loaded, user, app_name, fact.id if fact else None))
    if as_json:
        print_json(
            {
                "user": user,
                "count": receipt.count,
                "removed": dict(receipt.removed),
                "pending": elsewhere is not None,
                "notes": [*receipt.notes, *([elsewhere] if elsewhere else [])],
            }
        )
        return
    typer.echo(printable(f"Forgot {counted(receipt.count, 'fact')} about {user}."))
    if elsewhere:
        typer.echo(f"The files are still to be rewritten: {elsewhere}.")
    elif receipt.count:
        typer.echo("The files that hold facts are rewritten: nothing forgotten is left in them.")
    for remark in receipt.notes:
        typer.echo(f"Note: {remark}.")


async def _check(loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None) -> tuple[Fact | None, str]:
    """Return the one fact that is meant, None for all, and what is to be asked; leave where nothing is there."""
    async with quiet_engine(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        facts = await engine.memory.facts(scope)
        if not facts:
            await name_other_apps(engine, scope)
        if not facts and fact_id is None and not await _is_known(engine, scope):
            complain(f"nothing to forget about {user!r}")
            raise typer.Exit(1)
    if fact_id is None:
        return None, f"Forget {counted(len(facts), 'fact')} about {user}, for good?"
    fact = _meant(facts, fact_id, user)
    return fact, f"Forget {fact.text!r}, for good?"


async def _is_known(engine: Engine, scope: Scope) -> bool:
    """Say whether this memory has met a person: something was remembered or forgotten, or waits to be learned."""
    async with engine.memory.database.reading() as tx:
        state = await engine.memory.facts_store.state(tx, scope)
        return state.revision > 0 or bool(await engine.memory.ledger.pending(tx, user=scope.user, app=scope.app))


def _meant(facts: list[Fact], fact_id: str, user: str) -> Fact:
    long_enough = len(fact_id) >= _SHORTEST_PREFIX
    found = [fact for fact in facts if fact.id == fact_id or (long_enough and fact.id.startswith(fact_id))]
    if len(found) == 1:
        return found[0]
    if found:
        complain(f"{len(found)} facts of {user} have an id that begins with {fact_id!r}: give more of it")
    else:
        complain(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
    raise typer.Exit(1)


def _confirm(question: str) -> None:
    try:
        agreed = typer.confirm(printable(question), err=True)
    except typer.Abort:
        if at_terminal():
            raise
        typer.echo(err=True)
        complain("nothing was forgotten: pass -y where nobody answers the question")
        raise typer.Exit(1) from None
    if not agreed:
        raise typer.Abort


async def _forget(
    loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None
) -> tuple[Receipt, str | None]:
    """Return the receipt, and who finishes the erasure where that is another process."""
    async with quiet_engine(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        receipt = await engine.memory.forget(scope, fact_id=fact_id)
        if not receipt.pending:
            return receipt, None
        with bar("Rewriting files") as advance:
            return receipt, await _erased(engine, scope, advance)


async def _erased(engine: Engine, scope: Scope, advance: Advance) -> str | None:
    """Wait for the erasure where this process can own the store; else return who does.

    Raises:
        StoreStalledError: it makes no progress.
    """
    from gaia_memory.errors import StoreNotOwnedError

    follower = engine.follower
    follower.start()
    settling = asyncio.create_task(engine.memory.settled())
    most = 1
    try:
        while not (await asyncio.wait({settling}, timeout=_LOOK_SECONDS))[0]:
            if follower.ready and not follower.owned:
                try:
                    follower.mem0  # noqa: B018 - it raises with the owner's name
                except StoreNotOwnedError as other:
                    return f"{other.reason}, which finishes the erasure"
            status = await engine.memory.status(scope)
            left = status.lag + status.erasures
            most = max(most, left)
            advance(most - left, most)
        await settling
    finally:
        settling.cancel()
    return None
