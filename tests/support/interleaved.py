"""Stories in which people talk while two engines on one database learn from them and clear, one step at a time."""

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
from gaia_memory.adk.sessions.event_mapping import live_events
from gaia_memory.adk.sessions.stale_session import is_refusal
from gaia_memory.facts.tables import facts, scopes, sources
from gaia_memory.models import Chunk, Extracted, Scope, SessionKey, Vector
from gaia_memory.sessions.clearing.clear import ClearMode
from gaia_memory.testing import ScriptedEmbedder, ScriptedLanguageModel, ScriptedLlm
from support.interleavings import FORGET, KINDS, Kind, Move, Story
from support.stepping import LEARNING, Choose, Stepper, Stop, claimed_at, talks_in
from support.turns import message, profile_with, text_of, words_of

NO_TEXT = types.Content()
WORD = re.compile(r"\bw\d+x\b")
SECONDS = 60.0


@dataclass
class Said:
    """A message, when it was sent and when it was answered; moments are counted in steps."""

    key: SessionKey
    sent: int
    answered: int | None = None


class Learns:
    """Learns each word of the person, told apart by the question it answers: what is learned twice is two facts."""

    def __init__(self, stepper: Stepper) -> None:
        self.asked: list[tuple[int, Chunk]] = []
        self._stepper = stepper

    async def extract(self, chunk: Chunk, *, instructions: str) -> list[Extracted]:
        self.asked.append((claimed_at(), chunk))
        number = len(self.asked)
        await self._stepper.stand("extractor asked")
        said = [word for each in chunk.messages if each.role == "user" for word in WORD.findall(each.text)]
        await self._stepper.stand("extractor answered")
        return [Extracted(text=f"User said {word}, as answer {number} has it") for word in said]


class Embeds(ScriptedEmbedder):
    """Stops when it has embedded."""

    def __init__(self, stepper: Stepper) -> None:
        super().__init__()
        self._stepper = stepper

    async def embed(self, texts: Sequence[str], *, purpose: Literal["add", "search"]) -> list[Vector]:
        vectors = await super().embed(texts, purpose=purpose)
        await self._stepper.stand("embedded")
        return vectors


@dataclass
class Stage:
    """Two engines as two processes are, each with a Runner over every kind of sessions; one story at a time."""

    stepper: Stepper
    gaias: list[Gaia]
    agent: LlmAgent
    model: ScriptedLlm
    learns: Learns
    runners: dict[Kind, list[Runner]]
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a person's turn went on behind a step while learning stood behind one: (learning, turn)."""

    said: dict[str, Said] = field(default_factory=dict)
    forgot: list[tuple[int, int]] = field(default_factory=list)
    _count: int = 0
    _stories: int = 0
    _first_row: int = 0

    async def play(self, story: Story, choose: Choose) -> None:
        """Let the story happen and check what is left of it."""
        self._stories += 1
        self.said, self.forgot = {}, []
        self._first_row = await self._last_row()
        self.learns.asked.clear()
        self.model.requests.clear()
        key = self.key(story.kind, f"u{self._stories}")
        other = self.key(story.kind, f"v{self._stories}")
        for gaia in self.gaias:
            clear_by(gaia, story.mode)
        await self._move(story.kind, key, ("say", 0, ""))
        actors = {f"{at} {line[0][0]}": self._act(story.kind, key, line) for at, line in enumerate(story.lines)}
        if story.others:
            actors["other say"] = self._act(story.kind, other, story.others)
        await self.stepper.play(self._noting(choose), actors, seconds=SECONDS)
        if any(move[0] == "stray" for line in story.lines for move in line):
            # What nobody has counted is learned with what comes next.
            await self._move(story.kind, key, ("say", 0, ""))
        await self._finish({key, other})
        await self._check(story, {key, other})

    def key(self, kind: Kind, user: str) -> SessionKey:
        """Return the session of a person with a host of this kind."""
        return SessionKey("gaia" if kind == "ours" else kind, user, f"{user}:cli")

    def _noting(self, choose: Choose) -> Choose:
        def noting(standing: list[Stop]) -> Stop:
            stop = choose(standing)
            for other in standing:
                if other.actor != stop.actor and other.key == stop.key and stop.actor.endswith("say"):
                    self.met.update((step, stop.step) for step in LEARNING if other.is_behind(step))
            return stop

        return noting

    async def _act(self, kind: Kind, key: SessionKey, line: Sequence[Move]) -> None:
        for move in line:
            talks_in(key)
            await self.stepper.stand("sent" if move[0] == "say" else "wanted")
            await self._move(kind, key, move)

    async def _move(self, kind: Kind, key: SessionKey, move: Move) -> None:
        what, number, text = move
        now = self.stepper.moment
        if what == "sweep":
            await self.gaias[number].sweep(force=True)
        elif what == "forget":
            await self.gaias[number].memory.forget(self._scope(key))
            self.forgot.append((now, self.stepper.moment))
        elif text:
            reply = await self._say(kind, number, key, text)
            assert reply, f"no answer to {text}"
            assert COMMAND_FAILED not in reply
            if text == FORGET:
                self.forgot.append((now, self.stepper.moment))
        else:
            self._count += 1
            word = f"w{self._count}x"
            said = self.said[word] = Said(key, now)
            if what == "stray":
                await self._append(kind, key, f"I say {word}")
            else:
                assert await self._say(kind, number, key, f"I say {word}") == f"re I say {word}"
            said.answered = self.stepper.moment

    async def _append(self, kind: Kind, key: SessionKey, text: str) -> None:
        """Keep a message in the session as a host without memory does, which begins again where that is refused."""
        service = self._service(kind, 1)
        its = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
        while True:
            session = await service.get_session(**its) or await service.create_session(**its)
            event = Event(invocation_id=Event.new_id(), author="user", content=message(text))
            try:
                await service.append_event(session, event)
                return
            except (SessionNotFoundError, ValueError) as error:
                if not is_refusal(error):
                    raise

    def _service(self, kind: Kind, number: int) -> BaseSessionService:
        hosts = self.gaias if kind == "ours" else self.runners[kind]
        return hosts[number % len(hosts)].session_service

    async def _say(self, kind: Kind, number: int, key: SessionKey, text: str) -> str:
        if kind == "ours":
            talk = self.gaias[number].conversation(self.agent, user_id=key.user, channel="cli")
            return (await talk.send(text)).text
        runner = self.runners[kind][number % len(self.runners[kind])]
        try:
            turn = runner.run_async(user_id=key.user, session_id=key.session, new_message=message(text))
            return text_of([event async for event in turn])
        except AlreadyExistsError:
            # ADK's own, before any hook: two Runners found no session, and the other one has made it.
            return await self._say(kind, number, key, text)

    def _scope(self, key: SessionKey) -> Scope:
        return Scope(key.app, key.user)

    async def _finish(self, keys: set[SessionKey]) -> None:
        """Sweep until nothing is left to learn or to clear; nobody talks any more."""
        for at in range(4):
            report = await self.gaias[at % 2].sweep(force=True)
            assert report.failed == 0, report
            rows = [await self.gaias[0]._engine.marks.row(key) for key in keys]
            if all(row is None or row.is_done for row in rows):
                return
        raise AssertionError(f"something waits: {rows}")

    async def _check(self, story: Story, keys: set[SessionKey]) -> None:
        """Each word is learned once, under who said it, unless it was forgotten; and nobody was told twice."""
        learned = await self._learned()
        for word, said in self.said.items():
            found = [(user, session) for (each, user, session) in learned if each == word]
            assert found in ([], [(said.key.user, said.key.session)]), f"{word} of {said.key} is learned for {found}"
            assert bool(found) in self._may_be_known(said), f"{word} is {'known' if found else 'lost'}: {self.forgot}"
        assert {word for word, _, _ in learned} <= set(self.said)
        self._check_questions()
        for request in self.model.requests:
            # Once said, once answered.
            twice = [word for word, count in Counter(WORD.findall(words_of(request))).items() if count > 2]
            assert not twice, f"told twice: {twice}"
        for key in keys:
            await self._check_session(story, key)

    def _may_be_known(self, said: Said) -> set[bool]:
        """Return whether a word is known in the end: either is right where forgetting and the turn overlapped."""
        assert said.answered is not None, f"no answer: {said}"
        mine = [moment for moment in self.forgot if said.key.user.startswith("u")]
        if any(said.answered <= began for began, _ in mine):
            return {False}
        return {True} if all(said.sent >= ended for _, ended in mine) else {True, False}

    def _check_questions(self) -> None:
        """No question is asked about what was forgotten before the conversation was claimed."""
        for at, chunk in self.learns.asked:
            shown = {word for each in (*chunk.messages, *chunk.before) for word in WORD.findall(each.text)}
            gone = [word for word in shown if self._was_forgotten(self.said[word], at)]
            assert not gone, f"asked about {gone} at {at}, though {self.forgot}"

    def _was_forgotten(self, said: Said, at: int) -> bool:
        forgot = self.forgot if said.key.user.startswith("u") else []
        return any(said.answered is not None and said.answered <= began and ended <= at for began, ended in forgot)

    async def _check_session(self, story: Story, key: SessionKey) -> None:
        session = await self._session(story.kind, key)
        said = [word for word, each in self.said.items() if each.key == key]
        if session is None:
            assert story.mode in ("delete", "auto") or not said
            return
        there = Counter(word for text in _user_texts(session) for word in WORD.findall(text))
        live = [part.text for event in live_events(session.events) for part in (event.content or NO_TEXT).parts or []]
        assert not [word for word, count in there.items() if count > 1], f"kept twice: {there}"
        if story.mode == "keep":
            assert set(there) == set(said), "something said is not kept"
        else:
            assert not WORD.findall(" ".join(text or "" for text in live)), f"learned and not cleared: {live}"

    async def _session(self, kind: Kind, key: SessionKey) -> Session | None:
        return await self._service(kind, 0).get_session(app_name=key.app, user_id=key.user, session_id=key.session)

    async def _last_row(self) -> int:
        async with self.gaias[0].memory.database.reading() as tx:
            return int((await tx.execute(select(func.coalesce(func.max(facts.c.row), 0)))).scalar_one())

    async def _learned(self) -> list[tuple[str, str, str]]:
        """Return each source of each fact of this story: the word, the person, the session."""
        columns = (facts.c.text, scopes.c.user_id, sources.c.session_id)
        statement = select(*columns).select_from(facts.join(scopes).join(sources)).where(facts.c.row > self._first_row)
        async with self.gaias[0].memory.database.reading() as tx:
            rows = (await tx.execute(statement)).all()
        return [(WORD.findall(text)[0], unquote(user), unquote(session)) for text, user, session in rows]


def clear_by(gaia: Gaia, mode: ClearMode) -> None:
    """Change `sessions.clear` as an edit of the file would."""
    live = gaia._engine.live
    sessions = live.config.sessions.model_copy(update={"clear": mode})
    live._current = replace(live.current, config=live.config.model_copy(update={"sessions": sessions}))


def _user_texts(session: Session) -> list[str]:
    contents = [event.content for event in session.events if event.author == "user" and event.content]
    return [part.text for content in contents for part in content.parts or [] if part.text]


@asynccontextmanager
async def stage(folder: Path, stepper: Stepper, *, address: str | None = None) -> AsyncIterator[Stage]:
    """Open two engines on one database, a file unless an address is given."""
    memory = address or f"sqlite+aiosqlite:///{folder / 'memory.db'}"
    sessions = address or f"sqlite+aiosqlite:///{folder / 'sessions.db'}"

    async def answer(request: LlmRequest) -> str:
        await stepper.stand("model asked")
        return f"re {request.contents[-1].parts[-1].text}"

    model = ScriptedLlm(default=cast("Any", answer))
    agent = LlmAgent(name="root", model=model)
    learns, held = Learns(stepper), InMemorySessionService()
    async with AsyncExitStack() as stack:
        gaias = []
        for name in ("first", "second"):
            source = {
                "home": str(folder / name),
                "memory": {"database_url": memory},
                "sessions": {"database_url": sessions, "coalesce_seconds": 0},
            }
            gaia = await stack.enter_async_context(open_memory(source, model=model))
            learner = gaia._engine.consolidator.learner
            learner._extractor, learner._embedder = learns, Embeds(stepper)
            profile_with(gaia._engine, ScriptedLanguageModel(default="- Says words"))
            gaias.append(gaia)
        runners: dict[Kind, list[Runner]] = {kind: [] for kind in KINDS if kind != "ours"}
        for gaia in gaias:
            services: dict[Kind, BaseSessionService] = {
                "database": DatabaseSessionService(address or f"sqlite+aiosqlite:///{folder / 'host.db'}"),
                "sqlite": SqliteSessionService(str(folder / "sqlite.db")),
                "memory": held,
            }
            stack.push_async_callback(cast("DatabaseSessionService", services["database"]).close)
            for kind, service in services.items():
                if kind == "memory" and gaia is not gaias[0]:
                    # Sessions in memory are in one process.
                    continue
                app = App(name=kind, root_agent=agent, plugins=[MemoryPlugin(config=gaia._engine.loaded)])
                runner = Runner(app=app, session_service=service, auto_create_session=True)
                stack.push_async_callback(runner.close)
                runners[kind].append(runner)
        made = Stage(stepper, gaias, agent, model, learns, runners)
        await _warm_up(made)
        yield made


async def _warm_up(made: Stage) -> None:
    """Let everything be imported, opened and known to both engines."""
    for kind in KINDS:
        for number in range(2):
            await made._say(kind, number, made.key(kind, "w"), "hello")
    for gaia in made.gaias:
        await gaia.sweep(force=True)
