"""`gaia memory forget`: delete facts, and wait until no file contains them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import YesOption, finish_erasures
from gaia_memory.cli.memory.target import Target, UserMemory, find_fact
from gaia_memory.cli.ui.fact_output import not_current_note, print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.receipt import EARLIER_FINISHED_NOTE, NEXT_OPENER, ForgetReport, receipt_file
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, print_note, progress_bar
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from datetime import datetime

    from gaia_memory.forget.delete import ForgetPreview
    from gaia_memory.models import Receipt

EXAMPLES = """
Examples:

`gaia memory forget --user ada` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user ada -y --json` does not ask, and prints the receipt.

`--receipt FILE` writes a file that only you can read: what was deleted where, and what stays.

`--copies` also deletes the copies that imports gave to other users; the receipt of a forget counts them.

`--session ada:telegram` forgets what only that conversation taught.

`--id` with the beginning of an id, as `gaia memory list` shows it, forgets one fact.
"""

_REWRITTEN_MESSAGE = "The files are rewritten: nothing of what was deleted is in them."


async def forget(
    target: Target,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact with this id, or with an id that starts with it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Forget what only this conversation taught, and do not learn from it."),
    ] = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="Delete the copies that imports gave to other users, too.")
    ] = False,
    receipt: Annotated[
        Path | None,
        typer.Option("--receipt", help="Write what was deleted where, and what stays, to this file as JSON."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing receipt.")] = False,
    yes: YesOption = False,
) -> None:
    """Forget everything about a user, one fact, or a conversation. Earlier messages are never learned again.

    Without `--id`, open conversations without anything left to learn are deleted; a note says if one has to stay.
    Copies that imports gave to other users stay, except those that `--copies` deletes: what nothing else taught there.
    Works while memory is off. Exits with 1 if the user, the fact or the conversation is unknown, or if a file or the
    receipt could not be written after the facts were deleted. While memory is on, a user whose facts are all forgotten
    is still known.
    """
    if fact_id is not None and session is not None:
        raise typer.BadParameter("pass --id or --session, not both")
    with receipt_file(receipt, overwrite=force) as file:
        async with target.open(allow_disabled=True) as opened:
            preview = await opened.memory.preview_forget(opened.scope, session_id=session)
            try:
                chosen_id, question = await _choose(opened, preview, fact_id, session, copies=copies)
            except typer.Exit:
                await _finish_earlier_erasures(opened)
                raise
            if not yes:
                question += " with the copies that others have" if copies else ""
                confirm(f"{question}? This cannot be undone.", unchanged_message="nothing was forgotten")
            report = await _forget(opened, preview, chosen_id, session, copies=copies)
            if not target.as_json:
                # Before anything that may fail or be interrupted.
                _print_summary(report, preview)
            report.save(file)
            report = replace(report, receipt=await _delete_sessions(opened, report))
            finisher, erasure_error = await _rewrite_files(opened, report)
            report = replace(report, finisher=finisher)
            receipt_error = report.save(file)
    if target.as_json:
        print_json(report.to_dict())
    else:
        _print_report(report, is_unsaved=receipt_error is not None)
    if receipt_error:
        receipt_error = f"the receipt could not be written, and is on standard output instead: {receipt_error}"
    errors = [erasure_error and f"files still contain them: {erasure_error}", receipt_error]
    for error in filter(None, errors):
        print_error(f"the facts are deleted, but {error}")
    if any(errors):
        raise typer.Exit(1)


async def _choose(
    opened: UserMemory, preview: ForgetPreview, fact_id: str | None, session: str | None, *, copies: bool
) -> tuple[str | None, str]:
    """Return the id of the fact to forget, None for several, and the question; exit if there is nothing to forget."""
    facts, pending, user = preview.facts, preview.pending, opened.scope.user
    has_copies, is_enabled = copies and bool(preview.copies), opened.engine.config.memory.enabled
    if not facts or (fact_id is None and session is None):
        await opened.print_other_scopes()
    if fact_id is not None:
        if has_copies and not any(fact.id.startswith(fact_id) for fact in facts):
            # The fact may be forgotten already, and its copies not.
            return fact_id, f"Forget {fact_id!r}"
        fact = find_fact(facts, fact_id, escape_line(user))
        return fact.id, f"Forget {opened.mask(fact).text!r}"
    # While memory is off nothing new is learned, but files may still have to be rewritten.
    is_known = preview.was_written and (preview.pending_erasures or is_enabled)
    if not (facts or pending or has_copies or is_known):
        off_note = "" if is_enabled else " (memory is off, `memory.enabled: false`)"
        print_error(f"nothing to forget about {user!r}{off_note}")
        raise typer.Exit(1)
    note = _not_current_note(preview, session, opened.engine.clock.now())
    if session is None:
        waiting = sum(each.messages > 0 for each in pending)
        unlearned = f" and {pluralize(waiting, 'conversation')} not learned yet" if waiting else ""
        return None, f"Forget {pluralize(len(facts), 'fact')}{note}{unlearned} about {user}"
    if not (
        has_copies
        or preview.session_fact_ids
        or session in {fact.session_id for fact in facts}
        or session in {each.key.session for each in pending}
    ):
        message = f"no fact about {escape_line(user)} comes from the conversation {session!r}"
        print_error(f"{message}, and nothing in it is pending")
        raise typer.Exit(1)
    count = pluralize(len(preview.session_fact_ids), "fact")
    return None, f"Forget {count}{note} that only {session!r} taught about {user}"


def _not_current_note(preview: ForgetPreview, session: str | None, now: datetime) -> str:
    affected = [fact for fact in preview.facts if session is None or fact.id in preview.session_fact_ids]
    return not_current_note(affected, now)


async def _finish_earlier_erasures(opened: UserMemory) -> None:
    """Rewrite the files of an interrupted forget: its facts are gone, but files may still contain them."""
    if await opened.memory.pending_erasures():
        remaining = await finish_erasures(opened.memory)
        print_note(
            f"files of an earlier forget are still to be rewritten: {remaining}" if remaining else EARLIER_FINISHED_NOTE
        )


async def _forget(
    opened: UserMemory, preview: ForgetPreview, fact_id: str | None, session: str | None, *, copies: bool
) -> ForgetReport:
    dropped = [each for each in preview.pending if each.messages and session in (None, each.key.session)]
    forgotten_at = opened.engine.clock.now()
    receipt = await opened.memory.forget(opened.scope, fact_id=fact_id, session_id=session, copies=copies)
    return ForgetReport(
        user=opened.scope.user,
        app=opened.scope.app,
        fact_id=fact_id,
        session=session,
        forgotten_at=forgotten_at,
        receipt=receipt,
        waiting_conversations=0 if fact_id else len(dropped),
        remote_stores=opened.engine.remote_stores,
        earlier_erasures=preview.pending_erasures,
        finisher=NEXT_OPENER if receipt.pending else None,
    )


async def _delete_sessions(opened: UserMemory, report: ForgetReport) -> Receipt:
    """Delete the sessions that the forget left without anything to learn; forgetting one fact leaves all of them."""
    from gaia_memory.forget.delete import HOST_SESSION_NOTE, OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE

    receipt, notes = report.receipt, report.receipt.notes
    if report.fact_id or {OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE, HOST_SESSION_NOTE}.isdisjoint(notes):
        return receipt
    from gaia_memory.adk.gaia import Gaia

    # `Gaia` makes the sessions readable for the engine.
    sessions = await Gaia(opened.engine, None).engine.delete_forgotten(opened.scope, report.session)
    counts = {
        OPEN_SESSION_NOTE: sessions.open,
        REWOUND_SESSION_NOTE: sessions.hidden,
        HOST_SESSION_NOTE: sessions.elsewhere,
    }
    true_notes = [note for note, count in counts.items() if count]
    removed = {**receipt.removed, "conversations": sessions.deleted}
    return replace(receipt, removed=removed, notes=(*true_notes, *(each for each in notes if each not in counts)))


async def _rewrite_files(opened: UserMemory, report: ForgetReport) -> tuple[str | None, str | None]:
    """Wait until no file contains forgotten text; return what rewrites those that still do, and what went wrong."""
    if not report.finisher:
        return None, None
    try:
        with progress_bar("Rewriting files") as advance:
            return await opened.memory.finish_erasures(advance), None
    except MemoryUnavailable as error:
        return report.finisher, str(error)


def _print_summary(report: ForgetReport, preview: ForgetPreview) -> None:
    note = "" if report.fact_id else _not_current_note(preview, report.session, report.forgotten_at)
    summary = f"Forgot {pluralize(report.receipt.count, 'fact')}{note} about {report.user}."
    if deleted := report.receipt.removed.get("copies", 0):
        summary += f" {deleted} of the copies that others had {'is' if deleted == 1 else 'are'} deleted."
    if waiting := report.waiting_conversations:
        summary += f" {pluralize(waiting, 'conversation')} that waited to be learned will not be."
    print_line(summary)


def _print_report(report: ForgetReport, *, is_unsaved: bool) -> None:
    """Report the conversations, the files and what stays; the deleted facts were reported before."""
    if conversations := report.receipt.removed.get("conversations"):
        print_line(f"Deleted {pluralize(conversations, 'conversation')} with all messages.")
    if report.files == "rewritten" and (report.receipt.pending or report.earlier_erasures):
        print_line(_REWRITTEN_MESSAGE)
    for note in report.notes:
        print_line(f"Note: {note}.")
    if is_unsaved:
        print_line("The receipt:")
        print_json(report.to_dict())
