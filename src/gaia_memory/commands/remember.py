"""/remember: stores a fact word for word."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from gaia_memory.commands.command import Call, Command
from gaia_memory.commands.rows import format_due
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.learn.excerpts import excerpt_of
from gaia_memory.learn.stated_reminders import DueFields, read_appointment
from gaia_memory.learn.stated_validity import read_validity
from gaia_memory.models import Origin, to_local_time


async def _remember(call: Call) -> str:
    if not call.argument:
        return "Usage: /remember FACT, for example: /remember I am allergic to nuts"
    # What is said in a private conversation is evidence of nothing; the fact itself is kept, as asked.
    excerpt = None if await call.flags.is_private(call.key) else excerpt_of(call.argument)
    origin = Origin(source="remember", app=call.scope.app, channel=call.key.channel, excerpt=excerpt)
    zone = await call.context.time_zone() or call.memory.config.memory.zone
    # The words of dates are loaded from files.
    due = await asyncio.to_thread(read_appointment, call.argument, call.memory.clock.now(), zone)
    now = to_local_time(call.memory.clock.now(), zone)
    _, valid_until = await asyncio.to_thread(read_validity, call.argument, now)
    active = await call.context.active()
    fact = await call.memory.remember(
        call.scope, call.argument, origin=origin, active_context=active, valid_until=valid_until, **due
    )
    end = "" if valid_until is None else f"\nUntil {(valid_until - timedelta.resolution).strftime('%a, %d %b %Y')}"
    answer = "I know that already" if fact.updated_at > fact.created_at else "I will remember"
    return f"{answer}: {escape_markup(call.argument)}{_describe(due)}{end}"


def _describe(due: DueFields) -> str:
    if "due_at" not in due:
        return ""
    return f"\nDue {format_due(due['due_at'], is_all_day=due['due_all_day'], every=due['every'])}"


COMMAND = Command(name="remember", arguments="FACT", summary="store a fact word for word", run=_remember)
