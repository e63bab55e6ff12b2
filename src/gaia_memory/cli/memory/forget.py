"""`gaia memory forget`: remove what is remembered, and wait until no file holds it any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    load_config,
    name_other_apps,
    quiet_engine,
    run,
)
from gaia_memory.cli.memory.erasure_progress import erased, finish_earlier
from gaia_memory.cli.memory.receipt import Told, keep, kept_in
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import bar, complain, counted, say
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import on_one_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, Scope

EXAMPLES = """
Examples:

`gaia memory forget --user itay` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user itay -y --json` asks nothing and prints the receipt.

With `--receipt FILE` a file, readable by you alone, says what was removed where and what stays.

With `--session itay:telegram` what only that conversation taught is forgotten.

With `--id` and the first characters of an id (six or more; `gaia memory list` shows them) one fact is forgotten.
"""

_SHORTEST_PREFIX = 6

_REWRITTEN = "The files that hold facts are rewritten: nothing forgotten is left in them."
_ON_SERVER = "Database and store hold it no more; the files and logs of a server are the server's to clean."


def forget(
    user: UserOption,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact whose id is this, or begins with it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Forget only what this conversation alone taught, and what waits in it."),
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", help="A file for what was removed where, and what stays, as JSON.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a receipt that is there.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget everything about a person, one fact, or a conversation. What was said so far is not learned again.

    Works while memory is off. Leaves with 1 when nothing is known of the person or the conversation here, the fact is
    not there, or the facts are gone and a file or the receipt could not be written.
    """
    if fact_id is not None and session is not None:
        complain("pass --id or --session, not both")
        raise typer.Exit(2)
    loaded = load_config(config)
    with kept_in(receipt, replace=force) as file:
        fact, question = run(_check(loaded, user, app_name, fact_id, session))
        if not yes:
            confirm(question, undone="nothing was forgotten")
        wanted = _Wanted(user=user, app=app_name, fact_id=fact.id if fact else None, session=session)
        told = run(_forget(loaded, wanted, file, as_json=as_json))
    if as_json:
        print_json(told.data())
    else:
        _tell(told)
    _require_all(told, receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is to be forgotten."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None


def _tell(told: Told) -> None:
    """Show what became of the files, and what stays; that the facts are gone was said before."""
    if told.files == "pending":
        say(f"The files are still to be rewritten: {told.finisher}.")
    elif told.receipt.count or told.earlier:
        say(_ON_SERVER if told.servers else _REWRITTEN)
    for remark in told.remarks:
        say(f"Note: {remark}.")
    if told.unkept is not None:
        say("The receipt:")
        print_json(told.data())


def _require_all(told: Told, file: Path | None) -> None:
    """Leave with 1 where the facts are gone, and not all the rest could be done."""
    if told.trouble is not None:
        complain(f"what is forgotten is gone from memory, but still stands in files: {told.trouble}")
    if told.unkept is not None:
        complain(
            f"what is forgotten is gone, but there is no whole receipt in {file}: {told.unkept}; "
            "the receipt is on standard output instead"
        )
    if told.trouble is not None or told.unkept is not None:
        raise typer.Exit(1)


async def _check(
    loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None, session: str | None
) -> tuple[Fact | None, str]:
    """Return the one fact that is meant, None for several, and what is to be asked; leave where nothing is there."""
    async with quiet_engine(loaded, also_off=True) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        try:
            return await _meant_in(engine, scope, fact_id, session)
        except typer.Exit:
            # Whoever forgets again, because the first time was interrupted, may find nothing left to name.
            await finish_earlier(engine, scope)
            raise


async def _meant_in(engine: Engine, scope: Scope, fact_id: str | None, session: str | None) -> tuple[Fact | None, str]:
    facts = await _facts(engine, scope)
    if not facts:
        await name_other_apps(engine, scope)
    if not facts and fact_id is None and not await _is_known(engine, scope):
        is_off = "" if engine.config.memory.enabled else " (memory is off, `memory.enabled: false`)"
        complain(f"nothing to forget about {scope.user!r}{is_off}")
        raise typer.Exit(1)
    if session is not None:
        return None, await _asked_about(engine, scope, session, facts)
    if fact_id is None:
        return None, f"Forget {counted(len(facts), 'fact')} about {scope.user}, for good?"
    fact = _meant(facts, fact_id, on_one_line(scope.user))
    return fact, f"Forget {fact.text!r}, for good?"


async def _facts(engine: Engine, scope: Scope) -> list[Fact]:
    """Return every current fact; also while memory is off, when `Memory.facts` shows none."""
    async with engine.memory.database.reading() as tx:
        return await engine.memory.facts_store.facts(tx, scope)


async def _asked_about(engine: Engine, scope: Scope, session: str, facts: Sequence[Fact]) -> str:
    """Return what is to be asked before a conversation is forgotten; leave where it taught nothing."""
    memory = engine.memory
    async with memory.database.reading() as tx:
        alone = await memory.facts_store.taught_only_by(tx, scope, session)
        waits = {each.key.session for each in await memory.ledger.pending(tx, user=scope.user, app=scope.app)}
    taught = any(fact.session_id == session for fact in facts)
    if not alone and not taught and session not in waits:
        user = on_one_line(scope.user)
        complain(f"nothing is remembered of {user} from the conversation {session!r}, and nothing waits in it")
        raise typer.Exit(1)
    return f"Forget {counted(len(alone), 'fact')} that only {session!r} taught about {scope.user}, for good?"


async def _is_known(engine: Engine, scope: Scope) -> bool:
    """Say whether there may be something to forget: facts were there once, or something waits.

    While memory is off nobody says anything that it would learn later, but files may wait to be rewritten.
    """
    async with engine.memory.database.reading() as tx:
        state = await engine.memory.facts_store.state(tx, scope)
        waiting = await engine.memory.ledger.pending(tx, user=scope.user, app=scope.app)
        erasures = await engine.memory.outbox.erasures(tx)
    return bool(waiting) or (state.revision > 0 and (bool(erasures) or engine.config.memory.enabled))


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


async def _forget(loaded: LoadedConfig, wanted: _Wanted, file: Path | None, *, as_json: bool) -> Told:
    """Forget, keep the receipt, wait for the files, and keep the receipt again; return what it tells."""
    async with quiet_engine(loaded, also_off=True) as engine:
        user, session = wanted.user, wanted.session
        scope = engine.scope(wanted.app or engine.config.app, user)
        async with engine.memory.database.reading() as tx:
            waiting = [each.key.session for each in await engine.memory.ledger.pending(tx, user=user, app=scope.app)]
            earlier = len(await engine.memory.outbox.erasures(tx))
        told = Told(
            user=user,
            app=scope.app,
            fact_id=wanted.fact_id,
            session=session,
            at=engine.clock.now(),
            receipt=await engine.memory.forget(scope, fact_id=wanted.fact_id, session_id=session),
            waiting=0 if wanted.fact_id else len([each for each in waiting if session in (None, each)]),
            servers=_servers(engine),
            earlier=earlier,
        )
        if not as_json:
            # Before anything else that may fail or be interrupted.
            say(f"Forgot {counted(told.receipt.count, 'fact')} about {user}.")
        told = keep(told, file)
        if not told.receipt.pending:
            return told
        with bar("Rewriting files") as advance:
            try:
                elsewhere = await erased(engine, scope, advance)
                told = replace(told, is_done=elsewhere is None, finished_by=elsewhere)
            except MemoryUnavailable as away:
                told = replace(told, trouble=str(away))
        return keep(told, file)


def _servers(engine: Engine) -> tuple[str, ...]:
    database = () if engine.memory.database.is_local else ("the memory database",)
    return database if engine.follower.embedded else (*database, "the vector store")
