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
        failed = [each for each in pending if each.attempts > attempts_before.get(each.key, 0)]
        # A forced sweep waits for nobody to be quiet: what it leaves waits for something else.
        waiting = [] if force else _quiet_times(engine, pending)
        error, problems = _problems(engine, report, pending, failed)
        notes = [*_learned_lines(report), *_waiting_lines(waiting, engine)]
    if remaining:
        problems.insert(0, f"files still contain forgotten text: {remaining}")
    if as_json:
        counts = {"consolidated": report.consolidated, "failed": report.failed, "skipped": report.skipped}
        print_line(json.dumps({**counts, "facts": report.fact_count, "waiting": len(waiting), "error": error}))
    else:
        learned = pluralize(report.consolidated, "conversation")
        for line in [f"{learned} learned, {report.failed} failed, {report.skipped} skipped", *notes]:
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


def _learned_lines(report: SweepReport) -> list[str]:
    """Return lines with the new facts and whose they are."""
    lines = []
    if report.private:
        lines.append(f"{pluralize(report.private, 'private conversation')}: nothing of it is learned")
    if empty := report.nothing_left + report.without_facts:
        lines.append(f"{pluralize(empty, 'conversation')} gave no new fact")
    if report.fact_count:
        lines.append(f"I learned {pluralize(report.fact_count, 'thing')}:")
        lines += [f"- {fact.scope.user}: {' '.join(fact.text.split())}" for fact in report.facts]
    more = report.fact_count - len(report.facts)
    return [*lines, f"- and {more} more: `gaia memory list` shows the facts about a user"] if more else lines


def _quiet_times(engine: Engine, pending: Sequence[PendingConversation]) -> list[float]:
    """Return when the conversations that only wait for quiet will be quiet, the first one first, since the epoch."""
    from gaia_memory.models.quiet_conversations import is_due, quiet_cutoff

    now, idle_seconds = engine.clock.now().timestamp(), engine.config.sessions.idle_consolidate_minutes * 60
    quiet_since = quiet_cutoff(now, idle_seconds=idle_seconds)
    readable = set(engine.readable_apps()).difference(engine.listing_errors)
    waiting = [each for each in pending if each.key.app in readable and each.touched > quiet_since]
    # Due but for the time: neither failed, nor in a turn.
    return sorted(each.touched + idle_seconds for each in waiting if is_due(each, now=now, quiet_since=each.touched))


def _waiting_lines(quiet_times: Sequence[float], engine: Engine) -> list[str]:
    """Return a line about the conversations that are not quiet yet."""
    if not quiet_times:
        return []
    from gaia_memory.health import format_time

    is_of_agent = engine.config.memory.llm.is_of_agent
    learner = "the process of the agent learns then" if is_of_agent else "--force learns now"
    waits = pluralize(len(quiet_times), "conversation waits", "conversations wait")
    return [f"{waits}: the first is quiet at {format_time(quiet_times[0])}; {learner}"]


def _problems(
    engine: Engine,
    report: SweepReport,
    pending: Sequence[PendingConversation],
    failed: Sequence[PendingConversation],
) -> tuple[str | None, list[str]]:
    """Return why nothing could be learned at all, if so, and a line for each problem, that one included."""
    from gaia_memory.health import missing_model_problem

    problems = [
        f"{escape_line(each.key.session)} of {escape_line(each.key.user)} is not learned yet: {each.reason}"
        for each in failed[:_MAX_NAMED_CONVERSATIONS]
    ]
    if (more := len(failed) - _MAX_NAMED_CONVERSATIONS) > 0:
        problems.append(f"{more} more are not learned yet: see `gaia doctor`")
    if report.reason:
        skipped = pluralize(report.skipped, "conversation")
        problems.append(f"{skipped} not tried, because the model gives no answer: {report.reason}")
    if report.failed or report.reason:
        problems.append("failed conversations are kept and tried again")
    error = _unread_message(engine, pending) or ": ".join(filter(None, missing_model_problem(report.without_model)))
    if unreadable := [each.key.app for each in pending if each.key.app not in engine.readable_apps()]:
        where = "not in `sessions.database_url`: that app has to learn them"
        message = f"conversations of {', '.join(sorted(set(unreadable)))} are pending, but {where}"
        if error or report.consolidated or len(unreadable) < len(pending):
            problems.append(message)
        else:
            error = message
    return error or None, [*problems, *([error] if error else [])]


def _unread_message(engine: Engine, pending: Sequence[PendingConversation]) -> str:
    """Return the message if the sessions of an app could not be listed; empty if all could."""
    from gaia_memory.database.read_only import database_path
    from gaia_memory.redaction.mask import mask_secrets

    url, unread = engine.config.sessions_url, engine.listing_errors
    if not unread:
        return ""
    known = pluralize(sum(each.key.app in unread for each in pending), "conversation")
    apps, kinds = ", ".join(sorted(unread)), ", ".join(sorted(set(unread.values())))
    return (
        f"{database_path(url) or mask_secrets(url)} cannot be read ({kinds}), so no conversation of {apps} is learned "
        f"({known} known to be pending): see `gaia doctor`; if it is damaged, restore a backup, or move it away to "
        "start with an empty one"
    )
