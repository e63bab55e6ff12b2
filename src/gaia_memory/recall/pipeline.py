"""Recall: retrieve, fuse, rank, cut to the budget."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaia_memory.errors import MemoryUnavailable, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Candidate, Fact, Hit, Holds, Recalled, Scope, line_of
from gaia_memory.ports import Clock, Database, FactStore, LanguageModel, Reranker, Retriever
from gaia_memory.recall.index.candidates import pool_of, pool_on
from gaia_memory.recall.index.column_cache import Shelves
from gaia_memory.recall.index.fact_columns import Shelf
from gaia_memory.recall.index.neighbours import REACH
from gaia_memory.recall.query.expansion import REWRITING, Wording, other_words, united, widened
from gaia_memory.recall.query.parsed_query import read, shortened
from gaia_memory.recall.ranking.adaptive_limit import MANY, depth
from gaia_memory.recall.ranking.diversity import LOOKED_AT, diversified
from gaia_memory.recall.ranking.normalise import JUDGED, level_of, scored, together
from gaia_memory.recall.ranking.rank import DATES, WORDS, Placed, rank
from gaia_memory.recall.ranking.rerank import RERANKER, reranked
from gaia_memory.recall.ranking.token_budget import within
from gaia_memory.recall.retrievers import Among
from gaia_memory.recall.settings import RecallSettings
from gaia_memory.telemetry import about

logger = logger_for(__name__)

_REMEDY = "check the memory database (`memory.database_url`) and the embedder (`memory.embedder`), then ask again"
_WITHOUT_A_MODEL = "offline/"

Found = Mapping[str, Sequence[Candidate]]


@dataclass(frozen=True, slots=True)
class _Order:
    """Facts of a shelf in their order, what was found for the question itself, and who could not answer."""

    shelf: Shelf
    placed: list[Placed]
    own: Found
    missing: set[str]


@dataclass(frozen=True, slots=True)
class _Ask:
    """A question as each scope is asked it: with the model's other words, or its name where it had none in time."""

    query: str
    added: list[str]
    wording: Wording
    settings: RecallSettings
    limit: int | None
    meant: Holds | None
    unworded: tuple[str, ...]

    @property
    def queries(self) -> list[str]:
        return [self.query, *self.added]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The best facts of one scope, at most `limit`, and who could not answer."""

    best: list[Hit]
    limit: int
    missing: tuple[str, ...]


class Recall:
    """Answers a question with the facts of one scope.

    All retrievers are asked at once. One that fails or takes longer than `settings.seconds` costs its share of
    the answer, and the hits name it; so it is with the rewriting and the reranker, where they are switched on.
    `settings` and `reranker` are asked for at each question, so that they may change meanwhile.
    """

    def __init__(
        self,
        database: Database,
        facts: FactStore,
        retrievers: Sequence[Retriever],
        clock: Clock,
        *,
        settings: RecallSettings | Callable[[], RecallSettings] | None = None,
        shelves: Shelves | None = None,
        language_model: LanguageModel | None = None,
        reranker: Callable[[], Reranker | None] | None = None,
    ) -> None:
        self._database = database
        self._facts = facts
        self._retrievers = tuple(retrievers)
        self._clock = clock
        self._settings = settings or RecallSettings()
        self._shelves = shelves
        self._language_model = language_model
        self._reranker = reranker

    async def recall(self, scope: Scope, query: str, *, limit: int | None, threshold: float | None = None) -> list[Hit]:
        """Return the facts that answer `query` best, at most `limit`; none for a blank query.

        Without a limit it is 3, 5 or 10, as the question and the scores ask for. A hit's score lies between 0 and 1:
        its parts over those of the best hit, times how well the question is answered at all. That is the share of the
        question's words that a fact holds, or the cosine of a fact's vector, whichever is greater over the best few.
        So a `threshold` drops weak hits, and everything when the question has nothing to do with what is known.
        `Hit.why` adds up to the score.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        return list((await self.explain(scope, query, limit=limit, threshold=threshold)).hits)

    async def explain(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None,
        threshold: float | None = None,
        meant: Holds | None = None,
        beside: Sequence[Scope] = (),
    ) -> Recalled:
        """Return what `recall` does, with what it left out and what could not answer.

        Facts that are not `meant` do not exist for this question. The scopes `beside` are asked the same, and the best
        of all come first: how well a question is answered is told apart in one scope as in another.

        Raises:
            MemoryUnavailable: no retriever could answer.
        """
        if not query.strip() or (limit is not None and limit < 1):
            return Recalled()
        query, settings = shortened(query), _asked(self._settings)
        lines, unworded = await self._other_words(scope, query, settings)
        wording = widened(read(query), lines)
        ask = _Ask(query, lines, wording, settings, limit, meant, unworded)
        # One after the other: the first one's vector of the question serves them all.
        answers = [await self._answered(each, ask) for each in dict.fromkeys((scope, *beside))]
        limit = max(answer.limit for answer in answers)
        failed = tuple(dict.fromkeys(name for answer in answers for name in answer.missing))
        best = together([answer.best for answer in answers])[:limit]
        hits = within(best, limit=limit, threshold=threshold, tokens=settings.tokens)
        kept = {hit.fact.id for hit in hits}
        dropped = tuple(hit for hit in best if hit.fact.id not in kept)
        return Recalled(hits=tuple(hits), dropped=dropped, limit=limit, missing=failed, added=tuple(lines))

    async def _answered(self, scope: Scope, ask: _Ask) -> _Answer:
        query, wording, settings = ask.query, ask.wording, ask.settings
        among, retrievers = await self._among(scope, ask.meant)
        shelf = await self._shelf(scope, settings)
        if shelf is None:
            order = await self._by_candidates(scope, ask, retrievers, among)
        else:
            order = await self._by_shelf(scope, _only(shelf, among), ask, retrievers)
        level = level_of(wording.question, order.placed, order.own)
        if wording.added:
            level = max(level, wording.level(await self._texts(scope, order.placed[:JUDGED])))
        placed, unranked = await self._rerank(scope, query, order.placed, settings)
        placed = await asyncio.to_thread(diversified, placed, order.shelf, settings.diversity)
        limit = depth(query, [item.total for item in placed]) if ask.limit is None else ask.limit
        missing = (*sorted(order.missing), *ask.unworded, *unranked)
        return _Answer(scored(*await self._first(scope, placed, limit), level, missing), limit, missing)

    async def _among(self, scope: Scope, meant: Holds | None) -> tuple[set[str] | None, Sequence[Retriever]]:
        """Return the ids of the facts that are meant, None for all, and what finds no others."""
        if meant is None:
            return None, self._retrievers
        async with self._database.reading() as tx:
            among = set(await self._facts.matching(tx, scope, meant))
        return among, [Among(each, among) for each in self._retrievers]

    async def _shelf(self, scope: Scope, settings: RecallSettings) -> Shelf | None:
        """Return the scope in memory, unless it is too large or its words do not count."""
        return None if self._shelves is None or not settings.keywords else await self._shelves.of(scope)

    async def _by_shelf(self, scope: Scope, shelf: Shelf, ask: _Ask, retrievers: Sequence[Retriever]) -> _Order:
        """Put all facts of a shelf in order; a filler is asked only where they are fewer than are wanted."""
        settings, wording, wanted = ask.settings, ask.wording, ask.limit or MANY
        first = max(wanted, LOOKED_AT, settings.rerank_first)
        others = [each for each in retrievers if each.name not in (WORDS, DATES) and _weight(each, settings)]
        leads = [each for each in others if each.name not in settings.fillers]
        answers, failed = await self._answers(leads, scope, ask.query, settings)
        own, found, missing = await self._with_others(leads, scope, ask.added, answers, failed, settings)
        if settings.dates:
            dated = {DATES: shelf.said_when(wording.question.dates)}
            own, found = {**own, **dated}, {**found, **dated}

        def order(found: Found) -> list[Placed]:
            also = {each.fact_id for candidates in found.values() for each in candidates}
            pool = pool_on(shelf, wording.question, wording.weighed, also)
            return rank(wording.question, pool, _scores(found), self._clock.now(), settings, first=first)

        placed = await asyncio.to_thread(order, found)
        fillers = [each for each in others if each.name in settings.fillers]
        if fillers and len(placed) < wanted:
            answers, failed = await self._answers(fillers, scope, ask.query, settings)
            own, found, missing = {**own, **answers}, {**found, **answers}, missing | failed.keys()
            placed = await asyncio.to_thread(order, found)
        return _Order(shelf, placed, own, missing)

    async def _by_candidates(
        self, scope: Scope, ask: _Ask, retrievers: Sequence[Retriever], among: Collection[str] | None
    ) -> _Order:
        """Put the facts in order that the retrievers find, and what stands beside them."""
        settings, wording = ask.settings, ask.wording
        own, found, missing = await self._find(scope, ask.queries, retrievers, settings)
        facts, rarity = await self._gather(scope, wording, found, settings)
        facts = [fact for fact in facts if among is None or fact.id in among]

        def order() -> _Order:
            pool = pool_of(wording.question, rarity, [line_of(fact) for fact in facts])
            placed = rank(wording.question, pool, _scores(found), self._clock.now(), settings)
            return _Order(pool.shelf, placed, own, missing)

        # Some milliseconds of arithmetic over several hundred facts: turns of others go on meanwhile.
        return await asyncio.to_thread(order)

    async def _first(self, scope: Scope, placed: list[Placed], limit: int) -> tuple[list[Placed], dict[str, Fact]]:
        """Return the first that are still there, at most `limit`, and their facts."""
        facts = await self._read(scope, placed[:limit])
        if len(facts) < min(limit, len(placed)):
            # Some were forgotten while this was asked: what stands behind them moves up.
            facts |= await self._read(scope, placed[limit:])
        return [item for item in placed if item.fact_id in facts][:limit], facts

    async def _texts(self, scope: Scope, placed: Sequence[Placed]) -> list[str]:
        return [fact.text for fact in (await self._read(scope, placed)).values()]

    async def _read(self, scope: Scope, placed: Sequence[Placed]) -> dict[str, Fact]:
        async with self._database.reading() as tx:
            return await self._facts.get(tx, scope, [each.fact_id for each in placed])

    async def _other_words(
        self, scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[list[str], tuple[str, ...]]:
        model = self._language_model
        if not settings.rewrite or model is None or model.identity.startswith(_WITHOUT_A_MODEL):
            return [], ()
        try:
            async with asyncio.timeout(settings.seconds):
                return await other_words(model, query), ()
        except (ModelError, TimeoutError) as error:
            _goes_on_without(REWRITING, scope, error)
            return [], (REWRITING,)

    async def _rerank(
        self, scope: Scope, query: str, placed: list[Placed], settings: RecallSettings
    ) -> tuple[list[Placed], tuple[str, ...]]:
        reranker = None if self._reranker is None else self._reranker()
        if reranker is None or not settings.rerank_share or min(settings.rerank_first, len(placed)) < 2:
            return placed, ()
        facts = await self._read(scope, placed[: settings.rerank_first])
        placed = [item for place, item in enumerate(placed) if place >= settings.rerank_first or item.fact_id in facts]
        texts = [facts[item.fact_id].text for item in placed[: len(facts)]]
        try:
            async with asyncio.timeout(settings.seconds):
                scores = await reranker.scores(query, texts)
        except (ModelError, TimeoutError) as error:
            _goes_on_without(RERANKER, scope, error)
            return placed, (RERANKER,)
        return reranked(placed, scores, settings.rerank_share), ()

    async def _find(
        self, scope: Scope, queries: Sequence[str], retrievers: Sequence[Retriever], settings: RecallSettings
    ) -> tuple[Found, Found, set[str]]:
        """Ask every retriever that counts.

        Raises:
            MemoryUnavailable: none could answer.
        """
        retrievers = [each for each in retrievers if _weight(each, settings)]
        found, failed = await self._answers(retrievers, scope, queries[0], settings)
        if not found.keys() - {DATES}:
            # A question without a date gives that retriever nothing to fail at.
            raise _unavailable(failed)
        return await self._with_others(retrievers, scope, queries[1:], found, failed, settings)

    async def _with_others(
        self,
        retrievers: Sequence[Retriever],
        scope: Scope,
        queries: Sequence[str],
        found: dict[str, list[Candidate]],
        failed: Mapping[str, Exception],
        settings: RecallSettings,
    ) -> tuple[Found, Found, set[str]]:
        """Ask those that answered the question for the added queries, too.

        Return what they found for the question, what for all, and who could not answer.
        """
        able = [each for each in retrievers if each.name in found]
        more = await asyncio.gather(*(self._answers(able, scope, each, settings) for each in queries))
        missing = {*failed, *(name for _, lost in more for name in lost)}
        return found, united(found, [answers for answers, _ in more]) if more else found, missing

    async def _answers(
        self, retrievers: Sequence[Retriever], scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[dict[str, list[Candidate]], dict[str, Exception]]:
        leads = [each for each in retrievers if each.name not in settings.fillers]
        answers = await asyncio.gather(*(self._answer(each, scope, query, settings) for each in leads))
        if not any(isinstance(answer, list) and len(answer) >= settings.candidates for _, answer in answers):
            # What only these find comes below all else: there is no need of it behind enough.
            rest = [each for each in retrievers if each.name in settings.fillers]
            answers += await asyncio.gather(*(self._answer(each, scope, query, settings) for each in rest))
        found = {name: answer for name, answer in answers if isinstance(answer, list)}
        return found, {name: answer for name, answer in answers if not isinstance(answer, list)}

    async def _answer(
        self, retriever: Retriever, scope: Scope, query: str, settings: RecallSettings
    ) -> tuple[str, list[Candidate] | Exception]:
        try:
            async with asyncio.timeout(settings.seconds):
                return retriever.name, await retriever.retrieve(scope, query, limit=settings.candidates)
        except Exception as error:  # a retriever may fail in ways of its own, and must cost no more than its share
            _goes_on_without(retriever.name, scope, error)
            return retriever.name, error

    async def _gather(
        self, scope: Scope, wording: Wording, found: Found, settings: RecallSettings
    ) -> tuple[list[Fact], list[float]]:
        """Read the found ids and what stands beside them, and how rare each term of the question is.

        Within the scope: a retriever's word is not enough.
        """
        leads = {each.fact_id for name in found.keys() - settings.fillers - {DATES} for each in found[name]}
        alone = {each.fact_id for name in found for each in found[name]} - leads
        question = wording.question
        if not leads and not alone:
            return [], [0.0] * len(question.terms)
        async with self._database.reading() as tx:
            near = await self._facts.around(tx, scope, leads, REACH)
            rest = await self._facts.get(tx, scope, alone - {fact.id for fact in near})
            rarity = await self._facts.rarity(tx, scope, question.words)
        return [*near, *rest.values()], wording.weighed(rarity)


def _asked(settings: RecallSettings | Callable[[], RecallSettings]) -> RecallSettings:
    """Return the settings in force; where the words are off, no retriever is a mere filler behind them."""
    settings = settings if isinstance(settings, RecallSettings) else settings()
    return settings if settings.keywords else replace(settings, fillers=frozenset())


def _only(shelf: Shelf, among: Collection[str] | None) -> Shelf:
    """Return a shelf of these facts alone."""
    if among is None:
        return shelf
    places = shelf.places_of(among)
    return shelf.taken(np.sort(places[places >= 0]))


def _weight(retriever: Retriever, settings: RecallSettings) -> float:
    return {WORDS: settings.keywords, DATES: settings.dates}.get(retriever.name, settings.vectors)


def _goes_on_without(name: str, scope: Scope, error: Exception) -> None:
    kind = type(error).__name__
    fields = about("recall.partial", scope, retriever=name, error=kind)
    logger.warning("recall goes on without %s: %s", name, kind, extra=fields)


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


def _scores(found: Found) -> dict[str, dict[str, float]]:
    """Return the best score each retriever gave a fact; one that is no number counts as 0."""
    scores: dict[str, dict[str, float]] = {name: {} for name in found}
    for name, candidates in found.items():
        for each in candidates:
            score = each.score if math.isfinite(each.score) else 0.0
            scores[name][each.fact_id] = max(score, scores[name].get(each.fact_id, score))
    return scores
