"""One engine forgets while another one on the same database is learning."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from google.adk.events.event import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.genai import types

from gaia_memory.adk.memory_service import _learn
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.engine import Engine
from gaia_memory.errors import LeaseLostError
from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS
from gaia_memory.learning.learner import Learner
from gaia_memory.models import Chunk, ExtractedFact, Scope, SessionKey, Vector
from gaia_memory.ports import AnswerCheck
from gaia_memory.testing import ScriptedEmbedder
from support.databases import on_each_database
from support.oracles.long_conversations import APP, START, learning_engine
from support.plugin_host import set_embedder, set_extractor

pytestmark = pytest.mark.acceptance("C13")

KEY, SCOPE = SessionKey(APP, "itay", "s"), Scope(APP, "itay")
POINTS = ("read", "asked", "answered", "embedded")
HANDED = ("asked", "answered", "embedded")
FACTS = {"keep bees": "Keeps bees", "bees buzz": "Itay's bees buzz", "choir": "Sings in a choir"}
ANSWER = "Your bees must be happy"
"""Of the agent: the end of what was said before is shown with the next question."""

Act = Callable[[], Awaitable[None]]


class Points:
    """Runs an action of the test, once, when learning reaches a point."""

    def __init__(self) -> None:
        self._acts: dict[str, Act] = {}

    def at(self, point: str, act: Act) -> None:
        self._acts[point] = act

    async def come_to(self, point: str) -> None:
        if act := self._acts.pop(point, None):
            await act()


class Extractor:
    """Extracts the new messages, and restates earlier context in words that share none with it."""

    def __init__(self, points: Points) -> None:
        self._points = points

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        await self._points.come_to("asked")
        said = " ".join(each.text for each in chunk.messages)
        found = [fact for words, fact in FACTS.items() if words in said]
        if any("bees" in each.text for each in chunk.before):
            found.append("Has an apiary")
        await self._points.come_to("answered")
        return [ExtractedFact(text=fact) for fact in found]


class Embedder(ScriptedEmbedder):
    """Reaches a point after embedding."""

    def __init__(self, points: Points) -> None:
        super().__init__()
        self._points = points

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        vectors = await super().embed(texts, purpose=purpose)
        await self._points.come_to("embedded")
        return vectors


def said(text: str, number: int) -> Event:
    """Return a message of its own turn, sent long ago; its id is always the same."""
    its: dict[str, Any] = {"invocation_id": f"i{number}", "timestamp": START + number, "id": f"e{number}"}
    if text == ANSWER:
        return Event(author="root", content=types.ModelContent(text), **its)
    return Event(author="user", content=types.UserContent(text), **its)


@asynccontextmanager
async def two(kind: str, folder: Path, points: Points) -> AsyncIterator[tuple[Engine, Engine]]:
    """Open the engine that learns and the one that forgets."""
    async with learning_engine(kind, folder) as engine:
        set_extractor(engine, Extractor(points))
        set_embedder(engine, Embedder(points))
        other = await Engine.open(engine.loaded)
        try:
            yield engine, other
        finally:
            await other.close()


async def talk(engine: Engine, *texts: str) -> None:
    """Store messages in the session, each as a turn."""
    service = DatabaseSessionService(db_engine=engine.sessions_engine())
    its: dict[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}
    session = await service.get_session(**its) or await service.create_session(**its)
    for text in texts:
        await service.append_event(session, said(text, len(session.events)))
    engine.attach_transcript(APP, SessionTranscript(service, APP, clear_method="keep"))


async def known(engine: Engine) -> list[str]:
    return sorted(fact.text for fact in await engine.memory.facts(SCOPE))


async def forget(engine: Engine, what: str) -> None:
    """Forget everything, the conversation, or only the fact about the bees."""
    if what == "everything":
        await engine.memory.forget(SCOPE)
    elif what == "conversation":
        await engine.memory.forget(SCOPE, session_id=KEY.session)
    else:
        [fact] = [fact for fact in await engine.memory.facts(SCOPE) if fact.text == "Keeps bees"]
        assert (await engine.memory.forget(SCOPE, fact_id=fact.id)).count == 1


@on_each_database
@pytest.mark.parametrize("what", ["fact", "everything", "conversation"])
@pytest.mark.parametrize("point", POINTS)
async def test_a_forget_while_more_of_the_conversation_is_learned_takes_precedence(
    tmp_path: Path, kind: str, what: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is known afterwards, in any words; everything else is learned once."""
    points = Points()
    fresh = Learner._context_before

    async def ahead(*arguments: Any) -> Any:
        await points.come_to("read")
        return await fresh(*arguments)

    monkeypatch.setattr(Learner, "_context_before", ahead)
    async with two(kind, tmp_path, points) as (engine, other):
        await talk(engine, "I keep bees", ANSWER)
        assert await engine.consolidate(KEY, clear=False) == "learned"
        await talk(engine, "I sing in a choir while my bees buzz")
        assert await known(engine) == ["Keeps bees"]
        forgotten: list[str] = []

        async def now() -> None:
            await forget(other, what)
            forgotten.append(what)

        points.at(point, now)
        for _ in range(3):
            await engine.consolidate(KEY, clear=False)
        row = await engine.conversations.row(KEY)

        assert forgotten == [what]
        assert row is not None
        assert row.progress.is_learned
        assert await known(engine) == (["Sings in a choir"] if what == "fact" else [])


@on_each_database
@pytest.mark.parametrize("way", ["read", "handed over"])
@pytest.mark.parametrize("what", ["fact", "everything", "conversation"])
@pytest.mark.parametrize("point", HANDED)
async def test_a_fact_of_one_chunk_forgotten_while_the_next_is_learned_stays_forgotten(
    tmp_path: Path, kind: str, way: str, what: str, point: str
) -> None:
    """A conversation that takes two requests, the second of which contains the end of the first chunk.

    A host that hands it over is told that it was not learned to its end, and does so again.
    """
    points = Points()
    filler = "la " * (MAX_CHUNK_CHARACTERS // 5)
    texts = [filler, "I keep bees", ANSWER, f"{filler}. I sing in a choir while my bees buzz"]
    async with two(kind, tmp_path, points) as (engine, other):
        if way == "read":
            await talk(engine, *texts)

        async def learned() -> str:
            if way == "read":
                return await engine.consolidate(KEY, clear=False)
            try:
                await _learn(engine, KEY, [said(text, number) for number, text in enumerate(texts)])
            except LeaseLostError:
                return "skipped"
            return "learned"

        async def first_is_learned() -> None:
            points.at(point, lambda: forget(other, what))

        points.at("embedded", first_is_learned)

        assert [await learned() for _ in range(3)] == ["skipped", "learned", "learned"]
        assert await known(engine) == (["Sings in a choir"] if what == "fact" else [])
