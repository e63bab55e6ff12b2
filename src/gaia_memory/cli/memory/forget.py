"""`gaia memory forget`: delete facts, and wait until no file contains them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import NEXT_OPENER, YesOption, finish_erasures
from gaia_memory.cli.memory.filter_options import WhereOption
from gaia_memory.cli.memory.target import Target, UserMemory, find_fact
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.read_input import confirm
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, progress_bar
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.forget.delete import ForgetPreview
    from gaia_memory.models import Receipt

EXAMPLES = """
Examples:

`gaia memory forget --user ada` asks, forgets everything and waits until the files are rewritten.

`gaia memory forget --user ada -y --json` does not ask, and prints what was deleted where, and what stays.

`--copies` also deletes the copies that imports gave to other users.

`--session ada:telegram` forgets what only that conversation taught.

`gaia memory forget --user ada --where source=grow` forgets the facts that match, after it has said how many.

`--id` with the beginning of an id, as `gaia memory list` shows it, forgets one fact.
"""


async def forget(
    target: Target,
    fact_id: Annotated[
        str | None, typer.Option("--id", help="Forget only the fact with this id, or with an id that starts with it.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Forget what only this conversation taught, and do not learn from it."),
    ] = None,
    where: WhereOption = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="Delete the copies that imports gave to other users, too.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Forget everything about a user, one fact, what matches, or a conversation, for good.

    Earlier messages never teach it again. Without `--id` and `--where`, open conversations without anything left to
    learn are deleted; a note says if one has to stay. Copies that imports gave to other users stay, except those that
    `--copies` deletes: what nothing else taught there. Works while memory is off. Exits with 1 if the user, the fact or
    the conversation is unknown, or if a file could not be rewritten after the facts were deleted. While memory is on, a
    user whose facts are all forgotten is still known.
    """
    filters = {"AND": [each.filters for each in where]} if where else None
    if [fact_id, session, filters].count(None) < 2:
        raise typer.BadParameter("pass one of --id, --session and --where, not several")
    async with target.open(allow_disabled=True) as opened:
        # Those of a forget that was interrupted: its facts are gone, but files may still contain them.
        await finish_erasures(opened.memory)
        preview = await opened.memory.preview_forget(opened.scope, session_id=session, filters=filters)
        chosen_id, question = await _choose(opened, preview, fact_id, session, has_filters=bool(filters), copies=copies)
        if not yes:
            question += " with the copies that others have" if copies else ""
            confirm(f"{question}? This cannot be undone.", unchanged_message="nothing was forgotten")
        forgotten_at = opened.engine.clock.now()
        receipt = await opened.memory.forget(
            opened.scope, fact_id=chosen_id, session_id=session, filters=filters, copies=copies
        )
        if not target.as_json:
            # Before anything that may fail or be interrupted.
            _print_summary(receipt, target.user)
        receipt = receipt if chosen_id or filters else await _delete_sessions(opened, receipt, session)
        finisher, error = await _rewrite_files(opened, receipt)
        remote = opened.engine.remote_stores
    files = "pending" if finisher else "on a server" if remote else "rewritten"
    notes = [*receipt.notes, *(f"rows are deleted from {each}; the server cleans its own files" for each in remote)]
    notes += [f"files are still to be rewritten: {finisher}"] if finisher else []
    if target.as_json:
        what = "fact" if chosen_id else "conversation" if session else "matching" if filters else "everything"
        chosen = {"forgotten": what, "id": chosen_id, "session": session, "at": forgotten_at.isoformat()}
        print_json({"user": target.user, "app": opened.scope.app, **chosen, **_to_dict(receipt, files), "notes": notes})
    else:
        if files == "rewritten" and receipt.pending:
            print_line("The files are rewritten: nothing of what was deleted is in them.")
        for note in notes:
            print_line(f"Note: {note}.")
    if error:
        print_error(f"the facts are deleted, but files still contain them: {error}")
        raise typer.Exit(1)


async def _choose(
    opened: UserMemory,
    preview: ForgetPreview,
    fact_id: str | None,
    session: str | None,
    *,
    has_filters: bool,
    copies: bool,
) -> tuple[str | None, str]:
    """Return the id of the fact to forget, None for several, and the question; exit if there is nothing to forget."""
    facts, pending, user = preview.facts, preview.pending, opened.scope.user
    has_copies = copies and bool(preview.copies)
    if not facts or (fact_id is None and session is None):
        await opened.print_other_scopes()
    if fact_id is not None:
        if has_copies and not any(fact.id.startswith(fact_id) for fact in facts):
            # The fact may be forgotten already, and its copies not.
            return fact_id, f"Forget {fact_id!r}"
        fact = find_fact(facts, fact_id, escape_line(user))
        return fact.id, f"Forget {opened.mask(fact).text!r}"
    if has_filters:
        if not (facts or preview.past):
            print_error(f"no fact about {user!r} matches --where")
            raise typer.Exit(1)
        return None, f"Forget {_counted(len(facts), preview.past)} about {user}: all that match --where"
    is_known = preview.has_usage or (preview.was_written and opened.engine.config.memory.enabled)
    if not (facts or pending or has_copies or is_known):
        print_error(f"nothing to forget about {user!r}")
        raise typer.Exit(1)
    if session is None:
        waiting = sum(each.messages > 0 for each in pending)
        unlearned = f" and {pluralize(waiting, 'conversation')} not learned yet" if waiting else ""
        return None, f"Forget {pluralize(len(facts), 'fact')}{unlearned} about {user}"
    known = {*(fact.session_id for fact in facts), *(each.key.session for each in pending)}
    if not (has_copies or preview.session_fact_ids or session in known):
        print_error(f"no fact about {escape_line(user)} comes from the conversation {session!r}")
        raise typer.Exit(1)
    return None, f"Forget {pluralize(len(preview.session_fact_ids), 'fact')} that only {session!r} taught about {user}"


async def _delete_sessions(opened: UserMemory, receipt: Receipt, session: str | None) -> Receipt:
    """Delete the sessions that the forget left without anything to learn."""
    from gaia_memory.forget.delete import HOST_SESSION_NOTE, OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE

    if {OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE, HOST_SESSION_NOTE}.isdisjoint(receipt.notes):
        return receipt
    from gaia_memory.adk.gaia import Gaia

    # `Gaia` makes the sessions readable for the engine.
    sessions = await Gaia(opened.engine, None).engine.delete_forgotten(opened.scope, session)
    counts = {
        OPEN_SESSION_NOTE: sessions.open,
        REWOUND_SESSION_NOTE: sessions.hidden,
        HOST_SESSION_NOTE: sessions.elsewhere,
    }
    notes = tuple(note for note in receipt.notes if counts.get(note, 1))
    return replace(receipt, removed={**receipt.removed, "conversations": sessions.deleted}, notes=notes)


async def _rewrite_files(opened: UserMemory, receipt: Receipt) -> tuple[str | None, str | None]:
    """Wait until no file contains forgotten text; return what rewrites those that still do, and what went wrong."""
    if not receipt.pending:
        return None, None
    try:
        with progress_bar("Rewriting files") as advance:
            return await opened.memory.finish_erasures(advance), None
    except MemoryUnavailable as error:
        return NEXT_OPENER, str(error)


def _to_dict(receipt: Receipt, files: str) -> dict[str, Any]:
    removed = {"facts": receipt.count, **receipt.removed}
    is_pending = files == "pending"
    return {"count": receipt.count, "removed": removed, "pending": is_pending, "files": files, "copies": receipt.copies}


def _print_summary(receipt: Receipt, user: str) -> None:
    summary = f"Forgot {_counted(receipt.count, receipt.removed.get('history', 0))} about {user}."
    if deleted := receipt.removed.get("copies", 0):
        summary += f" Deleted {deleted} of the copies that others had."
    print_line(summary)


def _counted(facts: int, past: int) -> str:
    return pluralize(facts, "fact") + (f" and {pluralize(past, 'past one')}" if past else "")
