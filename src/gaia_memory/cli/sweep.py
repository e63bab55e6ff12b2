"""`gaia sweep`: learn from quiet conversations now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, finish_erasures, open_engine
from gaia_memory.cli.ui.terminal import pluralize, print_error, print_line, progress_bar, silence_logger
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.engine import Engine
    from gaia_memory.models import PendingConversation, SweepProgress, SweepReport

EXAMPLES = """
Examples:

`gaia sweep` learns from every conversation that has been quiet long enough.

`gaia sweep --force --json` learns from every conversation without an active turn, and prints counts.
"""

_MAX_NAMED_CONVERSATIONS = 10
"""Failed conversations that are listed one by one; the rest are counted."""


async def sweep(
    force: Annotated[bool, typer.Option("--force", help="Ignore idle time and back-off.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Learn from quiet conversations.

    Exits with 1 if one could not be learned, or none of those that wait could be read. With
    `memory.llm: {provider: agent}` only the agent's own process learns: here its conversations wait.
    """
    async with open_engine(config) as engine:
        attempts_before = {each.key: each.attempts for each in await engine.memory.pending()}
        report = await _sweep(engine, force=force)
        # If only `gaia sweep` ever runs, nothing else finishes them.
        remaining = await finish_erasures(engine.memory)
        pending = await engine.memory.pending()
        # A forced sweep waits for nobody to be quiet: what it leaves waits for something else.
        waiting = 0 if force else _count_not_quiet(engine, pending)
        error = _error(engine, report, pending)
    failed = [each for each in pending if each.attempts > attempts_before.get(each.key, 0)]
    problems = [
        f"{escape_line(each.key.session)} of {escape_line(each.key.user)} is not learned yet: {each.reason}"
        for each in failed[:_MAX_NAMED_CONVERSATIONS]
    ]
    if report.reason:
        skipped = pluralize(report.skipped, "conversation")
        problems.append(f"{skipped} not tried, because the model gives no answer: {report.reason}")
    if report.failed or report.reason:
        problems.append("failed conversations are kept and tried again: `gaia doctor` shows them")
    problems += [error] if error else []
    problems += [f"files still contain forgotten text: {remaining}"] if remaining else []
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        print_line(json.dumps({**counts, "facts": report.fact_count, "waiting": waiting, "error": error}))
    else:
        learned = pluralize(report.consolidated, "conversation")
        print_line(f"{learned} learned, {report.failed} failed, {report.skipped} skipped")
        for line in _notes(report, waiting):
            print_line(line)
    for problem in problems:
        print_error(problem)
    if report.failed or report.reason or error is not None:
        raise typer.Exit(1)


async def _sweep(engine: Engine, *, force: bool) -> SweepReport:
    """Sweep behind a progress bar; failures are reported at the end, with their reasons."""
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.learning import circuit_breaker, discovery

    with (
        silence_logger(circuit_breaker.__name__),
        silence_logger(discovery.__name__),
        progress_bar(f"Learning with {engine.model_name}") as advance,
    ):

        def report_progress(now: SweepProgress) -> None:
            done = now.consolidated + now.failed + now.skipped
            advance(done, done + now.waiting + now.in_progress)

        return await Gaia(engine, None).sweep(force=force, progress=report_progress)


def _notes(report: SweepReport, waiting: int) -> list[str]:
    """Return lines with what gave no fact, what waits, and the new facts with whose they are."""
    lines = []
    if report.private:
        lines.append(f"{pluralize(report.private, 'private conversation')}: nothing of it is learned")
    if empty := report.nothing_left + report.without_facts:
        lines.append(f"{pluralize(empty, 'conversation')} gave no new fact")
    if waiting:
        lines.append(f"{pluralize(waiting, 'conversation')} not quiet yet: see --force")
    if report.fact_count:
        lines.append(f"I learned {pluralize(report.fact_count, 'thing')}:")
        lines += [f"- {fact.scope.user}: {' '.join(fact.text.split())}" for fact in report.facts]
    more = report.fact_count - len(report.facts)
    return [*lines, f"- and {more} more: `gaia memory list` shows the facts about a user"] if more else lines


def _count_not_quiet(engine: Engine, pending: Sequence[PendingConversation]) -> int:
    """Return how many conversations wait for nothing but quiet: they neither failed nor are in a turn."""
    from gaia_memory.models.quiet_conversations import is_due, quiet_cutoff

    now = engine.clock.now().timestamp()
    quiet_since = quiet_cutoff(now, idle_seconds=engine.config.sessions.idle_consolidate_minutes * 60)
    readable = set(engine.readable_apps()).difference(engine.listing_errors)
    waiting = [each for each in pending if each.key.app in readable and each.touched > quiet_since]
    return sum(is_due(each, now=now, quiet_since=each.touched) for each in waiting)


def _error(engine: Engine, report: SweepReport, pending: Sequence[PendingConversation]) -> str | None:
    """Return why this process can learn nothing, or nothing of some apps; None if it can."""
    from gaia_memory.database.read_only import database_path
    from gaia_memory.health import missing_model_problem
    from gaia_memory.redaction.mask import mask_secrets

    if unread := engine.listing_errors:
        url = engine.config.sessions_url
        kinds = ", ".join(sorted(set(unread.values())))
        return (
            f"{database_path(url) or mask_secrets(url)} cannot be read ({kinds}), so no conversation of "
            f"{', '.join(sorted(unread))} is learned: see `gaia doctor`; if it is damaged, restore a backup"
        )
    if report.without_model:
        return ": ".join(missing_model_problem(report.without_model))
    unreadable = {each.key.app for each in pending}.difference(engine.readable_apps())
    if unreadable and not report.consolidated and all(each.key.app in unreadable for each in pending):
        where = "not in `sessions.database_url`: that app has to learn them"
        return f"conversations of {', '.join(sorted(unreadable))} are pending, but {where}"
    return None
