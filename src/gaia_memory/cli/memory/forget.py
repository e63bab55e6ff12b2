"""`gaia memory forget`: delete facts, and wait until no file contains them."""

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
    scope_of,
)
from gaia_memory.cli.memory.erasure_progress import finish_erasures
from gaia_memory.cli.memory.receipt import EARLIER_FINISHED_NOTE, ForgetReport, receipt_file, save_report
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine import Engine
    from gaia_memory.models import Fact, Scope

EXAMPLES = """
Examples:

`gaia memory forget --user itay` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user itay -y --json` does not ask, and prints the receipt.

`--receipt FILE` writes a file that only you can read: what was deleted where, and what stays.

`--session itay:telegram` forgets what only that conversation taught.

`--id` with at least the first six characters of an id (see `gaia memory list`) forgets one fact.
"""

_MIN_ID_PREFIX_CHARACTERS = 6

_REWRITTEN_MESSAGE = "The files are rewritten: they contain nothing that was forgotten."
_SERVER_MESSAGE = "It is deleted from the database and the store; their servers clean their own files and logs."


def forget(
    user: UserOption,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact with this id, or with an id that starts with it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Forget what only this conversation taught, and do not learn from it."),
    ] = None,
    receipt: Annotated[
        Path | None,
        typer.Option("--receipt", help="Write what was deleted where, and what stays, to this file as JSON."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing receipt.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget everything about a user, one fact, or a conversation. Earlier messages are never learned again.

    Works while memory is off. Exits with 1 if the user, the fact or the conversation is unknown, or if a file or the
    receipt could not be written after the facts were deleted.
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
    """The user, and the fact or conversation to forget; neither means everything."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None


def _print_report(report: ForgetReport) -> None:
    """Report the files and what stays; the deleted facts were reported before."""
    if report.file_status == "pending":
        print_line(f"The files are still to be rewritten: {report.finisher}.")
    elif report.receipt.count or report.earlier_erasures:
        print_line(_SERVER_MESSAGE if report.remote_stores else _REWRITTEN_MESSAGE)
    for remark in report.remarks:
        print_line(f"Note: {remark}.")
    if report.receipt_error is not None:
        print_line("The receipt:")
        print_json(report.to_dict())


def _exit_if_incomplete(report: ForgetReport, file: Path | None) -> None:
    """Exit with 1 if the facts are deleted, but a file or the receipt could not be written."""
    if report.erasure_error is not None:
        print_error(f"the facts are deleted, but files still contain them: {report.erasure_error}")
    if report.receipt_error is not None:
        print_error(
            f"the facts are deleted, but the receipt could not be written to {file}: {report.receipt_error}; "
            "it is on standard output instead"
        )
    if report.erasure_error is not None or report.receipt_error is not None:
        raise typer.Exit(1)


async def _find_target(
    loaded: LoadedConfig, user: str, app_name: str | None, fact_id: str | None, session: str | None
) -> tuple[Fact | None, str]:
    """Return the fact to forget, None for several, and the question to ask; exit if there is nothing to forget."""
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        scope = scope_of(engine, app_name, user)
        try:
            return await _resolve_target(engine, scope, fact_id, session)
        except typer.Exit:
            # After an interrupted forget the facts are gone, but files may still contain them.
            await _finish_earlier_erasures(engine)
            raise


async def _finish_earlier_erasures(engine: Engine) -> None:
    if not await engine.memory.pending_erasures():
        return
    try:
        remaining = await finish_erasures(engine.memory)
    except MemoryUnavailable as error:
        remaining = str(error)
    note = EARLIER_FINISHED_NOTE[0].upper() + EARLIER_FINISHED_NOTE[1:]
    print_note(f"Files of an earlier forget are still to be rewritten: {remaining}." if remaining else f"{note}.")


async def _resolve_target(
    engine: Engine, scope: Scope, fact_id: str | None, session: str | None
) -> tuple[Fact | None, str]:
    preview = await engine.memory.preview_forget(scope, session_id=session)
    facts, user = preview.facts, escape_line(scope.user)
    if not facts:
        await print_other_apps(engine, scope)
        # While memory is off nothing new is learned, but files may still have to be rewritten.
        is_enabled = engine.config.memory.enabled
        is_known = preview.pending or (preview.was_written and (preview.pending_erasures or is_enabled))
        if fact_id is None and not is_known:
            off_note = "" if is_enabled else " (memory is off, `memory.enabled: false`)"
            print_error(f"nothing to forget about {scope.user!r}{off_note}")
            raise typer.Exit(1)
    if fact_id is not None:
        fact = _find_fact(facts, fact_id, user)
        return fact, f"Forget {fact.text!r}, for good?"
    if session is None:
        return None, f"Forget {pluralize(len(facts), 'fact')} about {scope.user}, for good?"
    if (
        not preview.session_fact_ids
        and not any(fact.session_id == session for fact in facts)
        and not any(each.key.session == session for each in preview.pending)
    ):
        print_error(f"no fact about {user} comes from the conversation {session!r}, and nothing in it is pending")
        raise typer.Exit(1)
    count = pluralize(len(preview.session_fact_ids), "fact")
    return None, f"Forget {count} that only {session!r} taught about {scope.user}, for good?"


def _find_fact(facts: Sequence[Fact], fact_id: str, user: str) -> Fact:
    is_long_enough = len(fact_id) >= _MIN_ID_PREFIX_CHARACTERS
    found = [fact for fact in facts if fact.id == fact_id or (is_long_enough and fact.id.startswith(fact_id))]
    if len(found) == 1:
        return found[0]
    if found:
        print_error(f"{len(found)} facts of {user} have an id that starts with {fact_id!r}: pass more of it")
    else:
        print_error(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
    raise typer.Exit(1)


async def _forget(loaded: LoadedConfig, target: _ForgetTarget, file: Path | None, *, as_json: bool) -> ForgetReport:
    """Forget, write the receipt, wait for the files, and write the receipt again; return the report."""
    async with engine_without_background(loaded, allow_disabled=True) as engine:
        memory, session = engine.memory, target.session
        scope = scope_of(engine, target.app, target.user)
        before = await memory.preview_forget(scope)
        dropped = [each for each in before.pending if not target.fact_id and session in (None, each.key.session)]
        report = ForgetReport(
            user=target.user,
            app=scope.app,
            fact_id=target.fact_id,
            session=session,
            forgotten_at=engine.clock.now(),
            receipt=await memory.forget(scope, fact_id=target.fact_id, session_id=session),
            waiting_conversations=len(dropped),
            remote_stores=engine.remote_stores,
            earlier_erasures=before.pending_erasures,
        )
        if not as_json:
            # Before anything that may fail or be interrupted.
            print_line(f"Forgot {pluralize(report.receipt.count, 'fact')} about {target.user}.")
        report = save_report(report, file)
        if not report.receipt.pending:
            return report
        try:
            finished_by = await finish_erasures(memory)
            report = replace(report, is_erased=finished_by is None, finished_by=finished_by)
        except MemoryUnavailable as error:
            report = replace(report, erasure_error=str(error))
        return save_report(report, file)
