"""/remember: stores a fact word for word, with the date of a day such as "tomorrow"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.rows import format_due
from gaia_memory.drafts.due_dates import DueFields, due_of_mention
from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.drafts.screen import describe_masked
from gaia_memory.language.dates import DateMention, read_dates
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.models import Origin
from gaia_memory.models.recurrence import machine_zone
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.threads import run_in_thread

_REQUEST = "remind"
"""The word of a note that is due on a day without a time, too."""


async def _remember(call: Call) -> str:
    if not call.argument:
        return "Usage: /remember FACT, for example: /remember I am allergic to nuts"
    # What is said in a private conversation is evidence of nothing; the fact itself is kept, as asked.
    excerpt = None if await call.flags.is_private(call.key) else excerpt_of(call.argument)
    origin = Origin(source="remember", app=call.scope.app, channel=call.key.channel, excerpt=excerpt)
    zone = await call.context.time_zone() or call.memory.config.memory.zone
    zone = zone or machine_zone()
    now = call.memory.clock.now().astimezone(zone)
    mentions = await run_in_thread(read_dates, call.argument, now, zone)
    due, valid_until = _due_date(call.argument, mentions, now), _end(mentions, now)
    active = await call.context.active()
    text = _with_dates(call.argument, mentions)
    fact = await call.memory.remember(
        call.scope, text, origin=origin, active_context=active, valid_until=valid_until, **due
    )
    end = "" if valid_until is None else f"\nUntil {(valid_until - timedelta.resolution).strftime('%a, %d %b %Y')}"
    answer = "I know that already" if fact.updated_at > fact.created_at else "I will remember"
    shown = mask_credentials(text, allow_numbers=call.memory.config.memory.allow_numbers)
    masked = describe_masked([fact])
    note = f"\n{masked[0].upper()}{masked[1:]}." if masked else ""
    return f"{answer}: {escape_markup(shown)}{_describe(due, call.argument, mentions)}{end}{note}"


def _with_dates(note: str, mentions: Sequence[DateMention]) -> str:
    """Return a note with the date after each day that is counted from today: "tomorrow (2026-11-21)"."""
    for mention in reversed(mentions):
        end, last = mention.span[1], (mention.end - timedelta.resolution).date()
        is_counted = (
            mention.anchor == "relative" and not mention.every and (mention.has_time or mention.grain != "time")
        )
        if is_counted and not note[end:].lstrip().startswith("("):
            is_one = mention.grain == "part" or last == mention.start.date()
            days = f"{mention.start.date()}" if is_one else f"{mention.start.date()} to {last}"
            note = f"{note[:end]} ({days}){note[end:]}"
    return note


def _due_date(note: str, mentions: Sequence[DateMention], now: datetime) -> DueFields:
    """Return when a note is due: at what comes back, else at its one day with a time, or any if it asks to remind."""
    dated = [each for each in mentions if each.bound == "within"]
    recurring = [each for each in dated if each.every]
    is_appointment = len(mentions) == 1 and all(each.has_time and each.anchor != "clock" for each in dated)
    candidates = recurring or (dated if is_appointment or _asks(note) else [])
    return next((due for each in candidates if (due := due_of_mention(each, now))), DueFields())


def _end(mentions: Sequence[DateMention], now: datetime) -> datetime | None:
    """Return the end that a note names: "until Friday" alone; "until noon" may be that of every day."""
    [mention] = mentions if len(mentions) == 1 else [None]
    is_end = mention is not None and mention.bound == "until" and mention.anchor != "clock" and mention.start > now
    return mention.valid_until if mention is not None and is_end else None


def _asks(note: str) -> bool:
    return _REQUEST in note.casefold()


def _describe(due: DueFields, note: str, mentions: Sequence[DateMention]) -> str:
    if "due_at" not in due:
        return "\nNothing will be announced: I can read no day or time to come in it." if _asks(note) else ""
    lines = ["", f"Due {format_due(due['due_at'], is_all_day=due['due_all_day'], every=due['every'])}"]
    if unread := [each.unread_zone for each in mentions if each.unread_zone]:
        lines.append(f"That is your own time: I do not know the time zone {escape_markup(unread[0])}.")
    gaps = [note[one.span[1] : other.span[0]].strip(" ,&") for one, other in pairwise(mentions)]
    if any(gap in ("", "and") for gap in gaps):
        lines.append("Only this one of the dates is set: send a /remember for each of the others.")
    return "\n".join(lines)


COMMAND = Command(name="remember", arguments="FACT", summary="store a fact word for word", run=_remember)
