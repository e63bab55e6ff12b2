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
    engine_without_background,
    load_config,
    print_other_apps,
    run_async,
)
from gaia_memory.cli.memory.erasure_progress import finish_earlier_erasure, wait_for_erasure
from gaia_memory.cli.memory.receipt import ForgetReport, receipt_file, save_report
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, progress_bar
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import escape_line

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

_MIN_ID_PREFIX_CHARACTERS = 6

_REWRITTEN_MESSAGE = "The files that hold facts are rewritten: nothing forgotten is left in them."
_SERVER_MESSAGE = "Database and store hold it no more; the files and logs of a server are the server's to clean."


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
        print_error("pass --id or --session, not both")
        raise typer.Exit(2)
    loaded = load_config(config)
    with receipt_file(receipt, overwrite=force) as file:
        fact, question = run_async(_find_target(loaded, user, app_name, fact_id, session))
        if not yes:
            confirm(question, unchanged_message="nothing was forgotten")
        target = _ForgetTarget(user=user, app=app_name, fact_id=fact.id if fact else None, session=session)
        report = run_async(_forget(loaded, target, file, as_json=as_json))
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report)
    _exit_if_incomplete(report, receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ForgetTarget:
    """What is to be forgotten."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None


def _print_report(report: ForgetReport) -> None:
    """Show what became of the files, and what stays; that the facts are gone was said before."""
    if report.file_status == "pending":
        print_line(f"The files are still to be rewritten: {report.finisher}.")
    elif report.receipt.count or report.earlier_erasures:
        print_line(_SERVER_MESSAGE if report.server_parts else _REWRITTEN_MESSAGE)
    for remark in report.remarks:
        print_line(f"Note: {remark}.")
    if report.receipt_error is not None:
        print_line("The receipt:")
        print_json(report.to_dict())


def _exit_if_incomplete(report: ForgetReport, file: Path | None) -> None:
    """Leave with 1 where the facts are gone, and not all the rest could be done."""
    if report.erasure_error is not None:
        print_error(f"what is forgotten is gone from memory, but still stands in files: {report.erasure_error}")
    if report.receipt_error is not None:
        print_error(
            f"what is forgotten is gone, but there is no whole receipt in {file}: {report.receipt_error}; "
            "the receipt is on standard output instead"
        )
    if report.erasure_error is not None or report.receipt_error is not None:
        raise typer.Exit(1)


async def _find_target(
    loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None, session: str | None
) -> tuple[Fact | None, str]:
    """Return the one fact that is meant, None for several, and what is to be asked; leave where nothing is there."""
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        scope = engine.scope(app_name or engine.config.app, user)
        try:
            return await _resolve_target(engine, scope, fact_id, session)
        except typer.Exit:
            # Whoever forgets again, because the first time was interrupted, may find nothing left to name.
            await finish_earlier_erasure(engine, scope)
            raise


async def _resolve_target(
    engine: Engine, scope: Scope, fact_id: str | None, session: str | None
) -> tuple[Fact | None, str]:
    facts = await _current_facts(engine, scope)
    if not facts:
        await print_other_apps(engine, scope)
    if not facts and fact_id is None and not await _is_known(engine, scope):
        is_off = "" if engine.config.memory.enabled else " (memory is off, `memory.enabled: false`)"
        print_error(f"nothing to forget about {scope.user!r}{is_off}")
        raise typer.Exit(1)
    if session is not None:
        return None, await _session_question(engine, scope, session, facts)
    if fact_id is None:
        return None, f"Forget {pluralize(len(facts), 'fact')} about {scope.user}, for good?"
    fact = _find_fact(facts, fact_id, escape_line(scope.user))
    return fact, f"Forget {fact.text!r}, for good?"


async def _current_facts(engine: Engine, scope: Scope) -> list[Fact]:
    """Return every current fact; also while memory is off, when `Memory.facts` shows none."""
    async with engine.memory.database.read_transaction() as tx:
        return await engine.memory.facts_store.facts(tx, scope)


async def _session_question(engine: Engine, scope: Scope, session: str, facts: Sequence[Fact]) -> str:
    """Return what is to be asked before a conversation is forgotten; leave where it taught nothing."""
    memory = engine.memory
    async with memory.database.read_transaction() as tx:
        sole_ids = await memory.facts_store.sourced_only_from(tx, scope, session)
        waiting_sessions = {
            each.key.session for each in await memory.ledger.pending(tx, user=scope.user, app=scope.app)
        }
    has_facts = any(fact.session_id == session for fact in facts)
    if not sole_ids and not has_facts and session not in waiting_sessions:
        user = escape_line(scope.user)
        print_error(f"nothing is remembered of {user} from the conversation {session!r}, and nothing waits in it")
        raise typer.Exit(1)
    return f"Forget {pluralize(len(sole_ids), 'fact')} that only {session!r} taught about {scope.user}, for good?"


async def _is_known(engine: Engine, scope: Scope) -> bool:
    """Say whether there may be something to forget: facts were there once, or something waits.

    While memory is off nobody says anything that it would learn later, but files may wait to be rewritten.
    """
    async with engine.memory.database.read_transaction() as tx:
        state = await engine.memory.facts_store.state(tx, scope)
        waiting = await engine.memory.ledger.pending(tx, user=scope.user, app=scope.app)
        erasures = await engine.memory.outbox.pending_erasures(tx)
    return bool(waiting) or (state.revision > 0 and (bool(erasures) or engine.config.memory.enabled))


def _find_fact(facts: list[Fact], fact_id: str, user: str) -> Fact:
    is_long_enough = len(fact_id) >= _MIN_ID_PREFIX_CHARACTERS
    found = [fact for fact in facts if fact.id == fact_id or (is_long_enough and fact.id.startswith(fact_id))]
    if len(found) == 1:
        return found[0]
    if found:
        print_error(f"{len(found)} facts of {user} have an id that begins with {fact_id!r}: give more of it")
    else:
        print_error(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
    raise typer.Exit(1)


async def _forget(loaded: LoadedConfig, target: _ForgetTarget, file: Path | None, *, as_json: bool) -> ForgetReport:
    """Forget, keep the receipt, wait for the files, and keep the receipt again; return what it tells."""
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        user, session = target.user, target.session
        scope = engine.scope(target.app or engine.config.app, user)
        async with engine.memory.database.read_transaction() as tx:
            waiting = [each.key.session for each in await engine.memory.ledger.pending(tx, user=user, app=scope.app)]
            earlier_erasures = len(await engine.memory.outbox.pending_erasures(tx))
        report = ForgetReport(
            user=user,
            app=scope.app,
            fact_id=target.fact_id,
            session=session,
            forgotten_at=engine.clock.now(),
            receipt=await engine.memory.forget(scope, fact_id=target.fact_id, session_id=session),
            waiting_conversations=0 if target.fact_id else len([each for each in waiting if session in (None, each)]),
            server_parts=_server_parts(engine),
            earlier_erasures=earlier_erasures,
        )
        if not as_json:
            # Before anything else that may fail or be interrupted.
            print_line(f"Forgot {pluralize(report.receipt.count, 'fact')} about {user}.")
        report = save_report(report, file)
        if not report.receipt.pending:
            return report
        with progress_bar("Rewriting files") as advance:
            try:
                other_owner = await wait_for_erasure(engine, scope, advance)
                report = replace(report, is_erased=other_owner is None, finished_by=other_owner)
            except MemoryUnavailable as error:
                report = replace(report, erasure_error=str(error))
        return save_report(report, file)


def _server_parts(engine: Engine) -> tuple[str, ...]:
    database = () if engine.memory.database.is_local else ("the memory database",)
    return database if engine.follower.is_embedded else (*database, "the vector store")
