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
from gaia_memory.cli.rendering import print_json
from gaia_memory.cli.terminal import Advance, bar, complain, counted

if TYPE_CHECKING:
    from gaia_memory.config.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Receipt, Scope

EXAMPLES = """
Examples:

`gaia memory forget --user itay` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user itay --id 0b9c…` forgets one fact; `gaia memory list` shows the ids.

`gaia memory forget --user itay -y --json` asks nothing and prints the receipt.
"""

_LOOK_SECONDS = 0.05


def forget(
    user: UserOption,
    fact_id: Annotated[str | None, typer.Option("--id", help="Forget only the fact with this id.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget everything about a person, or one fact. What was said so far is not learned again."""
    loaded = load_config(config)
    if not yes:
        typer.confirm(run(_question(loaded, user, app_name, fact_id)), abort=True, err=True)
    receipt, elsewhere = run(_forget(loaded, user, app_name, fact_id))
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
    elif receipt.count or fact_id is None:
        typer.echo("\n".join([f"Forgot {counted(receipt.count, 'fact')} about {user}.", *receipt.notes]))
        typer.echo(
            f"The files are still to be rewritten: {elsewhere}." if elsewhere else "No file holds them any more."
        )
    if fact_id is not None and not receipt.count:
        complain(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
        raise typer.Exit(1)


async def _question(loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None) -> str:
    async with quiet_engine(loaded) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        facts = await engine.memory.facts(scope)
        if not facts:
            await name_other_apps(engine, scope)
    if fact_id is None:
        return f"Forget {counted(len(facts), 'fact')} about {user}, for good?"
    named = [fact.text for fact in facts if fact.id == fact_id]
    return f"Forget {named[0]!r}, for good?" if named else f"{user} has no fact with the id {fact_id!r}. Go on?"


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
