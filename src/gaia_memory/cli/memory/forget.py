"""`gaia memory forget`: delete facts, and wait until no file contains them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import (
    AppOption,
    ConfigOption,
    JsonOption,
    UserOption,
    YesOption,
    finish_erasures,
    open_scope,
    print_other_scopes,
)
from gaia_memory.cli.ui.fact_output import not_current_note, print_json, shorten_ids
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.receipt import EARLIER_FINISHED_NOTE, ForgetReport, receipt_file, save_report
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from datetime import datetime

    from gaia_memory.engine import Engine
    from gaia_memory.forget.delete import ForgetPreview
    from gaia_memory.models import Fact, Scope

EXAMPLES = """
Examples:

`gaia memory forget --user ada` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user ada -y --json` does not ask, and prints the receipt.

`--receipt FILE` writes a file that only you can read: what was deleted where, and what stays.

`--copies` also deletes the copies that imports gave to other users; the receipt of a forget counts them.

`--session ada:telegram` forgets what only that conversation taught.

`--id` with the beginning of an id, as `gaia memory list` shows it, forgets one fact.
"""

_MAX_NAMED_IDS = 5

_REWRITTEN_MESSAGE = "The files are rewritten: nothing of what was deleted is in them."
_SERVER_MESSAGE = "It is deleted from the database and the store; their servers clean their own files and logs."


CopiesOption = Annotated[
    bool, typer.Option("--copies", help="Delete the copies that imports gave to other users, too.")
]


async def forget(
    user: UserOption,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact with this id, or with an id that starts with it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Forget what only this conversation taught, and do not learn from it."),
    ] = None,
    copies: CopiesOption = False,
    receipt: Annotated[
        Path | None,
        typer.Option("--receipt", help="Write what was deleted where, and what stays, to this file as JSON."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing receipt.")] = False,
    yes: YesOption = False,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget everything about a user, one fact, or a conversation. Earlier messages are never learned again.

    Without `--id`, open conversations without anything left to learn are deleted; a note says if one has to stay.
    Copies that imports gave to other users stay, except those that `--copies` deletes: what nothing else taught there.
    Works while memory is off. Exits with 1 if the user, the fact or the conversation is unknown, or if a file or the
    receipt could not be written after the facts were deleted. While memory is on, a user whose facts are all forgotten
    is still known.
    """
    if fact_id is not None and session is not None:
        print_error("pass --id or --session, not both")
        raise typer.Exit(2)
    with receipt_file(receipt, overwrite=force) as file:
        async with open_scope(config, app_name, user, allow_disabled=True) as (engine, scope):
            preview = await engine.memory.preview_forget(scope, session_id=session)
            try:
                target_id, question = await _find_target(engine, scope, preview, fact_id, session, copies=copies)
            except typer.Exit:
                # After an interrupted forget the facts are gone, but files may still contain them.
                await _finish_earlier_erasures(engine)
                raise
            if not yes:
                confirm(f"{question} This cannot be undone.", unchanged_message="nothing was forgotten")
            report = await _forget(engine, scope, preview, target_id, session, copies=copies)
            if not as_json:
                # Before anything that may fail or be interrupted.
                print_line(f"{_summary(report, preview)}{_unlearned_note(report)}")
            save_report(report, file)
            report = await _rewrite_files(engine, await _delete_sessions(engine, scope, report))
            receipt_error = save_report(report, file)
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report, receipt_error)
    if report.erasure_error:
        print_error(f"the facts are deleted, but files still contain them: {report.erasure_error}")
    if receipt_error:
        message = f"the facts are deleted, but the receipt could not be written: {receipt_error}"
        print_error(f"{message}; it is on standard output instead")
    if report.erasure_error or receipt_error:
        raise typer.Exit(1)


async def _forget(
    engine: Engine, scope: Scope, preview: ForgetPreview, fact_id: str | None, session: str | None, *, copies: bool
) -> ForgetReport:
    waiting = [each for each in preview.pending if each.messages]
    dropped = [each for each in waiting if not fact_id and session in (None, each.key.session)]
    return ForgetReport(
        user=scope.user,
        app=scope.app,
        fact_id=fact_id,
        session=session,
        forgotten_at=engine.clock.now(),
        receipt=await engine.memory.forget(scope, fact_id=fact_id, session_id=session, copies=copies),
        waiting_conversations=len(dropped),
        remote_stores=engine.remote_stores,
        earlier_erasures=preview.pending_erasures,
    )


async def _delete_sessions(engine: Engine, scope: Scope, report: ForgetReport) -> ForgetReport:
    """Delete the sessions that the forget left without anything to learn; forgetting one fact leaves all of them."""
    from gaia_memory.forget.delete import HOST_SESSION_NOTE, OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE

    notes = report.receipt.notes
    if report.fact_id or {OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE, HOST_SESSION_NOTE}.isdisjoint(notes):
        return report
    from gaia_memory.adk.gaia import Gaia

    # `Gaia` makes the sessions readable for the engine.
    sessions = await Gaia(engine, None).engine.delete_forgotten(scope, report.session)
    counts = {
        OPEN_SESSION_NOTE: sessions.open,
        REWOUND_SESSION_NOTE: sessions.hidden,
        HOST_SESSION_NOTE: sessions.elsewhere,
    }
    true_notes = [note for note, count in counts.items() if count]
    return replace(
        report,
        receipt=replace(
            report.receipt,
            removed={**report.receipt.removed, "conversations": sessions.deleted},
            notes=(*true_notes, *(note for note in notes if note not in counts)),
        ),
    )


async def _rewrite_files(engine: Engine, report: ForgetReport) -> ForgetReport:
    if not report.receipt.pending:
        return report
    try:
        with progress_bar("Rewriting files") as advance:
            finished_by = await engine.memory.finish_erasures(advance)
    except MemoryUnavailable as error:
        return replace(report, erasure_error=str(error))
    return replace(report, is_erased=finished_by is None, finished_by=finished_by)


def _summary(report: ForgetReport, preview: ForgetPreview) -> str:
    note = "" if report.fact_id else _not_current_note(preview, report.session, report.forgotten_at)
    deleted = report.receipt.removed.get("copies", 0)
    copies = f" {deleted} of the copies that others had {'is' if deleted == 1 else 'are'} deleted." if deleted else ""
    return f"Forgot {pluralize(report.receipt.count, 'fact')}{note} about {report.user}.{copies}"


def _unlearned_note(report: ForgetReport) -> str:
    if not report.waiting_conversations:
        return ""
    return f" {pluralize(report.waiting_conversations, 'conversation')} that waited to be learned will not be."


def _print_report(report: ForgetReport, receipt_error: str | None) -> None:
    """Report the conversations, the files and what stays; the deleted facts were reported before."""
    if conversations := report.receipt.removed.get("conversations"):
        print_line(f"Deleted {pluralize(conversations, 'conversation')} with all messages.")
    if report.file_status == "pending":
        print_line(f"The files are still to be rewritten: {report.finisher}.")
    elif report.receipt.pending or report.earlier_erasures:
        print_line(_SERVER_MESSAGE if report.remote_stores else _REWRITTEN_MESSAGE)
    for remark in report.remarks:
        print_line(f"Note: {remark}.")
    if receipt_error is not None:
        print_line("The receipt:")
        print_json(report.to_dict())


async def _finish_earlier_erasures(engine: Engine) -> None:
    if not await engine.memory.pending_erasures():
        return
    if remaining := await finish_erasures(engine.memory):
        print_note(f"Files of an earlier forget are still to be rewritten: {remaining}.")
    else:
        print_note(f"{EARLIER_FINISHED_NOTE[0].upper()}{EARLIER_FINISHED_NOTE[1:]}.")


async def _find_target(
    engine: Engine, scope: Scope, preview: ForgetPreview, fact_id: str | None, session: str | None, *, copies: bool
) -> tuple[str | None, str]:
    """Return the id of the fact to forget, None for several, and the question; exit if there is nothing to forget."""
    facts, user = preview.facts, scope.user
    if not facts or (fact_id is None and session is None):
        await print_other_scopes(engine, scope)
    if not facts:
        # While memory is off nothing new is learned, but files may still have to be rewritten.
        is_enabled = engine.config.memory.enabled
        is_known = preview.pending or (preview.was_written and (preview.pending_erasures or is_enabled))
        if fact_id is None and not is_known and not (copies and preview.copies):
            off_note = "" if is_enabled else " (memory is off, `memory.enabled: false`)"
            print_error(f"nothing to forget about {user!r}{off_note}")
            raise typer.Exit(1)
    copies_note = " with the copies that others have" if copies else ""
    if fact_id is not None:
        if copies and preview.copies and not any(fact.id.startswith(fact_id) for fact in facts):
            # The fact may be forgotten already, and its copies not.
            return fact_id, f"Forget {fact_id!r}{copies_note}?"
        fact = find_fact(facts, fact_id, escape_line(user))
        from gaia_memory.redaction.credentials import mask_credentials

        shown_text = mask_credentials(fact.text, allow_numbers=engine.config.memory.allow_numbers)
        return fact.id, f"Forget {shown_text!r}{copies_note}?"
    if session is None and not facts and preview.pending:
        return None, f"Forget what {user} has said, which is not learned yet{copies_note}?"
    note = _not_current_note(preview, session, engine.clock.now())
    if session is None:
        return None, f"Forget {pluralize(len(facts), 'fact')}{note} about {user}{copies_note}?"
    taught = [fact for fact in facts if fact.session_id == session]
    talked = [each for each in preview.pending if each.key.session == session]
    if not (preview.session_fact_ids or taught or talked or (copies and preview.copies)):
        print_error(
            f"no fact about {escape_line(user)} comes from the conversation {session!r}, and nothing in it is pending"
        )
        raise typer.Exit(1)
    count = pluralize(len(preview.session_fact_ids), "fact")
    return None, f"Forget {count}{note} that only {session!r} taught about {user}{copies_note}?"


def _not_current_note(preview: ForgetPreview, session: str | None, now: datetime) -> str:
    affected = [fact for fact in preview.facts if session is None or fact.id in preview.session_fact_ids]
    return not_current_note(affected, now)


def find_fact(facts: Sequence[Fact], fact_id: str, user: str) -> Fact:
    """Return the fact with this id, or with an id that starts with it; exit if there is none or more than one."""
    prefix = fact_id.removeprefix("#").lower()
    found = [fact for fact in facts if prefix and fact.id.lower().startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        named = shorten_ids([fact.id for fact in found])[:_MAX_NAMED_IDS]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        ids = ", ".join(named) + more
        print_error(f"the id {fact_id!r} of {user} is ambiguous: {ids}")
    else:
        print_error(f"{user} has no fact with the id {fact_id!r}: `gaia memory list --user {user}` shows the ids")
    raise typer.Exit(1)
