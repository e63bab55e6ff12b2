"""What facts do to the stored ones, planned before the commit and applied in its transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from gaia_memory.models import (
    DEFAULT_CONTEXT,
    AddResult,
    Draft,
    EndingReason,
    Fact,
    FactEnd,
    NearbySayings,
    NewFact,
    Scope,
    StoredFact,
    UndecidedFact,
)
from gaia_memory.ports import Transaction

if TYPE_CHECKING:
    from gaia_memory.facts import FactStore

Action = Literal["ADD", "UPDATE", "DELETE", "NONE"]
"""What a fact does: it stands beside the stored ones, replaces some, takes some back, or says the same as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFact:
    """A fact, and the stored facts that it ends, repeats, puts in doubt or comes too late for.

    `extracted` is the fact as it was learned and `draft` as it is written; None if it only takes something back. A fact
    of the queue is `stored` already. It ends the stored facts `ends` for the reason `why`. Those in `outdated_by` were
    said later and replace it. If one of the facts has changed meanwhile, nothing of this happens: `extracted` is added,
    and compared again later. It puts the stored facts `in_doubt` in doubt.

    An undecided fact is queued, to be compared with similar ones, and one with a `sibling` to be compared with the fact
    at that place of the plan. A model has compared it with the facts `compared`. A new fact is also undecided if the
    scope has another revision than the one in which it was planned: others may have been stored meanwhile.
    """

    extracted: Draft
    draft: Draft | None
    stored: StoredFact | None = None
    actor: str = ""
    why: EndingReason = "replaced"
    ends: tuple[StoredFact, ...] = ()
    repeats: StoredFact | None = None
    outdated_by: tuple[StoredFact, ...] = ()
    in_doubt: tuple[StoredFact, ...] = ()
    compared: tuple[StoredFact, ...] = ()
    sibling: int | None = None
    is_undecided: bool = False
    revision: int | None = None

    @property
    def heir(self) -> Draft:
        """The fact as it was learned, as sensitive as what it repeats or replaces."""
        is_sensitive = any(target.fact.sensitive for target in self.targets)
        fact = replace(self.extracted.fact, sensitive=True) if is_sensitive else self.extracted.fact
        return replace(self.extracted, fact=fact)

    def embedded(self, extracted: Draft) -> PlannedFact:
        """Return the plan with `heir` as the embedder returned it."""
        draft = extracted if self.draft is self.extracted else self.draft
        return replace(self, extracted=extracted, draft=draft)

    @property
    def is_reworded(self) -> bool:
        """Whether it is written in a wording of its own."""
        is_new = self.repeats is None and self.draft is not None
        return is_new and self.draft is not None and self.draft.fact.text != self.extracted.fact.text

    @property
    def targets(self) -> tuple[StoredFact, ...]:
        """The stored facts that must still be what they were."""
        itself = (self.stored, self.repeats)
        return (*self.ends, *self.outdated_by, *(each for each in itself if each is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPlan:
    """What a plan has done: the facts written, all facts of the plan, and how many were judged, replaced and queued.

    A judged fact was compared by a model. `lost` counts the facts whose targets had changed. `past_ids` are
    the replaced facts that are not current any more.
    """

    written: AddResult
    facts: tuple[Fact, ...] = ()
    judged: int = 0
    replaced: int = 0
    past_ids: frozenset[str] = frozenset()
    queued: int = 0
    lost: int = 0


def said_at(stored: StoredFact) -> datetime:
    """Return when a fact was said, as far as that is known."""
    return stored.fact.last_said_at


async def without_forgotten(
    facts: FactStore, tx: Transaction, scope: Scope, plan: Sequence[PlannedFact]
) -> list[PlannedFact | None]:
    """Return a plan with None for what repeats a forgotten fact, and without wordings that do."""
    extracted = await _are_forgotten(facts, tx, scope, [planned.extracted.fact for planned in plan])
    repeated = [planned.repeats.fact.text if planned.repeats else planned.extracted.fact.text for planned in plan]
    is_target_gone = await facts.tombstones.have_tombstones(tx, scope, repeated)
    written = [planned.draft.fact if planned.draft else planned.extracted.fact for planned in plan]
    is_wording_gone = await _are_forgotten(facts, tx, scope, written)
    return [
        None if gone or target_gone else replace(planned, draft=planned.extracted) if wording_gone else planned
        for planned, gone, target_gone, wording_gone in zip(
            plan, extracted, is_target_gone, is_wording_gone, strict=True
        )
    ]


async def apply_plan(
    facts: FactStore, tx: Transaction, scope: Scope, plan: Sequence[PlannedFact | None], *, now: datetime
) -> AppliedPlan:
    """Write the facts of a plan, store endings and doubts, and queue what is undecided; None writes nothing."""
    # Locks the scope.
    revision = (await facts.state(tx, scope)).revision
    shown = {target.fact.id for planned in plan if planned for target in (*planned.targets, *planned.in_doubt)}
    current = await facts.history.stored(tx, scope, shown, or_past=True)
    steps = [
        planned if planned is None or _is_as_shown(planned.targets, current) else _undone(planned) for planned in plan
    ]
    drafts = [_in_place_of(step.draft, step.targets) for step in steps if step and step.draft and step.stored is None]
    written = await facts.writer.write(tx, scope, drafts, now=now)
    new = iter(written)
    results = [None if step is None else await _fact_of(facts, tx, scope, step, new, now) for step in steps]
    new_ids = [None if fact is None else fact.id for fact in results]
    said = set(new_ids)
    ended = await end_outdated(facts, tx, scope, steps, new_ids, now=now)
    undecided: list[UndecidedFact] = []
    for step, fact in zip(steps, results, strict=True):
        if step is None or fact is None:
            continue
        await facts.comparisons.note_compared(tx, scope, fact, [each.fact for each in step.compared])
        # What the same plan says once more is confirmed.
        doubted = [each.fact.id for each in step.in_doubt if each.fact.id not in said and _is_as_shown([each], current)]
        await facts.comparisons.doubt(tx, scope, doubted, since=step.extracted.fact.said_at or now)
        waiting = UndecidedFact(fact_id=fact.id, app=step.extracted.app)
        if step.is_undecided or step.revision not in (None, revision):
            undecided.append(waiting)
        if step.sibling is not None and new_ids[step.sibling] not in (None, fact.id):
            undecided.append(replace(waiting, other_id=new_ids[step.sibling]))
    await facts.comparisons.queue_undecided(tx, scope, undecided)
    return AppliedPlan(
        written=written,
        facts=tuple(fact for fact in results if fact is not None),
        judged=sum(bool(step and (step.actor or step.compared)) for step in steps),
        replaced=len(ended) + len(written.replaced),
        past_ids=written.replaced | frozenset(ended) - (await facts.history.stored(tx, scope, ended)).keys(),
        queued=len(undecided),
        lost=sum(step is not planned for step, planned in zip(steps, plan, strict=True)),
    )


async def _are_forgotten(facts: FactStore, tx: Transaction, scope: Scope, new: Sequence[NewFact]) -> list[bool]:
    has_tombstone = await facts.tombstones.have_tombstones(tx, scope, [fact.text for fact in new])
    is_paraphrase = await facts.tombstones.paraphrases_forgotten(tx, scope, new)
    return [any(each) for each in zip(has_tombstone, is_paraphrase, strict=True)]


def _in_place_of(draft: Draft, targets: Sequence[StoredFact]) -> Draft:
    """Return a draft that is as sensitive as what it repeats or replaces, and known in as many contexts."""
    if any(target.fact.sensitive for target in targets):
        draft = replace(draft, fact=replace(draft.fact, sensitive=True))
    if any(target.fact.context == DEFAULT_CONTEXT for target in targets):
        draft = replace(draft, active_context=DEFAULT_CONTEXT)
    return draft


def _is_as_shown(targets: Sequence[StoredFact], current: dict[str, StoredFact]) -> bool:
    return all(target.fact.id in current and current[target.fact.id].version == target.version for target in targets)


def _undone(planned: PlannedFact) -> PlannedFact:
    """Return the plan for a fact that lost a race: it is stored as it is, and compared again later."""
    return PlannedFact(
        extracted=planned.extracted, draft=planned.extracted, stored=planned.stored, is_undecided=planned.stored is None
    )


async def _fact_of(
    facts: FactStore, tx: Transaction, scope: Scope, step: PlannedFact, new: Iterator[Fact], now: datetime
) -> Fact | None:
    """Return the fact that a step has written, or the stored one in the wording that the step gives it."""
    if step.stored is None:
        return None if step.draft is None else next(new)
    if step.draft is None:
        return step.stored.fact
    draft = _in_place_of(step.draft, step.targets)
    if (draft.fact.text, draft.fact.sensitive) == (step.stored.fact.text, step.stored.fact.sensitive):
        return step.stored.fact
    reworded = await facts.corrections.reword(tx, scope, step.stored.fact.id, draft, actor=step.actor, now=now)
    return reworded or step.stored.fact


def follow(
    planned: PlannedFact,
    action: Action,
    *,
    existing: Sequence[StoredFact] = (),
    outdated_by: Sequence[StoredFact] = (),
    in_doubt: Sequence[StoredFact] = (),
) -> PlannedFact:
    """Return what a fact does by a decision of the model; `existing` are the facts that it ends or repeats."""
    planned = replace(planned, in_doubt=(*planned.in_doubt, *in_doubt))
    if action == "ADD" and not outdated_by:
        return planned
    planned = replace(planned, actor="model")
    if action == "NONE":
        return repeat(planned, existing[-1], "model") if existing else planned
    return replace(
        planned,
        draft=None if action == "DELETE" and planned.stored is None else planned.draft,
        why="retracted" if action == "DELETE" else "replaced",
        ends=tuple(existing),
        outdated_by=(*planned.outdated_by, *outdated_by),
    )


def repeat(planned: PlannedFact, same: StoredFact, actor: str) -> PlannedFact:
    """Return the plan for a fact that says a stored one once more; what it does to others stays."""
    fact = replace(planned.extracted.fact, text=same.fact.text)
    draft = replace(planned.extracted, fact=fact, vector=same.vector, embedder=same.embedder)
    return replace(planned, draft=draft, repeats=same, actor=actor)


def may_concern(context: str, other: str) -> bool:
    """Return whether facts of two contexts can contradict each other: not if each has one of its own."""
    return DEFAULT_CONTEXT in (context, other) or context == other


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
    rivals = await facts.history.rivals(tx, scope, {each for each in new_ids if each is not None})
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
            lost = await facts.history.end_facts(tx, scope, kept, now=now)
            ended += [each.fact_id for each in kept if each not in lost]
    return ended


async def _decided_endings(
    facts: FactStore, tx: Transaction, scope: Scope, ending: FactEnd, step: PlannedFact, decided: set[str]
) -> list[FactEnd]:
    """Return the endings of what was decided to be outdated by a statement, and that of a statement that came late."""
    later = {target.fact.id for target in step.outdated_by}
    around = await facts.history.said_around(tx, scope, decided | later, ending.ended_at)
    current = await facts.history.stored(tx, scope, decided)
    if not later and all(fact_id in current and around[fact_id].again is None for fact_id in decided):
        return [replace(ending, fact_id=fact_id) for fact_id in sorted(decided)]
    is_by_model = step.actor == "model" and step.why == "replaced"
    if is_by_model:
        # Of the line, a model was shown only a part. The rest contradicts the statement, too, as far as one can tell.
        shown = {each.fact.id for each in step.compared} - decided - later
        line = await facts.history.line(tx, scope, decided | later) - shown - {ending.ended_by or ""}
        around = await facts.history.said_around(tx, scope, line, ending.ended_at)
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
    around = await facts.history.said_around(tx, scope, rivals.keys(), ending.ended_at)
    current = await facts.history.stored(tx, scope, rivals)
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
