"""Brings facts and talks into a memory, and asks it, and plain mem0, about them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gaia_memory.backend.mem0_import import load_mem0
from gaia_memory.backend.providers.resolve_provider import with_absolute_paths
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sections.provider_section import VectorStoreConfig
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine
from gaia_memory.errors import BadAnswerError, InvalidInputError
from gaia_memory.evaluation.figures import DEPTHS, Answer, FoundFact, describe_wrong, summarize
from gaia_memory.evaluation.question_file import Person, QuestionFile
from gaia_memory.models import Scope, SessionKey, TokenUsage
from gaia_memory.threads import run_in_thread

Progress = Callable[[int, int], None]
ProgressBar = Callable[[str], AbstractContextManager[Progress]]
Search = Callable[[Scope, str, int | None], Awaitable[Sequence[tuple[str, str]]]]
"""From a question about somebody, and how many facts are wanted, to the ids and texts of facts, best first."""


@dataclass(frozen=True, slots=True)
class AskedPerson:
    """A person of the file, the scope of their facts, and the file's ids of these."""

    person: Person
    scope: Scope
    file_ids: Mapping[str, str] = field(default_factory=dict)

    def found(self, facts: Sequence[tuple[str, str]]) -> list[FoundFact]:
        """Return what a search found."""
        names = self.file_ids.values()
        return [FoundFact(self.file_ids.get(fact_id, fact_id), text, names) for fact_id, text in facts]


@dataclass(slots=True)
class LearnedFigures:
    """What the model made of the talks: the truth that is kept, other current facts, and what it cost."""

    true: int = 0
    kept: int = 0
    facts: int = 0
    outdated: int = 0
    invented: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    tokens: TokenUsage = field(default_factory=TokenUsage)


@asynccontextmanager
async def open_temporary(config: GaiaConfig) -> AsyncIterator[Engine]:
    """Open a memory with the same models and settings, whose every file is in a new folder; delete it at the end."""
    config = with_absolute_paths(config)
    stores = {"enabled": True, "database_url": None, "vector_store": VectorStoreConfig()}
    sections = {
        "memory": config.memory.model_copy(update=stores),
        "sessions": config.sessions.model_copy(update={"database_url": None}),
    }
    folder = await run_in_thread(TemporaryDirectory, prefix="gaia-eval-", ignore_cleanup_errors=True)
    try:
        changed = config.model_copy(update={"home": Path(folder.name), **sections})
        engine = await Engine.open(await run_in_thread(load, changed))
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        await run_in_thread(folder.cleanup)


async def evaluate(
    engine: Engine, questions: QuestionFile, show_bar: ProgressBar, *, with_mem0: bool = False
) -> dict[str, Any]:
    """Ask the questions of a file, after what it has was stored and learned; return figures as data for JSON.

    Raises:
        InvalidInputError: the user of the file has no facts.
        ModelError: the model gives no answer; an answer that cannot be used only fails its conversation.
    """
    learned, missing = LearnedFigures(), set[str]()
    if questions.user is not None:
        people = [AskedPerson(questions.people[0], engine.scope(engine.config.app, questions.user))]
        if not await engine.memory.count(people[0].scope):
            raise InvalidInputError(f"{questions.user} has no facts to ask about: `gaia people` lists who has some")
    else:
        with show_bar(f"Learning with {engine.model_name}" if questions.talks else "Storing") as advance:
            people = await fill(engine, questions.people, learned, advance)
    with show_bar("Embedding facts") as advance:
        await engine.vectors.fill(advance)
    searches = {"gaia": memory_search(engine, missing)}
    if with_mem0:
        engine.follow()
        with show_bar("Writing the mem0 store") as advance:
            await engine.memory.settled(advance)
        searches["mem0"] = await _mem0_search(engine)
    answers: dict[str, list[Answer]] = {}
    for name, search in searches.items():
        with show_bar(f"Asking {name}") as advance:
            answers[name] = await ask(people, search, advance)
    return {
        "model": engine.model_name,
        "embedder": engine.embedder_name,
        "missing": sorted(missing),
        "systems": {name: summarize(each) for name, each in answers.items()},
        "wrong": {name: describe_wrong(each) for name, each in answers.items()},
        "learned": asdict(learned) if questions.talks else None,
    }


async def fill(
    engine: Engine, people: Sequence[Person], learned: LearnedFigures, advance: Progress
) -> list[AskedPerson]:
    """Store the facts of everybody, and learn from their conversations; add to `learned` what came of it."""
    filled = []
    for number, person in enumerate(people, 1):
        advance(number - 1, len(people))
        scope = engine.scope(engine.config.app, f"{number} {person.name}".strip())
        stored = await engine.memory.add(scope, [each.new_fact() for each in person.facts])
        ids = {fact.id: each.id for fact, each in zip(stored, person.facts, strict=True) if each.id is not None}
        filled.append(AskedPerson(person, scope, ids))
        for place, conversation in enumerate(person.conversations, 1):
            key = SessionKey(engine.config.app, scope.user, f"{scope.user}:{place}")
            await engine.conversations.ensure_row(key)
            try:
                await engine.learn(key, conversation.turns())
            except BadAnswerError as error:
                learned.failed.append(f"conversation {place} of {scope.user}: {error}")
    # What is still to be compared with other facts.
    await engine.sweep(force=True)
    for each in filled:
        facts = [FoundFact(fact.id, fact.text) for fact in await engine.memory.facts(each.scope)]
        _compare(each.person, facts, learned)
    for usage in (await engine.memory.status(filled[0].scope)).usage["last_30_days"].values():
        learned.tokens += usage
    return filled


def _compare(person: Person, facts: Sequence[FoundFact], learned: LearnedFigures) -> None:
    """Compare what is current with the truth; what the person said word for word is not invented."""
    messages = [message for conversation in person.conversations for message in conversation.messages]
    said = FoundFact("", "\n".join(each.text for each in messages if each.role == "user"))
    true = [*person.truth, *(each for question in person.questions for each in question.expect)]
    earlier = [each for question in person.questions for each in question.was]
    others = [fact for fact in facts if not any(map(fact.holds, true))]
    unknown = [fact for fact in others if not any(map(fact.holds, earlier))]
    learned.true += len(person.truth)
    learned.kept += sum(any(fact.holds(each) for fact in facts) for each in person.truth)
    learned.facts += len(facts)
    learned.outdated += len(others) - len(unknown)
    learned.invented += [fact.text for fact in unknown if not said.holds(fact.text)]


def memory_search(engine: Engine, missing: set[str]) -> Search:
    """Return how to ask our memory; what failed in recall is added to `missing`."""

    async def search(scope: Scope, question: str, limit: int | None) -> list[tuple[str, str]]:
        hits = await engine.memory.recall(scope, question, limit=limit)
        missing.update(name for hit in hits for name in hit.missing)
        return [(hit.fact.id, hit.fact.text) for hit in hits]

    return search


async def _mem0_search(engine: Engine) -> Search:
    config = engine.mem0_config()
    memory: Any = await run_in_thread(lambda: load_mem0(engine.config.home).Memory.from_config(config))

    async def search(scope: Scope, question: str, limit: int | None) -> list[tuple[str, str]]:
        options = {"filters": {"user_id": scope.mem0_user_id}, **({} if limit is None else {"top_k": limit})}
        found = await run_in_thread(lambda: memory.search(question, **options))
        return [(row["id"], row["memory"]) for row in found["results"]]

    return search


async def ask(people: Sequence[AskedPerson], search: Search, advance: Progress) -> list[Answer]:
    """Return the answers of a system to everybody's questions."""
    answers = []
    for number, asked in enumerate(people):
        advance(number, len(people))
        # What is loaded at the first search is paid once.
        await search(asked.scope, asked.person.questions[0].ask, None)
        for question in asked.person.questions:
            begun = time.perf_counter()
            hits = await search(asked.scope, question.ask, None)
            seconds = time.perf_counter() - begun
            first_ten = await search(asked.scope, question.ask, max(DEPTHS))
            answers.append(Answer(question, asked.found(hits), asked.found(first_ten), seconds))
    return answers
