"""`gaia memory due` lists what is due for a user; `gaia due` announces what becomes due for everybody."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, open_engine
from gaia_memory.cli.memory.target import Target
from gaia_memory.cli.ui.fact_output import fact_to_dict, print_json, print_rows, shorten_ids
from gaia_memory.cli.ui.terminal import print_line, print_note
from gaia_memory.models.recurrence import describe_recurrence, load_time_zone

if TYPE_CHECKING:
    from gaia_memory.models import Fact
    from gaia_memory.reminders.announcer import Announcement

EXAMPLES = """
Examples:

`gaia memory due --user ada` shows what is due within a week or overdue.

`gaia memory due --user ada --days 30 --json` prints what is due within a month as JSON.
"""

ANNOUNCE_EXAMPLES = """
Examples:

`gaia due` prints what has become due since the last time, for every user of the app.

`gaia due --watch --json | while read -r line; do notify-send "$line"; done` goes on until it is stopped.
"""


async def list_due(
    target: Target,
    days: Annotated[int, typer.Option("--days", min=0, max=36_500, help="How many days ahead to look.")] = 7,
) -> None:
    """Show what is due for a user, soonest first, with what is overdue."""
    async with target.open() as opened:
        due = await opened.memory.due(opened.scope, timedelta(days=days), include_sensitive=True)
        if not due and not await opened.memory.count(opened.scope):
            await opened.print_other_scopes()
        now, zone = opened.engine.clock.now(), opened.engine.config.memory.zone
        facts = list(map(opened.mask, due))
    if target.as_json:
        memories = [{**fact_to_dict(fact), "overdue": _is_over(fact, now)} for fact in facts]
        print_json({"user": target.user, "memories": memories})
    elif not facts:
        print_line(f"Nothing is due for {target.user} within {days} days.")
    else:
        ids = [fact.id for fact in facts]
        rows = [
            (_format_due(fact, zone), _describe_state(fact, now), fact.text, shown)
            for fact, shown in zip(facts, shorten_ids(ids), strict=True)
        ]
        print_rows(("due", "", "fact", "id"), rows)


async def announce(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on until the command is stopped.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print what becomes due, for every user of the app: each time once, however many processes announce.

    What became due while none did is printed at the start, unless that is more than seven days ago. What is due on a
    day is printed at nine.
    """
    from gaia_memory.models.masked_fact import mask_fact

    async with open_engine(config) as engine:

        def print_announcement(announcement: Announcement) -> None:
            fact = mask_fact(announcement.fact, allow_numbers=engine.config.memory.allow_numbers)
            if as_json:
                scope, its = fact.scope, fact_to_dict(fact)
                line: dict[str, Any] = {"announcement": announcement.id, "app": scope.app, "user": scope.user, **its}
                _print_or_stop(json.dumps(line))
            else:
                _print_or_stop(f"{_format_due(fact, engine.config.memory.zone)} {fact.scope.user}: {fact.text}")

        announcer = engine.memory.announcer(print_announcement)
        if watch:
            await announcer.run()
        elif not await announcer.announce_due() and not as_json:
            print_note("Nothing has become due since the last announcement.")


def _print_or_stop(line: str) -> None:
    try:
        print_line(line)
    except OSError as error:
        # Nobody reads any more: another process announces what this one has claimed.
        raise SystemExit(1) from error


def _format_due(fact: Fact, zone: tzinfo | None) -> str:
    """Return when a fact is due where it is due, None for this machine's zone; another zone is named."""
    assert fact.due_at is not None
    local = fact.due_at.astimezone(zone if fact.due_zone is None else load_time_zone(fact.due_zone))
    named = "" if fact.due_zone is None else f" {fact.due_zone}"
    return f"{local:%a %Y-%m-%d}" if fact.due_all_day else f"{local:%a %Y-%m-%d %H:%M}{named}"


def _is_over(fact: Fact, now: datetime) -> bool:
    return fact.due_at is not None and fact.due_at + timedelta(days=fact.due_all_day) <= now


def _describe_state(fact: Fact, now: datetime) -> str:
    if _is_over(fact, now):
        return "overdue"
    return "" if fact.every is None else describe_recurrence(fact.every)
