"""Ends what a plan makes untrue, also where something is learned later than what was said after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gaia_memory.models import FactEnd, NearbySayings, Scope
from gaia_memory.ports import FactStore, Transaction

if TYPE_CHECKING:
    from gaia_memory.truth.plan import PlannedFact


async def end_outdated(
    facts: FactStore,
    tx: Transaction,
    scope: Scope,
    steps: Sequence[PlannedFact | None],
    new_ids: Sequence[str | None],
    *,
    now: datetime,
) -> list[str]:
    """Store the endings that come with the steps of a plan, in the order in which they were said.

    Return the fact of each ending; one that was said after its ending is current still.

    `new_ids` are the facts that the steps have written.
    """
    ended: list[str] = []
    said = [step.extracted.fact.said_at or now if step else now for step in steps]
    rivals = await facts.rivals(tx, scope, {each for each in new_ids if each is not None})
    for place in sorted(range(len(steps)), key=lambda at: (said[at], at)):
        step, fact_id = steps[place], new_ids[place]
        if step is None:
            continue
        ending = FactEnd(
            fact_id="",
            ended_at=said[place],
            why=step.why,
            actor=step.actor,
            ended_by=fact_id,
            app=step.extracted.app,
            session_id=step.extracted.fact.session_id,
        )
        decided = {target.fact.id for target in step.ends}
        if decided or step.outdated_by:
            found = await _decided_endings(facts, tx, scope, ending, step, decided)
        else:
            found = await _endings_of_repetition(facts, tx, scope, ending, rivals.get(fact_id or "", {}))
        # Of what is said at the same moment, the last word is current.
        said_after = {new_ids[at] for at in range(place + 1, len(steps)) if said[at] == said[place]}
        kept = [each for each in found if each.fact_id not in {each.ended_by, *said_after}]
        if kept:
            lost = await facts.end_facts(tx, scope, kept, now=now)
            ended += [each.fact_id for each in kept if each not in lost]
    return ended


async def _decided_endings(
    facts: FactStore, tx: Transaction, scope: Scope, ending: FactEnd, step: PlannedFact, decided: set[str]
) -> list[FactEnd]:
    """Return the endings of what was decided to be outdated by a statement, and that of a statement that came late."""
    later = {target.fact.id for target in step.outdated_by}
    around = await facts.said_around(tx, scope, decided | later, ending.ended_at)
    current = await facts.stored(tx, scope, decided)
    if not later and all(fact_id in current and around[fact_id].again is None for fact_id in decided):
        return [replace(ending, fact_id=fact_id) for fact_id in sorted(decided)]
    is_by_model = step.actor == "model" and step.why == "replaced"
    if is_by_model:
        # Of the line, a model was shown only a part. The rest contradicts the statement, too, as far as one can tell.
        shown = {each.fact.id for each in step.compared} - decided - later
        line = await facts.line(tx, scope, decided | later) - shown - {ending.ended_by or ""}
        around = await facts.said_around(tx, scope, line, ending.ended_at)
    held = {fact_id for fact_id, said in around.items() if said.since is not None}
    ended = held & (decided | later if is_by_model else decided)
    if not ended and is_by_model and len(held) == 1:
        ended = held
    return [*(replace(ending, fact_id=each) for each in sorted(ended)), *_end_of_late(ending, around)]


async def _endings_of_repetition(
    facts: FactStore, tx: Transaction, scope: Scope, ending: FactEnd, rivals: Mapping[str, str]
) -> list[FactEnd]:
    """Return the endings that come with a known fact that was said between its rivals, each given with an actor.

    What is current stays so: that a statement is said again ends nothing else of itself.
    """
    if not rivals:
        return []
    around = await facts.said_around(tx, scope, rivals.keys(), ending.ended_at)
    current = await facts.stored(tx, scope, rivals)
    held = [each for each, said in around.items() if said.since and (said.again or each not in current)]
    ended = [replace(ending, fact_id=fact_id, actor=rivals[fact_id]) for fact_id in sorted(held)]
    late = [replace(each, actor=rivals[each.ended_by or ""]) for each in _end_of_late(ending, around)]
    return [*ended, *late]


def _end_of_late(ending: FactEnd, around: Mapping[str, NearbySayings]) -> list[FactEnd]:
    """Return the ending of a statement by the next one after it, if there is one."""
    following = [(said.again, fact_id) for fact_id, said in around.items() if said.again is not None]
    if not following or ending.ended_by is None:
        return []
    moment, fact_id = min(following)
    return [replace(ending, fact_id=ending.ended_by, ended_at=moment, ended_by=fact_id, why="replaced")]
