"""Scenarios in which users chat while two engines on one database learn and clear, one step at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import unquote

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from sqlalchemy import func, select

from gaia_memory import MemoryPlugin, open_memory
from gaia_memory.adk.conversation import COMMAND_FAILED
from gaia_memory.adk.gaia import Gaia
from gaia_memory.adk.plugins.turn_notes import without_notes
from gaia_memory.adk.sessions.event_mapping import live_events
from gaia_memory.adk.sessions.stale_session import is_stale_error
from gaia_memory.facts.tables import facts, scopes, sources
from gaia_memory.models import Chunk, ExtractedFact, Scope, SessionKey, Vector
from gaia_memory.ports import AnswerCheck
from gaia_memory.sessions.clear import ClearMode
from gaia_memory.testing import ScriptedEmbedder, ScriptedLanguageModel, ScriptedLlm
from support.concurrency.deterministic_scheduler import (
    LEARNING_STEPS,
    Chooser,
    PausedActor,
    StepScheduler,
    claim_step,
    set_current_session,
)
from support.concurrency.interleaving_scenarios import FORGET_COMMAND, HOST_KINDS, Kind, Move, Scenario, is_cleared
from support.plugin_host import (
    contents_text,
    events_text,
    set_embedder,
    set_extractor,
    set_profile_model,
    user_content,
)

EMPTY_CONTENT = types.Content()
WORD_PATTERN = re.compile(r"\bw\d+x\b")
TIMEOUT_SECONDS = 60.0


@dataclass
class SentMessage:
    """A message, when it was sent and when it was answered; moments are counted in steps."""

    key: SessionKey
    sent: int
    answered: int | None = None


class SteppedExtractor:
    """Learns each word of the user and adds the number of the request: a word learned twice becomes two facts."""

    def __init__(self, stepper: StepScheduler) -> None:
        self.requests: list[tuple[int, Chunk]] = []
        self._stepper = stepper

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        self.requests.append((claim_step(), chunk))
        number = len(self.requests)
        await self._stepper.pause("extractor asked")
        said = [word for each in chunk.messages if each.role == "user" for word in WORD_PATTERN.findall(each.text)]
        await self._stepper.pause("extractor answered")
        return [ExtractedFact(text=f"User said {word}, as answer {number} has it") for word in said]


class SteppedEmbedder(ScriptedEmbedder):
    """Pauses after embedding."""

    def __init__(self, stepper: StepScheduler) -> None:
        super().__init__()
        self._stepper = stepper

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        vectors = await super().embed(texts, purpose=purpose)
        await self._stepper.pause("embedded")
        return vectors


@dataclass
class InterleavingHarness:
    """Two engines, as two processes have them, each with a Runner over every session service; one story at a time."""

    stepper: StepScheduler
    gaias: list[Gaia]
    agent: LlmAgent
    model: ScriptedLlm
    extractor: SteppedExtractor
    runners: dict[Kind, list[Runner]]
    overlaps: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a turn resumed after a step while learning was paused after one: (learning, turn)."""

    messages: dict[str, SentMessage] = field(default_factory=dict)
    forget_spans: list[tuple[int, int]] = field(default_factory=list)
    _count: int = 0
    _stories: int = 0
    _first_row: int = 0

    async def run(self, story: Scenario, choose: Chooser) -> None:
        """Run the story and check the outcome."""
        self._stories += 1
        self.messages, self.forget_spans = {}, []
        self._first_row = await self._last_row()
        self.extractor.requests.clear()
        self.model.requests.clear()
        key = self.key(story.kind, f"u{self._stories}")
        other = self.key(story.kind, f"v{self._stories}")
        for gaia in self.gaias:
            set_clear_mode(gaia, story.mode)
        await self._perform(story.kind, key, ("say", 0, ""))
        actors = {
            f"{at} {line[0][0]}": self._run_actor(story.kind, key, line) for at, line in enumerate(story.actor_moves)
        }
        if story.other_session_moves:
            actors["other say"] = self._run_actor(story.kind, other, story.other_session_moves)
        await self.stepper.run(self._recording_overlaps(choose), actors, seconds=TIMEOUT_SECONDS)
        if any(move[0] == "stray" for line in story.actor_moves for move in line):
            # An uncounted message is learned with the next one.
            await self._perform(story.kind, key, ("say", 0, ""))
        await self._finish({key, other})
        await self._check(story, {key, other})

    def key(self, kind: Kind, user: str) -> SessionKey:
        """Return the session of a user with a host of this kind."""
        return SessionKey("gaia" if kind == "ours" else kind, user, f"{user}:cli")

    def _recording_overlaps(self, choose: Chooser) -> Chooser:
        def noting(standing: list[PausedActor]) -> PausedActor:
            stop = choose(standing)
            for other in standing:
                if other.actor != stop.actor and other.key == stop.key and stop.actor.endswith("say"):
                    self.overlaps.update((step, stop.step) for step in LEARNING_STEPS if other.has_done(step))
            return stop

        return noting

    async def _run_actor(self, kind: Kind, key: SessionKey, line: Sequence[Move]) -> None:
        for move in line:
            set_current_session(key)
            await self.stepper.pause("sent" if move[0] == "say" else "wanted")
            await self._perform(kind, key, move)

    async def _perform(self, kind: Kind, key: SessionKey, move: Move) -> None:
        what, number, text = move
        now = self.stepper.step_count
        if what == "sweep":
            await self.gaias[number].sweep(force=True)
        elif what == "forget":
            await self.gaias[number].memory.forget(self._scope(key))
            self.forget_spans.append((now, self.stepper.step_count))
        elif text:
            reply = await self._send(kind, number, key, text)
            assert reply, f"no answer to {text}"
            assert COMMAND_FAILED not in reply
            if text == FORGET_COMMAND:
                self.forget_spans.append((now, self.stepper.step_count))
        else:
            self._count += 1
            word = f"w{self._count}x"
            said = self.messages[word] = SentMessage(key, now)
            if what == "stray":
                await self._append(kind, key, f"I say {word}")
            else:
                assert await self._send(kind, number, key, f"I say {word}") == f"re I say {word}"
            said.answered = self.stepper.step_count

    async def _append(self, kind: Kind, key: SessionKey, text: str) -> None:
        """Append a message like a host without memory does; it retries if the session refuses it."""
        service = self._service(kind, 1)
        its = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
        while True:
            session = await service.get_session(**its) or await service.create_session(**its)
            event = Event(invocation_id=Event.new_id(), author="user", content=user_content(text))
            try:
                await service.append_event(session, event)
                return
            except (SessionNotFoundError, ValueError) as error:
                if not is_stale_error(error):
                    raise

    def _service(self, kind: Kind, number: int) -> BaseSessionService:
        hosts = self.gaias if kind == "ours" else self.runners[kind]
        return hosts[number % len(hosts)].session_service

    async def _send(self, kind: Kind, number: int, key: SessionKey, text: str) -> str:
        if kind == "ours":
            talk = self.gaias[number].conversation(self.agent, user_id=key.user, channel="cli")
            return (await talk.send(text)).text
        runner = self.runners[kind][number % len(self.runners[kind])]
        try:
            turn = runner.run_async(user_id=key.user, session_id=key.session, new_message=user_content(text))
            return events_text([event async for event in turn])
        except AlreadyExistsError:
            # ADK's own error, before any hook: two Runners found no session, and the other one has created it.
            return await self._send(kind, number, key, text)

    def _scope(self, key: SessionKey) -> Scope:
        return Scope(key.app, key.user)

    async def _finish(self, keys: set[SessionKey]) -> None:
        """Sweep until nothing is left to learn or to clear; no message arrives any more."""
        for at in range(4):
            report = await self.gaias[at % 2].sweep(force=True)
            assert report.failed == 0, report
            rows = [await self.gaias[0]._engine.conversations.row(key) for key in keys]
            if all(row is None or row.progress.is_done for row in rows):
                return
        raise AssertionError(f"something waits: {rows}")

    async def _check(self, story: Scenario, keys: set[SessionKey]) -> None:
        """Each word is learned once, for the user who said it, unless forgotten; no model reads a word twice."""
        learned = await self._learned()
        for word, said in self.messages.items():
            found = [(user, session) for (each, user, session) in learned if each == word]
            assert found in ([], [(said.key.user, said.key.session)]), f"{word} of {said.key} is learned for {found}"
            assert bool(found) in self._allowed_outcomes(said), (
                f"{word} is {'known' if found else 'lost'}: {self.forget_spans}"
            )
        assert {word for word, _, _ in learned} <= set(self.messages)
        self._check_questions()
        for request in self.model.requests:
            # Once in the message, once in the answer.
            twice = [word for word, count in Counter(WORD_PATTERN.findall(contents_text(request))).items() if count > 2]
            assert not twice, f"told twice: {twice}"
        for key in keys:
            await self._check_session(story, key)

    def _allowed_outcomes(self, said: SentMessage) -> set[bool]:
        """Return the allowed outcomes for a word, True for known: both where forgetting and the turn overlapped."""
        assert said.answered is not None, f"no answer: {said}"
        mine = [moment for moment in self.forget_spans if said.key.user.startswith("u")]
        if any(said.answered <= began for began, _ in mine):
            return {False}
        return {True} if all(said.sent >= ended for _, ended in mine) else {True, False}

    def _check_questions(self) -> None:
        """No request contains text that was forgotten before the conversation was claimed."""
        for at, chunk in self.extractor.requests:
            shown = {word for each in (*chunk.messages, *chunk.before) for word in WORD_PATTERN.findall(each.text)}
            forgotten_words = [word for word in shown if self._was_forgotten(self.messages[word], at)]
            assert not forgotten_words, f"asked about {forgotten_words} at {at}, though {self.forget_spans}"

    def _was_forgotten(self, said: SentMessage, at: int) -> bool:
        forgot = self.forget_spans if said.key.user.startswith("u") else []
        return any(said.answered is not None and said.answered <= began and ended <= at for began, ended in forgot)

    async def _check_session(self, story: Scenario, key: SessionKey) -> None:
        session = await self._session(story.kind, key)
        said = [word for word, each in self.messages.items() if each.key == key]
        if session is None:
            assert story.mode in ("delete", "auto") or not said
            return
        there = Counter(word for text in _user_texts(session) for word in WORD_PATTERN.findall(text))
        live = [
            part.text for event in live_events(session.events) for part in (event.content or EMPTY_CONTENT).parts or []
        ]
        assert not [word for word, count in there.items() if count > 1], f"kept twice: {there}"
        if not is_cleared(story.kind, story.mode):
            assert set(there) == set(said), "something said is not kept"
        else:
            assert not WORD_PATTERN.findall(" ".join(text or "" for text in live)), f"learned and not cleared: {live}"

    async def _session(self, kind: Kind, key: SessionKey) -> Session | None:
        return await self._service(kind, 0).get_session(app_name=key.app, user_id=key.user, session_id=key.session)

    async def _last_row(self) -> int:
        async with self.gaias[0]._engine.database.read_transaction() as tx:
            return int((await tx.execute(select(func.coalesce(func.max(facts.c.row), 0)))).scalar_one())

    async def _learned(self) -> list[tuple[str, str, str]]:
        """Return each source of each fact of this story: the word, the user, the session."""
        columns = (facts.c.text, scopes.c.user_id, sources.c.session_id)
        statement = (
            select(*columns)
            .select_from(facts.join(scopes).join(sources, sources.c.fact_id == facts.c.id))
            .where(facts.c.row > self._first_row)
        )
        async with self.gaias[0]._engine.database.read_transaction() as tx:
            rows = (await tx.execute(statement)).all()
        return [(WORD_PATTERN.findall(text)[0], unquote(user), unquote(session)) for text, user, session in rows]


def set_clear_mode(gaia: Gaia, mode: ClearMode) -> None:
    """Change `sessions.clear` like an edit of the file would."""
    live = gaia._engine.live
    sessions = live.config.sessions.model_copy(update={"clear": mode})
    live._current = replace(live.current, config=live.config.model_copy(update={"sessions": sessions}))


def _user_texts(session: Session) -> list[str]:
    contents = [event.content for event in session.events if event.author == "user" and event.content]
    return [part.text for content in contents for part in content.parts or [] if part.text]


@asynccontextmanager
async def open_harness(
    folder: Path, stepper: StepScheduler, *, address: str | None = None
) -> AsyncIterator[InterleavingHarness]:
    """Open two engines on one database: a file unless an address is given."""
    memory = address or f"sqlite+aiosqlite:///{folder / 'memory.db'}"
    sessions = address or f"sqlite+aiosqlite:///{folder / 'sessions.db'}"

    async def answer(request: LlmRequest) -> str:
        await stepper.pause("model asked")
        return f"re {without_notes(request.contents[-1].parts[-1].text)}"

    model = ScriptedLlm(default=cast("Any", answer))
    agent = LlmAgent(name="root", model=model)
    extractor, memory_sessions = SteppedExtractor(stepper), InMemorySessionService()
    async with AsyncExitStack() as stack:
        gaias = []
        for name in ("first", "second"):
            source = {
                "home": str(folder / name),
                "memory": {"database_url": memory},
                "sessions": {"database_url": sessions, "coalesce_seconds": 0},
            }
            gaia = await stack.enter_async_context(open_memory(source, model=model))
            set_extractor(gaia._engine, extractor)
            set_embedder(gaia._engine, SteppedEmbedder(stepper))
            set_profile_model(gaia._engine, ScriptedLanguageModel(default="- Says words"))
            gaias.append(gaia)
        runners: dict[Kind, list[Runner]] = {kind: [] for kind in HOST_KINDS if kind != "ours"}
        for gaia in gaias:
            services: dict[Kind, BaseSessionService] = {
                "database": DatabaseSessionService(address or f"sqlite+aiosqlite:///{folder / 'host.db'}"),
                "sqlite": SqliteSessionService(str(folder / "sqlite.db")),
                "memory": memory_sessions,
            }
            stack.push_async_callback(cast("DatabaseSessionService", services["database"]).close)
            for kind, service in services.items():
                if kind == "memory" and gaia is not gaias[0]:
                    # Sessions in memory belong to one process.
                    continue
                app = App(name=kind, root_agent=agent, plugins=[MemoryPlugin(config=gaia._engine.loaded)])
                runner = Runner(app=app, session_service=service, auto_create_session=True)
                stack.push_async_callback(runner.close)
                runners[kind].append(runner)
        harness = InterleavingHarness(stepper, gaias, agent, model, extractor, runners)
        await _warm_up(harness)
        yield harness


async def _warm_up(harness: InterleavingHarness) -> None:
    """Import and open everything in both engines."""
    for kind in HOST_KINDS:
        for number in range(2):
            await harness._send(kind, number, harness.key(kind, "w"), "hello")
    for gaia in harness.gaias:
        await gaia.sweep(force=True)
