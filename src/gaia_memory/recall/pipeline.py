"""Recall: retrieve, fuse, rank, cut to the budget."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

from gaia_memory.errors import MemoryUnavailable
from gaia_memory.log import logger_for
from gaia_memory.models import Candidate, Fact, Hit, Scope
from gaia_memory.ports import Clock, Database, FactStore, Retriever
from gaia_memory.recall.budget import within
from gaia_memory.recall.pool import REACH, pool_of
from gaia_memory.recall.question import Question, read
from gaia_memory.recall.rank import Ranked, rank
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.recall.words import coverage, words_of
from gaia_memory.telemetry import about

logger = logger_for(__name__)

_REMEDY = "check the memory database (`memory.database_url`) and the embedder (`memory.embedder`), then ask again"
_JUDGED = 10


class Recall:
    """Answers a question with the facts of one scope.

    All retrievers are asked at once. One that fails or takes longer than `settings.seconds` costs its share of
    the answer, and the hits name it.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        retrievers: Sequence[Retriever],
        clock: Clock,
        *,
        settings: RecallSettings | None = None,
    ) -> None:
        self._database = database
        self._facts = facts
        self._retrievers = tuple(retrievers)
        self._clock = clock
        self._settings = settings or RecallSettings()

    async def recall(self, scope: Scope, query: str, *, limit: int, threshold: float | None = None) -> list[Hit]:
        """Return the facts that answer `query` best, at most `limit`; none for a blank query.

        A hit's score lies between 0 and 1: its parts over those of the best hit, times how well the question is
        answered at all. That is the share of the question's words that a fact holds, or the cosine of a fact's
        vector, whichever is greater over the best few. So a `threshold` drops weak hits, and everything when the
        question has nothing to do with what is known. `Hit.why` adds up to the score.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        if not query.strip() or limit < 1:
            return []
        question = read(query)
        found, missing = await self._ask(scope, query)
        facts, rarity = await self._gather(scope, question, found)
        # Some milliseconds of arithmetic over several hundred facts: turns of others go on meanwhile.
        ranked = await asyncio.to_thread(self._rank, question, facts, rarity, found)
        hits = _hits(ranked[:limit], _level(query, ranked, found), missing)
        return within(hits, limit=limit, threshold=threshold, tokens=self._settings.tokens)

    def _rank(
        self, question: Question, facts: Sequence[Fact], rarity: Sequence[float], found: Mapping[str, list[Candidate]]
    ) -> list[Ranked]:
        return rank(question, pool_of(question, rarity, facts), _scores(found), self._clock.now(), self._settings)

    async def _ask(self, scope: Scope, query: str) -> tuple[dict[str, list[Candidate]], tuple[str, ...]]:
        answers = await asyncio.gather(*(self._answer(retriever, scope, query) for retriever in self._retrievers))
        found = {name: answer for name, answer in answers if isinstance(answer, list)}
        failed = {name: answer for name, answer in answers if not isinstance(answer, list)}
        if not found:
            raise _unavailable(failed)
        return found, tuple(sorted(failed))

    async def _answer(self, retriever: Retriever, scope: Scope, query: str) -> tuple[str, list[Candidate] | Exception]:
        try:
            async with asyncio.timeout(self._settings.seconds):
                return retriever.name, await retriever.retrieve(scope, query, limit=self._settings.candidates)
        except Exception as error:  # a retriever may fail in ways of its own, and must cost no more than its share
            kind = type(error).__name__
            fields = about("recall.partial", scope, retriever=retriever.name, error=kind)
            logger.warning("recall goes on without %s: %s", retriever.name, kind, extra=fields)
            return retriever.name, error

    async def _gather(
        self, scope: Scope, question: Question, found: Mapping[str, Sequence[Candidate]]
    ) -> tuple[list[Fact], list[float]]:
        """Read the found ids and what stands beside them, and how rare each term of the question is.

        Within the scope: a retriever's word is not enough.
        """
        leads = {each.fact_id for name in found.keys() - self._settings.fillers for each in found[name]}
        alone = {each.fact_id for name in found for each in found[name]} - leads
        if not leads and not alone:
            return [], [0.0] * len(question.terms)
        async with self._database.reading() as tx:
            near = await self._facts.around(tx, scope, leads, REACH)
            rest = await self._facts.get(tx, scope, alone - {fact.id for fact in near})
            rarity = await self._facts.rarity(tx, scope, question.words)
        return [*near, *rest.values()], rarity


def _unavailable(failed: Mapping[str, Exception]) -> MemoryUnavailable:
    """Return the error that says why nobody could answer, with the remedy of the first who knows one."""
    known = [error for error in failed.values() if isinstance(error, MemoryUnavailable)]
    reasons = [
        f"{name}: {error.reason if isinstance(error, MemoryUnavailable) else type(error).__name__}"
        for name, error in failed.items()
    ]
    remedy = next((error.remedy for error in known if error.remedy), _REMEDY)
    return MemoryUnavailable(
        f"no way of searching could answer ({', '.join(reasons) or 'none is configured'})", remedy=remedy
    )


def _scores(found: Mapping[str, Sequence[Candidate]]) -> dict[str, dict[str, float]]:
    """Return the best score each retriever gave a fact; one that is no number counts as 0."""
    scores: dict[str, dict[str, float]] = {name: {} for name in found}
    for name, candidates in found.items():
        for each in candidates:
            score = each.score if math.isfinite(each.score) else 0.0
            scores[name][each.fact_id] = max(score, scores[name].get(each.fact_id, score))
    return scores


def _level(query: str, ranked: Sequence[Ranked], found: Mapping[str, Sequence[Candidate]]) -> float:
    """Return how well the question is answered at all, from 0 to 1."""
    words = words_of(query)
    judged = ranked[:_JUDGED]
    ids = {item.fact.id for item in judged}
    levels = [coverage(words, item.fact.text) for item in judged]
    if words and any("keywords" in item.parts for item in judged):
        # The index knows more forms of a word than `coverage` does: what it found holds one word at least.
        levels.append(1 / len(words))
    for name, candidates in found.items():
        if name != "keywords":
            levels += [candidate.score for candidate in candidates if candidate.fact_id in ids]
    return min(1.0, max(levels, default=0.0))


def _hits(ranked: Sequence[Ranked], level: float, missing: tuple[str, ...]) -> list[Hit]:
    best = ranked[0].total if ranked else 0.0
    scale = level / best if best > 0 else 0.0
    return [
        Hit(
            fact=item.fact,
            score=item.total * scale,
            why={stage: part * scale for stage, part in item.parts.items()},
            missing=missing,
        )
        for item in ranked
    ]
