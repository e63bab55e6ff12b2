"""Finds quiet conversations and consolidates them, oldest first, a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gaia_memory.learning.circuit_breaker import ModelCircuitBreaker
from gaia_memory.learning.consolidate import Consolidator, Outcome
from gaia_memory.learning.discovery import Discovery
from gaia_memory.log import error_frames, log_fields, logger_for
from gaia_memory.models import (
    DueConversation,
    LearnedFacts,
    LedgerRow,
    PendingConversation,
    SessionKey,
    SweepProgress,
    SweepReport,
)
from gaia_memory.models.quiet_conversations import is_due, quiet_cutoff
from gaia_memory.sessions.ledger_client import LedgerClient, follow_clock
from gaia_memory.sessions.replay_window import dropped_turn_count
from gaia_memory.sessions.transcript_registry import TranscriptRegistry
from gaia_memory.sessions.turn_presence import TurnLease
from gaia_memory.telemetry import in_background

logger = logger_for(__name__)

MAX_PARALLEL_CONVERSATIONS = 4
"""Conversations consolidated at once by all sweeps of a process: a slow model call does not stop the others."""

POLL_SECONDS = 15.0
"""How long a sweep waits for a slow conversation before it looks for others that have become due."""

_PAGE_SIZE = 100

_WINDOW_PARTS = 10
"""Turns are learned a tenth of the window before they leave it, so that recall finds them by then."""

_Result = tuple[Outcome, LearnedFacts]
"""How a conversation ended, and what it gave."""

Progress = Callable[[SweepProgress], None]
"""Called whenever a conversation starts or ends."""


@dataclass(slots=True)
class _Tally:
    """The number of conversations by outcome, and what they gave."""

    counts: Counter[str] = field(default_factory=Counter)
    learned: LearnedFacts = field(default_factory=LearnedFacts)
    without_facts: int = 0

    def add(self, task: asyncio.Task[_Result]) -> None:
        """Count a conversation that has ended."""
        if task.cancelled():
            self.counts["skipped"] += 1
            return
        outcome, learned = task.result()
        reason = "private" if learned.is_private else "nothing left" if learned.is_nothing_left else outcome
        self.counts[reason if outcome in ("learned", "kept") else outcome] += 1
        self.without_facts += reason in ("learned", "kept") and not learned.count
        self.learned.add_facts(learned.first, count=learned.count)


@dataclass(slots=True, eq=False)
class _SweepRun:
    """One sweep: the conversations it started, those it waits for and counts, and their outcomes.

    Nobody reads the report of a scheduled sweep: its conversations are counted by one that somebody asked for, too.

    `failures_before` is the circuit breaker's failure count at the start, `initial_count` the number of conversations
    found at the start.
    """

    force: bool
    is_scheduled: bool
    failures_before: int
    initial_count: int = 0
    seen: set[SessionKey] = field(default_factory=set)
    tasks: set[asyncio.Task[_Result]] = field(default_factory=set)
    started: set[asyncio.Task[_Result]] = field(default_factory=set)
    tally: _Tally = field(default_factory=_Tally)

    @property
    def progress(self) -> SweepProgress:
        return SweepProgress(
            consolidated=sum(self.tally.counts[each] for each in ("learned", "kept", "private", "nothing left")),
            failed=self.tally.counts["failed"],
            skipped=self.tally.counts["skipped"],
            in_progress=len(self.tasks),
            waiting=max(0, self.initial_count - len(self.seen)),
        )


class Sweeper:
    """Sweeps the conversations whose transcript this process can read."""

    def __init__(
        self,
        *,
        client: LedgerClient,
        transcripts: TranscriptRegistry,
        consolidator: Consolidator,
        circuit_breaker: ModelCircuitBreaker,
        idle_seconds: Callable[[], float],
        window_turns: Callable[[], int | None],
        is_enabled: Callable[[], Awaitable[bool]],
        has_model_for: Callable[[str], bool],
    ) -> None:
        """`idle_seconds`, `window_turns`, `is_enabled` and, with an app, `has_model_for` are called at each use.

        `window_turns` is the replay window; None if nothing is learned before a conversation is quiet.
        """
        self._client = client
        self._transcripts = transcripts
        self._consolidator = consolidator
        self._circuit_breaker = circuit_breaker
        self._idle_seconds = idle_seconds
        self._window_turns = window_turns
        self._is_enabled = is_enabled
        self._has_model_for = has_model_for
        self._discovery = Discovery(client, transcripts)
        self._tasks_by_user: dict[str, asyncio.Task[_Result]] = {}
        self._window_tasks: dict[SessionKey, asyncio.Task[_Result]] = {}
        self._runs: list[_SweepRun] = []
        self._requested: set[SessionKey] = set()
        self._is_stopped = False

    async def sweep(
        self, *, force: bool = False, progress: Progress | None = None, is_scheduled: bool = False
    ) -> SweepReport:
        """Consolidate every due conversation once, oldest first, and one at a time per user.

        While the model is unavailable, one conversation is tried after the back-off, or at once with `force`; the
        others follow when it succeeds. `force` also ignores idleness, back-off and parking, but never an active turn.
        Conversations that wait for the model, or for the agent whose model it is, are counted as skipped; with `force`
        also those with an active turn, those that another process works on, and those whose sessions cannot be read
        here. A forced sweep also waits for the conversations of this process's other sweeps. A conversation is counted
        by the sweep that started it; those of a scheduled sweep also by the first other one that runs meanwhile.
        """
        if not is_scheduled and self._window_tasks:
            # They would only have to be done again: this sweep may find their leases expired.
            await asyncio.wait(self._window_tasks.values())
        run = _SweepRun(force=force, is_scheduled=is_scheduled, failures_before=self._circuit_breaker.failure_count)
        if not is_scheduled and self._counting_run() is None:
            run.tasks.update(self._tasks_by_user.values())
        self._runs.append(run)
        try:
            await self._run(run, progress)
        finally:
            self._runs.remove(run)
            for task in run.started:
                task.cancel()
            await asyncio.gather(*run.started, return_exceptions=True)
        return await self._report(run)

    async def _run(self, run: _SweepRun, progress: Progress | None) -> None:
        if await self._should_continue():
            await follow_clock(self._client)
            await self._consolidator.drop_old_usage()
            await self._discovery.find_unrecorded()
        await self._discovery.refresh()
        report_progress = progress or (lambda _: None)
        run.initial_count = len(await self._remaining(run)) if progress is not None else 0
        while await self._should_continue() and await self._start_tasks(run):
            report_progress(run.progress)
            if not await self._collect_finished(run):
                await self._discovery.refresh()
            report_progress(run.progress)
        while run.tasks:
            await self._collect_finished(run)
            report_progress(run.progress)
        if run.force and self._tasks_by_user:
            # The caller of a forced sweep expects the work of other sweeps to be finished too.
            await asyncio.wait(self._tasks_by_user.values())

    async def learn_before_quiet(self, lease: TurnLease) -> None:
        """After a turn, learn in the background what it requested or the replay window drops; nothing is cleared.

        It is claimed at once, before the next turn can begin. Where that fails, because all slots are taken or the
        model is away, a later turn or sweep learns it.
        """
        for requested in dict.fromkeys(key for key, _ in lease.requests):
            if self._has_room_for(requested) and (row := await self._client.claim(requested)) is not None:
                await self._start_early(row, only_requests=True)
        key, window_turns = lease.key, self._window_turns()
        if window_turns is None or lease.row is None:
            return
        window_turns = lease.window_turns or window_turns
        early = window_turns // _WINDOW_PARTS
        if not self._can_start(lease.row, window_turns, early) or (row := await self._client.claim(key)) is None:
            return
        # The last turns wait for the corrections that may follow them.
        await self._start_early(row, left_out=early if self._can_start(row, window_turns, early) else None)

    async def _start_early(self, row: LedgerRow, *, left_out: int | None = 0, only_requests: bool = False) -> None:
        key = row.key
        if left_out is None or not self._has_slot_for(key):
            await self._client.release(key)
            return
        work = self._consolidate(key, clear=False, claimed=row, left_out=left_out, only_requests=only_requests)
        # An empty context: the task is no part of the turn, its lease or its trace.
        task = asyncio.get_running_loop().create_task(work, name="gaia-window", context=Context())
        self._window_tasks[key] = self._tasks_by_user[key.user] = task
        task.add_done_callback(partial(self._free_slot, key.user))
        task.add_done_callback(lambda _: self._window_tasks.pop(key))

    def _can_start(self, row: LedgerRow, window_turns: int, early: int) -> bool:
        """Return True if the window drops an unlearned turn within the next `early` turns, and it can be learned now.

        Each failed attempt doubles the number of turns.
        """
        turn_no = row.turn.turn_no
        dropped_count = dropped_turn_count(turn_no + early, window_turns << row.failures.attempts)
        is_wanted = dropped_count > max(0, turn_no - row.progress.unlearned_turns)
        return is_wanted and self._has_room_for(row.key)

    def _has_room_for(self, key: SessionKey) -> bool:
        """Return True if a conversation can be learned in the background now."""
        has_model = self._has_model_for(key.app) and not self._is_model_away() and not self._is_stopped
        return has_model and key.app in self._transcripts.apps and self._has_slot_for(key)

    async def finish_window(self, key: SessionKey) -> None:
        """Wait until a conversation is no longer learned for the window."""
        if task := self._window_tasks.get(key):
            await asyncio.wait({task})

    async def stop(self) -> None:
        """Stop all sweeps and cancel their conversations: what they did not commit is learned later."""
        self._is_stopped = True
        for task in self._tasks_by_user.values():
            task.cancel()
        await asyncio.gather(*self._tasks_by_user.values(), return_exceptions=True)

    async def _should_continue(self) -> bool:
        return not self._is_stopped and await self._is_enabled()

    async def _start_tasks(self, run: _SweepRun) -> bool:
        """Start as many conversations as there are slots; return False when nothing runs and nothing has to wait."""
        had_tasks = bool(self._tasks_by_user)
        for key in await self._next_keys(run):
            if not self._has_slot_for(key):
                # Another sweep of this process took the slot.
                continue
            run.seen.add(key)
            is_requested = key in self._requested and not run.force
            task = asyncio.create_task(self._consolidate(key, clear=not is_requested, only_requests=is_requested))
            self._tasks_by_user[key.user] = task
            task.add_done_callback(partial(self._free_slot, key.user))
            run.started.add(task)
            run.tasks.add(task)
            if run.is_scheduled and (counting := self._counting_run()):
                counting.tasks.add(task)
        if run.tasks or not had_tasks:
            return bool(run.tasks)
        # Another sweep has all slots, or learns from the same users.
        return not self._is_circuit_open(run) and bool(await self._due_keys(run, limit=1))

    def _counting_run(self) -> _SweepRun | None:
        """Return the sweep that counts the conversations of a scheduled one."""
        return next((run for run in self._runs if not run.is_scheduled), None)

    async def _next_keys(self, run: _SweepRun) -> list[SessionKey]:
        """Return the conversations to start now; while the model is unavailable, one, and only if nothing else runs."""
        if self._circuit_breaker.current_outage() is None:
            return await self._due_keys(
                run, limit=self._slot_count() - len(self._tasks_by_user), excluded_users=self._tasks_by_user
            )
        if self._tasks_by_user or self._is_circuit_open(run):
            return []
        # The oldest conversation may always fail; an untried one is a better probe.
        untried = await self._due_keys(run, limit=1, excluded_users=self._circuit_breaker.recent_failures)
        return untried or await self._due_keys(run, limit=1)

    def _free_slot(self, user: str, _: asyncio.Task[_Result]) -> None:
        del self._tasks_by_user[user]

    def _has_slot_for(self, key: SessionKey) -> bool:
        return len(self._tasks_by_user) < self._slot_count() and key.user not in self._tasks_by_user

    def _slot_count(self) -> int:
        """Return the number of slots: each recent failure takes one until the model answers."""
        return max(1, MAX_PARALLEL_CONVERSATIONS - len(self._circuit_breaker.recent_failures))

    def _is_circuit_open(self, run: _SweepRun) -> bool:
        """Return True if this sweep must not call the model: it was found unavailable a moment ago."""
        outage = self._circuit_breaker.current_outage()
        if outage is None:
            return False
        return self._circuit_breaker.failure_count > run.failures_before if run.force else self._is_model_away()

    def _is_model_away(self) -> bool:
        """Return True while the model was found unavailable and it is too early to ask it again."""
        outage = self._circuit_breaker.current_outage()
        return outage is not None and self._client.now() < outage.retry_at

    async def _due_keys(self, run: _SweepRun, *, limit: int, excluded_users: Collection[str] = ()) -> list[SessionKey]:
        """Return due conversations that were not started yet, oldest first: one per user, none of `excluded_users`."""
        if limit <= 0:
            return []
        found: dict[str, SessionKey] = {}
        after: DueConversation | None = None
        page_size = limit + MAX_PARALLEL_CONVERSATIONS
        now = self._client.now()
        async with self._client.database.read_transaction() as tx:
            apps = [app for app in self._transcripts.apps if self._has_model_for(app)]
            for key in await self._client.ledger.requested(tx, apps=apps, force=run.force):
                if key not in run.seen and key.user not in excluded_users:
                    found.setdefault(key.user, key)
            self._requested = set(found.values())
            while len(found) < limit:
                page = await self._client.ledger.due(
                    tx,
                    quiet_since=None if run.force else quiet_cutoff(now, idle_seconds=self._idle_seconds()),
                    limit=page_size,
                    apps=apps,
                    after=after,
                    excluded_users=[*excluded_users, *found],
                )
                for due in page:
                    if due.key not in run.seen:
                        found.setdefault(due.key.user, due.key)
                if len(page) < page_size:
                    break
                after, page_size = page[-1], _PAGE_SIZE
        return list(found.values())[:limit]

    async def _collect_finished(self, run: _SweepRun) -> bool:
        """Wait briefly until a conversation ends; count those of this sweep, and return True if there were any."""
        tasks = run.tasks.union(self._tasks_by_user.values())
        if tasks:
            await asyncio.wait(tasks, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        ended = {task for task in run.tasks if task.done()}
        run.tasks -= ended
        run.started -= ended
        for task in ended:
            run.tally.add(task)
        return bool(ended)

    async def _consolidate(self, key: SessionKey, **how: Any) -> _Result:
        learned = LearnedFacts()
        try:
            with in_background():
                outcome = await self._consolidator.consolidate(key, only_due=True, learned=learned, **how)
                return outcome, learned
        except Exception as error:
            # One broken conversation must not stop the others; it stays due.
            error_type = type(error).__name__
            fields = log_fields("conversation.broken", key, error=error_type)
            logger.error("conversation %s could not be consolidated: %s", key.session, error_type, extra=fields)
            logger.debug("conversation %s broke:\n%s", key.session, error_frames(error), extra=fields)
            return "failed", learned

    async def _report(self, run: _SweepRun) -> SweepReport:
        outage = self._circuit_breaker.current_outage()
        skipped = run.tally.counts["skipped"]
        without_model: list[PendingConversation] = []
        if run.force or outage is not None or not all(map(self._has_model_for, self._transcripts.apps)):
            remaining = await self._remaining(run)
            without_model = [each for each in remaining if self._waits_for_model(each)]
            skipped += len(remaining if run.force or outage is not None else without_model)
        reason = outage.reason if outage is not None and skipped else ""
        learned = run.tally.counts["learned"] + run.tally.counts["kept"]
        return SweepReport(
            consolidated=learned,
            failed=run.tally.counts["failed"],
            skipped=skipped,
            reason=reason,
            without_model=len(without_model),
            private=run.tally.counts["private"],
            nothing_left=run.tally.counts["nothing left"],
            without_facts=run.tally.without_facts,
            fact_count=run.tally.learned.count,
            facts=tuple(run.tally.learned.first),
        )

    def _waits_for_model(self, waiting: PendingConversation) -> bool:
        return waiting.key.app in self._transcripts.apps and not self._has_model_for(waiting.key.app)

    async def _remaining(self, run: _SweepRun) -> list[PendingConversation]:
        """Return the conversations that this sweep should learn and has not started."""
        async with self._client.database.read_transaction() as tx:
            waiting = await self._client.ledger.pending(tx, user=None, app=None)
        return [each for each in waiting if each.key not in run.seen and (run.force or self._is_due(each))]

    def _is_due(self, waiting: PendingConversation) -> bool:
        now = self._client.now()
        quiet_since = quiet_cutoff(now, idle_seconds=self._idle_seconds())
        return waiting.key.app in self._transcripts.apps and is_due(waiting, now=now, quiet_since=quiet_since)
