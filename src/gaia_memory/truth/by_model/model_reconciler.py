"""Asks the model which stored facts new ones replace, and plans what its answer does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from gaia_memory.drafts.embed_drafts import embed_in_scope
from gaia_memory.errors import (
    BadAnswerError,
    ContextSizeError,
    CutAnswerError,
    ModelError,
    ModelUnavailableError,
    RefusedRequestError,
)
from gaia_memory.facts.identity.text_identity import normal_form
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import ATTEMPT_TEMPERATURES, AnswerOptions
from gaia_memory.models import (
    Draft,
    Fact,
    NewFact,
    Scope,
    SimilarFact,
    StoredFact,
    Vector,
    draft_context,
    to_local_time,
)
from gaia_memory.ports import Embedder, LanguageModel
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.telemetry import memory_span
from gaia_memory.truth.by_model.model_question import (
    SYSTEM_PROMPT,
    DatedText,
    ModelDecision,
    build_answer_schema,
    build_question,
    find_doubt,
    is_usable,
    merge_details,
    parse_decisions,
)
from gaia_memory.truth.plan import PlannedFact, follow, may_concern, said_at, without_forgotten

if TYPE_CHECKING:
    from gaia_memory.config.sections.memory_section import MemoryConfig
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore

logger = logger_for(__name__)

MAX_SHOWN_CHARACTERS = 1_000
"""Characters of a fact in a question: a longer one says more than one thing, and no model is asked about it."""

MAX_QUESTION_CHARACTERS = 16_000
MAX_QUESTION_FACTS = 20
"""Characters of all facts, and new facts, in one question."""

TEMPERATURES = (*ATTEMPT_TEMPERATURES, ATTEMPT_TEMPERATURES[-1])
"""The temperature of the first question and of three repetitions."""

_RETRY_HINT = "\n\nYour previous answer could not be used ({reason}). Answer with the JSON object only."


async def ask_model(
    model: LanguageModel, scope: Scope, existing: Sequence[DatedText], new: Sequence[DatedText]
) -> list[ModelDecision]:
    """Return what a model decides about `new`, after the question and at most three repetitions.

    An answer that takes back more than it replaces, or replaces one fact twice, counts if the next one says the same.

    Raises:
        CutAnswerError: the answer was cut off; a shorter question may help.
        BadAnswerError: no answer was usable.
        ModelError: the model is away, or the question is too long for it.
    """
    prompt, schema = build_question(existing, new), build_answer_schema(len(existing), len(new))
    hint, doubtful = "", None
    with memory_span("reconcile_facts", scope) as span:
        span.set_record_count(len(new))
        failure = BadAnswerError("the model gave no answer that it repeated")
        for temperature in TEMPERATURES:
            options = AnswerOptions(json=True, schema=schema, temperature=temperature)
            try:
                answer = await model.complete(prompt + hint, system=SYSTEM_PROMPT, options=options)
                decisions = parse_decisions(answer, existing_count=len(existing), new_count=len(new))
            except (RefusedRequestError, CutAnswerError):
                raise
            except BadAnswerError as bad:
                failure, hint = bad, _RETRY_HINT.format(reason=bad)
            else:
                doubt = find_doubt(decisions)
                if doubt is None or decisions == doubtful:
                    span.add_attributes(judged=len(decisions))
                    return decisions
                hint, doubtful = _RETRY_HINT.format(reason=doubt), decisions
        raise failure


class SimilarFacts(Protocol):
    """Finds current facts to compare a fact with."""

    async def find_similar(
        self, scope: Scope, text: str, vector: Vector | None, *, left_out: str | None = None
    ) -> list[SimilarFact]:
        """Return the facts, without the one with the id `left_out`, that a fact may contradict or repeat."""

    async def select_similar(
        self, scope: Scope, text: str, vector: Vector | None, facts: Sequence[StoredFact]
    ) -> list[SimilarFact]:
        """Return those of these facts, which need not be current, that a fact may contradict or repeat."""

    async def find_siblings(self, scope: Scope, drafts: Sequence[Draft]) -> dict[int, int]:
        """Return the places of drafts that are similar to an earlier one, each with the place of the most similar."""


class ReconcileModels(Protocol):
    """The models that reconciling calls."""

    @property
    def embedder(self) -> Embedder:
        """Embeds what a model has reworded."""

    @property
    def language_model(self) -> LanguageModel:
        """Decides which facts others end."""


Group = list[tuple[int, list[StoredFact]]]
"""The facts of one question: the place of each new one in its plan, and the stored ones to compare it with."""


class ModelPlanner:
    """Plans what facts do by the answers of a model; it changes nothing itself."""

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        similar_facts: SimilarFacts,
        models: ReconcileModels,
        settings: Callable[[], MemoryConfig],
    ) -> None:
        """`settings` is called at each use, so that a changed configuration takes effect at once."""
        self._database = database
        self._facts = facts
        self._similar = similar_facts
        self._models = models
        self._settings = settings

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors of facts."""
        return self._models.embedder

    @property
    def has_model(self) -> bool:
        """Whether a model answers for the app that calls are about, and may be asked."""
        is_wanted = self._settings().reconcile in ("auto", "model")
        return is_wanted and not self._models.language_model.identity.startswith("offline/")

    async def complete(self, scope: Scope, plan: Sequence[PlannedFact], places: Sequence[int]) -> list[PlannedFact]:
        """Return a plan with what the model decides about the new facts at some places.

        Facts without a usable answer are undecided, and one that is similar to an earlier one has a sibling.
        """
        completed = list(plan)
        for group in await self._groups(scope, plan, places):
            await self._ask(scope, completed, group)
        siblings = await self._similar.find_siblings(scope, [plan[place].extracted for place in places])
        for place, other in siblings.items():
            completed[places[place]] = replace(completed[places[place]], sibling=places[other])
        return await self._embed_wordings(scope, completed)

    async def compare(self, scope: Scope, planned: PlannedFact, existing: Sequence[StoredFact]) -> PlannedFact:
        """Return what the model decides about one fact, compared with stored ones.

        Raises:
            ModelError: there was no usable answer.
        """
        decisions = await self._ask_about(scope, existing, [planned.extracted])
        [decided] = [await self._follow(scope, planned, each, existing) for each in decisions] or [planned]
        [decided] = await self._embed_wordings(scope, [decided])
        return replace(decided, compared=tuple(existing))

    async def find_similar(self, scope: Scope, known: StoredFact) -> list[SimilarFact]:
        """Return the facts with which the model may compare a stored one, the most similar first."""
        if not _is_comparable(known.fact):
            return []
        vector = known.vector if known.embedder == self.embedder.identity else None
        similar = await self._similar.find_similar(scope, known.fact.text, vector, left_out=known.fact.id)
        return [
            each for each in similar if _is_comparable(each.fact) and may_concern(known.fact.context, each.fact.context)
        ]

    async def _groups(self, scope: Scope, plan: Sequence[PlannedFact], places: Sequence[int]) -> list[Group]:
        """Return the facts to ask about, each with the stored ones to show, in groups that fit into one question."""
        taken = {target.fact.id for planned in plan for target in planned.targets}
        groups: list[Group] = []
        texts: set[str] = set()
        characters = 0
        for place in places:
            draft = plan[place].extracted
            form = normal_form(draft.fact.text)
            found = await self._similar.find_similar(scope, draft.fact.text, draft.vector)
            same = [each.fact for each in found if normal_form(each.fact.text) == form]
            # A repetition ends nothing, unless it was said before what is known.
            is_known = form in texts or any(
                draft.fact.said_at is None or fact.last_said_at <= draft.fact.said_at for fact in same
            )
            found += await self._similar.select_similar(
                scope, draft.fact.text, draft.vector, await self._past_since(scope, draft.fact.said_at)
            )
            similar = [each.fact for each in found if may_concern(draft_context(draft), each.fact.context)]
            others = [fact for fact in similar if normal_form(fact.text) != form and fact.id not in taken]
            shown = [fact.id for fact in others if _is_comparable(fact)]
            async with self._database.read_transaction() as tx:
                stored = await self._facts.history.stored(tx, scope, shown, or_past=True)
            if is_known or not stored or not _is_comparable(draft.fact):
                continue
            texts.add(form)
            size = sum(len(text) for text in (form, *(each.fact.text for each in stored.values())))
            characters += size
            if not groups or characters > MAX_QUESTION_CHARACTERS or len(groups[-1]) == MAX_QUESTION_FACTS:
                groups.append([])
                characters = size
            groups[-1].append((place, list(stored.values())))
        return groups

    async def _past_since(self, scope: Scope, moment: datetime | None) -> list[StoredFact]:
        """Return the past facts that ended after a time: none, if the statement is the newest word."""
        if moment is None:
            return []
        async with self._database.read_transaction() as tx:
            return list((await self._facts.history.past(tx, scope, ended_after=moment)).values())

    async def _ask(self, scope: Scope, plan: list[PlannedFact], group: Group, halvings: int = 2) -> None:
        """Put into the plan what the model decides about some facts; without a usable answer they are undecided.

        An answer that is cut halves the question.
        """
        existing = list({each.fact.id: each for _, shown in group for each in shown}.values())
        try:
            decisions = await self._ask_about(scope, existing, [plan[place].extracted for place, _ in group])
        except (CutAnswerError, ContextSizeError) as error:
            if len(group) > 1 and halvings:
                half = len(group) // 2
                for part in (group[:half], group[half:]):
                    await self._ask(scope, plan, part, halvings - 1)
            else:
                self._leave_undecided(scope, plan, group, error)
        except ModelError as error:
            self._leave_undecided(scope, plan, group, error)
        else:
            for place, shown in group:
                plan[place] = replace(plan[place], compared=tuple(shown))
            for decision in decisions:
                place, _ = group[decision.new]
                try:
                    plan[place] = await self._follow(scope, plan[place], decision, existing)
                except (ValueError, ArithmeticError) as error:
                    # An odd decision never costs a conversation.
                    self._leave_undecided(scope, plan, [group[decision.new]], error)

    async def _ask_about(
        self, scope: Scope, existing: Sequence[StoredFact], drafts: Sequence[Draft]
    ) -> list[ModelDecision]:
        shown = [self._dated(each.fact) for each in existing]
        return await ask_model(self._models.language_model, scope, shown, [self._dated(each.fact) for each in drafts])

    def _leave_undecided(
        self,
        scope: Scope,
        plan: list[PlannedFact],
        group: Group,
        error: Exception,
    ) -> None:
        for place, _ in group:
            plan[place] = replace(plan[place], is_undecided=True)
        kind = type(error).__name__
        fields = log_fields("facts.not_reconciled", scope, facts=len(group), error=kind)
        level = logger.info if isinstance(error, ModelUnavailableError) else logger.warning
        level("%d facts are compared with the stored ones later: %s", len(group), kind, extra=fields)

    async def _follow(
        self, scope: Scope, planned: PlannedFact, decision: ModelDecision, stored: Sequence[StoredFact]
    ) -> PlannedFact:
        existing, moment = [stored[index] for index in decision.existing], planned.extracted.fact.said_at
        later = [each for each in existing if moment is not None and said_at(each) > moment]
        earlier = [each for each in existing if each not in later]
        doubted = [stored[index] for index in decision.in_doubt]
        in_doubt = [each for each in doubted if moment is None or said_at(each) <= moment]
        if decision.action == "UPDATE" and decision.text is not None:
            planned = await self._reword(scope, planned, decision.text, earlier)
        return follow(
            planned,
            decision.action,
            existing=earlier if decision.action == "UPDATE" else existing,
            outdated_by=later if decision.action == "UPDATE" else (),
            in_doubt=in_doubt,
        )

    async def _reword(
        self, scope: Scope, planned: PlannedFact, text: str, replaced: Sequence[StoredFact]
    ) -> PlannedFact:
        """Return a fact in the model's wording, with the details of what it joins, if that passes the screens."""
        draft = planned.extracted
        joined = [draft.fact.text, *(each.fact.text for each in replaced)]
        text = mask_credentials(text, allow_numbers=self._settings().allow_numbers)
        if normal_form(text) == normal_form(draft.fact.text) or not is_usable(text, joined):
            return planned
        details = merge_details(draft.fact, [each.fact for each in replaced])
        merged = replace(draft, fact=replace(draft.fact, text=text, **details), vector=None, embedder=None)
        async with self._database.read_transaction() as tx:
            [kept] = await without_forgotten(self._facts, tx, scope, [replace(planned, draft=merged)])
        return kept or planned

    async def embed(self, scope: Scope, drafts: Sequence[Draft]) -> list[Draft]:
        """Return new facts with vectors, as far as the embedder supplies them and may see their texts."""
        embeds_sensitive = self._settings().embed_sensitive
        return await embed_in_scope(
            self._database, self._facts, scope, self.embedder, drafts, embeds_sensitive=embeds_sensitive
        )

    async def _embed_wordings(self, scope: Scope, plan: Sequence[PlannedFact]) -> list[PlannedFact]:
        reworded = [planned.draft for planned in plan if planned.is_reworded and planned.draft is not None]
        embedded = iter(await self.embed(scope, reworded))
        return [replace(planned, draft=next(embedded)) if planned.is_reworded else planned for planned in plan]

    def _dated(self, fact: Fact | NewFact) -> DatedText:
        zone = self._settings().zone
        return DatedText(fact.text, None if fact.said_at is None else to_local_time(fact.said_at, zone))


def _is_comparable(fact: Fact | NewFact) -> bool:
    """Return whether a model may be asked about a fact: not about a sensitive one."""
    return len(fact.text) <= MAX_SHOWN_CHARACTERS and not fact.sensitive
