"""/remember: stores a fact word for word, with the date of a day such as "tomorrow"."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.rows import format_due
from gaia_memory.language.dates.relative_dates import annotate_dates
from gaia_memory.language.dates.reminder_requests import asks_for_reminder
from gaia_memory.language.function_words import detect_language
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.learn.excerpts import excerpt_of
from gaia_memory.learn.screen import describe_masked
from gaia_memory.learn.stated_reminders import DueFields, lists_dates, read_appointment
from gaia_memory.learn.stated_validity import read_validity
from gaia_memory.models import Origin, to_local_time
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.threads import run_in_thread


async def _remember(call: Call) -> str:
    if not call.argument:
        return "Usage: /remember FACT, for example: /remember I am allergic to nuts"
    # What is said in a private conversation is evidence of nothing; the fact itself is kept, as asked.
    excerpt = None if await call.flags.is_private(call.key) else excerpt_of(call.argument)
    origin = Origin(source="remember", app=call.scope.app, channel=call.key.channel, excerpt=excerpt)
    zone = await call.context.time_zone() or call.memory.config.memory.zone
    # The words of dates are loaded from files.
    due = await run_in_thread(read_appointment, call.argument, call.memory.clock.now(), zone)
    now = to_local_time(call.memory.clock.now(), zone)
    _, valid_until = await run_in_thread(read_validity, call.argument, now)
    active = await call.context.active()
    text = _with_dates(call.argument, now.date())
    fact = await call.memory.remember(
        call.scope, text, origin=origin, active_context=active, valid_until=valid_until, **due
    )
    end = "" if valid_until is None else f"\nUntil {(valid_until - timedelta.resolution).strftime('%a, %d %b %Y')}"
    answer = "I know that already" if fact.updated_at > fact.created_at else "I will remember"
    shown = mask_credentials(text, allow_numbers=call.memory.config.memory.allow_numbers)
    masked = describe_masked([fact])
    note = f"\n{masked[0].upper()}{masked[1:]}." if masked else ""
    return f"{answer}: {escape_markup(shown)}{_describe(due, call.argument, now)}{end}{note}"


def _with_dates(text: str, today: date) -> str:
    """Return a note with a date after "tomorrow", which is another day when the note is read."""
    dated = annotate_dates(text, today, detect_language(text))
    # "Morgen Bob anrufen" has no other word that tells its language.
    return annotate_dates(text, today, None) if dated == text else dated


def _describe(due: DueFields, note: str, now: datetime) -> str:
    if "due_at" not in due:
        never = "\nNothing will be announced: I can read no day or time to come in it."
        return never if asks_for_reminder(note) else ""
    shown = f"\nDue {format_due(due['due_at'], is_all_day=due['due_all_day'], every=due['every'])}"
    if not lists_dates(note, now, now.tzinfo):
        return shown
    return f"{shown}\nOnly this one of the dates is set: send a /remember for each of the others."


COMMAND = Command(name="remember", arguments="FACT", summary="store a fact word for word", run=_remember)
