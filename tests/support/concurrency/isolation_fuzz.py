"""Many users of one memory, with ids that look alike, and a model of each user's statements.

Every fact contains a word that names its owner. A word of another owner in anything shown to a user is a leak,
whatever its source.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest

from gaia_memory import NewFact
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.models import Fact, Scope
from gaia_memory.testing import Answer, ScriptedLlm, call
from support.harness import ALL, facts
from support.oracles.adversarial_ids import APPS, CHANNELS, SCOPES, SESSIONS, can_hold_session
from support.storage.plain_mem0 import plain_mem0
from support.storage.scripted_mem0 import NO_DECISIONS, Mem0Script

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia

SECRET_PATTERN = re.compile(r"zq(\d+)k\w+?z\b")
SHARED_TEXT = "Everybody here drinks tea"
SHARED_FACTS = [NewFact(SHARED_TEXT, session_id="one"), NewFact(SHARED_TEXT, session_id="two")]
LOOK_UP_COMMAND = "look up the secret"
_ALL_RESULTS_LIMIT = 1_000

OPERATION_WEIGHTS = {
    "remember": 4, "add": 3, "recall": 4, "list": 4, "export": 2, "import": 1, "profile": 2, "status": 2, "contact": 1,
    "errors": 2, "forget_one": 2, "forget_conversation": 2, "forget_all": 1, "reach_for_others": 4, "reach_below": 3,
    "service": 3, "talk": 2, "command": 1, "sweep": 1, "usage": 2,
}  # fmt: skip
"""The operations with their relative frequencies."""


class LeakError(AssertionError):
    """Data of one user was shown to, or changed by, another."""


def owners_in(*shown: object) -> set[int]:
    """Return the owners of the words in a text."""
    return {
        int(owner) for each in shown for owner in SECRET_PATTERN.findall(each if isinstance(each, str) else repr(each))
    }


def secret_fact(owner: int) -> str:
    """Return the facts that every user has at the start and that others try to reach."""
    return f"The hidden treasure is zq{owner}ktreasurez"


class LeakDetectingScript(Mem0Script):
    """The extractor and the profiler: they repeat the text they are shown, and record prompts that mix two owners."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed_owners: list[set[int]] = []

    def answer(self, prompt: str) -> str:
        if len(owners_in(prompt)) > 1:
            self.mixed_owners.append(owners_in(prompt))
        if "<FACTS>" in prompt:
            return prompt.partition("<FACTS>\n")[2].partition("\n</FACTS>")[0]
        if "<NEW_FACTS>" in prompt:
            return NO_DECISIONS
        messages, _ = json.JSONDecoder().raw_decode(prompt.rpartition("## New Messages\n")[2])
        said = " ".join(each["content"] for each in messages if each["role"] == "user")
        return facts(*(f"The person has a boat that is called {found[0]}" for found in SECRET_PATTERN.finditer(said)))


class LeakDetectingLlm(ScriptedLlm):
    """The agent's model: it looks up the secret when asked, and records requests that mix two owners."""

    def __init__(self) -> None:
        super().__init__(default=self._answered)
        self._mixed_owners: list[set[int]] = []

    @property
    def mixed_owners(self) -> list[set[int]]:
        """The owners whose words were in one request."""
        return self._mixed_owners

    def _answered(self, request: LlmRequest) -> Answer:
        shown = ALL(request) + repr(request.contents)
        if len(owners_in(shown)) > 1:
            self._mixed_owners.append(owners_in(shown))
        last = (request.contents[-1].parts or [])[-1]
        if last.text and LOOK_UP_COMMAND in last.text:
            return call("load_memory", query="hidden treasure")
        return f"found {last.function_response.response}" if last.function_response else "ok"


@dataclass
class Person:
    """The expected state of a user: their facts, and the statements that may have been learned."""

    number: int
    facts: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, set[str]] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    tombstoned: set[str] = field(default_factory=set)
    sent_count: int = 0
    """Messages and commands since everything was forgotten."""

    profile_revision: int | None = None
    """The revision of the last profile."""

    @property
    def scope(self) -> Scope:
        """The scope of the user."""
        return SCOPES[self.number]


class CallCounter:
    """Wraps an object and counts its calls."""

    def __init__(self, part: Any, calls: Counter[str]) -> None:
        self._part = part
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if callable(found):
            self._calls[name] += 1
        return found


@dataclass
class FuzzWorker:
    """Acts for some of the users, one operation after the other; other workers may act at the same time."""

    gaia: Gaia
    agent: LlmAgent
    name: str
    seed: int
    own_secret_ids: Mapping[int, str]
    """The users of this worker, each with the id of their treasure."""

    all_secret_ids: Mapping[int, str]
    """The ids of all treasures."""

    done: Counter[str] = field(default_factory=Counter)
    """The number of runs of each operation."""

    calls: Counter[str] = field(default_factory=Counter)
    """The number of calls of each function of memory."""

    def __post_init__(self) -> None:
        self.memory = CallCounter(self.gaia.memory, self.calls)
        self.service = CallCounter(self.gaia.memory_service, self.calls)
        self.rng = random.Random(self.seed)
        self.people = [
            Person(number, {fact_id: secret_fact(number)}) for number, fact_id in self.own_secret_ids.items()
        ]
        for person in self.people:
            person.sessions["treasures"] = set(person.facts)
        self.learned: set[str] = set()
        self._count = 0

    async def run_operations(self, operations: int) -> None:
        """Run operations until memory was called that often, and check every result."""
        names = [name for name, weight in OPERATION_WEIGHTS.items() for _ in range(weight)]
        # The workers' seeds together begin with every operation.
        first = [*OPERATION_WEIGHTS][self.seed % 7 :: 7]
        while first or self.calls.total() < operations:
            person, name = self.rng.choice(self.people), first.pop() if first else self.rng.choice(names)
            try:
                await getattr(self, f"_{name}")(person)
            except LeakError as leak:
                raise LeakError(f"{name} of {person.number} {person.scope!r}: {leak}") from leak
            self.done[name] += 1

    async def check(self) -> None:
        """Compare the final state with the model."""
        for person in self.people:
            await self._list(person)

    def _new_secret(self, person: Person) -> str:
        self._count += 1
        return f"zq{person.number}k{self.name}n{self._count}z"

    def _check_only_own(self, person: Person, *shown: object) -> None:
        foreign = owners_in(*shown) - {person.number}
        if foreign:
            raise LeakError(f"shows what belongs to {foreign}: {str(shown)[:300]}")

    def _check_same_facts(self, person: Person, found: Mapping[str, str]) -> None:
        self._check_only_own(person, *found.values())
        missing = person.facts.keys() - found.keys()
        more = {text for fact_id, text in found.items() if fact_id not in person.facts}
        unsaid = [text for text in more if text != SHARED_TEXT and not any(word in text for word in person.said)]
        self.learned |= more - set(unsaid)
        if missing or unsaid:
            raise LeakError(f"lacks {[person.facts[each] for each in missing]}, has {unsaid} besides")

    def _record_kept(self, person: Person, kept: Fact, *, session: str | None = None) -> None:
        if kept.scope != person.scope:
            raise LeakError(f"is kept for {kept.scope!r}")
        self._check_only_own(person, kept.text)
        person.facts[kept.id] = kept.text
        if session is not None:
            person.sessions.setdefault(session, set()).add(kept.id)

    def _victim(self, person: Person) -> int:
        return self.rng.choice([number for number in self.all_secret_ids if number != person.number])

    async def _remember(self, person: Person) -> None:
        kept = await self.memory.remember(person.scope, f"My hidden word is {self._new_secret(person)}")
        self._record_kept(person, kept)
        for kept in await self.memory.add(person.scope, SHARED_FACTS):
            self._record_kept(person, kept)

    async def _add(self, person: Person) -> None:
        session = self.rng.choice(SESSIONS)
        secrets = [f"The hidden number {at} is {self._new_secret(person)}" for at in range(2)]
        given = [NewFact(text, session_id=session, seq=at) for at, text in enumerate(secrets)]
        for kept in await self.memory.add(person.scope, given):
            self._record_kept(person, kept, session=session)

    async def _recall(self, person: Person) -> None:
        victim = self._victim(person)
        for query in ("hidden treasure", secret_fact(victim), f"zq{victim}ktreasurez", SHARED_TEXT):
            hits = await self.memory.recall(person.scope, query, limit=50)
            self._check_own_facts(person, [hit.fact for hit in hits])
        for filters in ({"id": self.all_secret_ids[victim]}, {"source": "*"}):
            hits = await self.memory.recall(person.scope, SHARED_TEXT, limit=50, filters=filters)
            page = await self.memory.browse(person.scope, filters=filters)
            self._check_own_facts(person, [*(hit.fact for hit in hits), *page.facts])
        wanted = self.rng.choice(list(person.facts.values()) or [""])
        hits = await self.memory.recall(person.scope, wanted, limit=50)
        if wanted and wanted not in [hit.fact.text for hit in hits]:
            raise LeakError(f"does not find {wanted!r} among {len(person.facts)}")

    def _check_own_facts(self, person: Person, found: list[Fact]) -> None:
        self._check_only_own(person, found)
        foreign = [fact.id for fact in found if fact.scope != person.scope or not self._is_of(person, fact)]
        if foreign:
            raise LeakError(f"finds {foreign}")

    def _is_of(self, person: Person, fact: Fact) -> bool:
        return fact.id in person.facts or fact.text == SHARED_TEXT or any(word in fact.text for word in person.said)

    async def _list(self, person: Person) -> None:
        listed = await self.memory.facts(person.scope)
        self._check_own_facts(person, listed)
        self._check_same_facts(person, {fact.id: fact.text for fact in listed})
        counted = await self.memory.count(person.scope)
        if not len(listed) <= counted <= len(person.facts) + len(person.said) + 1:
            raise LeakError(f"counts {counted} of {len(listed)}")

    async def _export(self, person: Person) -> None:
        data = await self.memory.export(person.scope)
        self._check_same_facts(person, {fact["id"]: fact["text"] for fact in data["facts"]})
        self._check_only_own(person, json.dumps(data))

    async def _import(self, person: Person) -> None:
        await self.memory.import_(person.scope, await self.memory.export(person.scope))
        await self._list(person)

    async def _profile(self, person: Person) -> None:
        told = await self.memory.profile(person.scope)
        self._check_only_own(person, told)
        person.profile_revision = told.revision if told.bullets else None
        if person.facts and not told.bullets:
            raise LeakError(f"tells nothing of {len(person.facts)} facts")

    async def _status(self, person: Person) -> None:
        status = await self.memory.status(person.scope)
        self._check_only_own(person, status)
        app, user = person.scope.app, person.scope.user
        foreign = [each.key for each in status.pending if each.key.user != user or app not in (None, each.key.app)]
        if foreign or not len(person.facts) <= status.facts <= len(person.facts) + len(person.said) + 1:
            raise LeakError(f"counts {status.facts} facts, and shows {foreign}")

    async def _usage(self, person: Person) -> None:
        digest = await self.memory.usage(person.scope)
        if digest.turns + sum(digest.commands.values()) > person.sent_count:
            raise LeakError(f"counts {digest} of {person.sent_count} messages")

    async def _contact(self, person: Person) -> None:
        number = f"+9725{person.number:08d}"
        kept = await self.memory.remember(person.scope, f"Grace can be called at {number}")
        self._record_kept(person, kept)
        found = await self.memory.resolve_contact(person.scope, "grace")
        if found.candidates != (number,):
            raise LeakError(f"calls {found.candidates} instead of {number}")

    async def _errors(self, person: Person) -> None:
        memory, victim = self.memory, self.all_secret_ids[self._victim(person)]
        for wrong in (
            memory.remember(person.scope, " "),
            memory.remember(person.scope, "sk-ant-api03-7hG5fR3eW1qAz9Xs"),
            memory.recall(person.scope, "secret", limit=0),
            memory.forget(person.scope, fact_id=victim, session_id="s"),
            memory.import_(person.scope, {"facts": [{"id": victim}]}),
        ):
            try:
                await wrong
            except GaiaMemoryError as error:
                self._check_only_own(person, str(error))
            else:
                raise LeakError("is no error")

    async def _forget_one(self, person: Person) -> None:
        if not person.facts:
            return
        fact_id = self.rng.choice(sorted(person.facts))
        receipt = await self.memory.forget(person.scope, fact_id=fact_id)
        self._check_only_own(person, receipt)
        if receipt.count != 1:
            raise LeakError(f"forgets {receipt.count} of 1")
        text = person.facts.pop(fact_id)
        if SECRET_PATTERN.search(text):
            person.tombstoned.add(text)
        await self._list(person)

    async def _forget_conversation(self, person: Person) -> None:
        session = self.rng.choice(SESSIONS)
        gone = person.sessions.pop(session, set()) & person.facts.keys()
        receipt = await self.memory.forget(person.scope, session_id=session)
        if receipt.count != len(gone):
            raise LeakError(f"forgets {receipt.count} of {len(gone)}")
        for fact_id in gone:
            del person.facts[fact_id]
        await self._list(person)

    async def _forget_all(self, person: Person) -> None:
        await self.memory.forget(person.scope)
        person.facts.clear()
        person.sessions.clear()
        person.said.clear()
        person.tombstoned.clear()
        person.sent_count = 0
        await self._list(person)

    async def _reach_for_others(self, person: Person) -> None:
        fact_id = self.all_secret_ids[self._victim(person)]
        receipt = await self.memory.forget(person.scope, fact_id=fact_id)
        if receipt.count:
            raise LeakError(f"forgets {receipt.count} of somebody else's")
        await self._list(person)

    async def _reach_below(self, person: Person) -> None:
        """Try to reach other users' facts through the ports, where no check precedes the statement."""
        memory, victim = self.memory, self._victim(person)
        store, scope = CallCounter(memory.stores.facts, self.calls), person.scope
        foreign = [self.all_secret_ids[victim]]
        nobody = Scope(person.scope.app, f"nobody {person.number}")
        async with memory.stores.database.transaction() as tx:
            reached = [
                await store.provenance.sourced_only_from(tx, nobody, "treasures"),
                await store.provenance.drop_source(tx, nobody, "one"),
                await store.get(tx, scope, foreign),
                await store.provenance.sources(tx, scope, foreign),
                sum((await store.delete(tx, scope, foreign)).values()),
            ]
            await store.tombstones.add_tombstones(tx, scope, foreign, said_until=0.0)
            reached += [await store.tombstones.have_tombstones(tx, scope, [secret_fact(victim)]) != [False]]
            origins = await store.provenance.origins(tx, scope)
            ids = [each.id for each in await store.indexed_facts(tx, scope)]
            vectors, _ = await store.vectors(tx, scope, memory.embedder.identity)
            mine = await store.get(tx, scope, {*origins, *ids, *vectors})
            reached += [({*origins, *ids, *vectors} - mine.keys())]
            profile = await store.cached_profile(tx, scope)
            is_unchanged = (await store.state(tx, scope)).revision == person.profile_revision
            reached.append(not all(await store.tombstones.have_tombstones(tx, scope, sorted(person.tombstoned))))
        self._check_only_own(person, profile)
        if is_unchanged and profile is None:
            raise LeakError("has lost the profile that was made of what is still known")
        self._check_own_facts(person, list(mine.values()))
        if any(reached):
            raise LeakError(f"reaches {reached}")

    async def _service(self, person: Person) -> None:
        app, user = person.scope.app, person.scope.user
        if app is None:
            return
        service, fact_id = self.service, self.all_secret_ids[self._victim(person)]
        found = await service.search_memory(app_name=app, user_id=user, query="hidden treasure")
        listed = await service.list_memories(app_name=app, user_id=user)
        await service.delete_memory(app_name=app, user_id=user, memory_id=fact_id)
        self._check_only_own(person, found, listed)
        self._check_same_facts(person, {str(entry.id): str((entry.content.parts or [])[0].text) for entry in listed})

    async def _talk(self, person: Person) -> None:
        if not can_hold_session(person.scope):
            return
        said = self._new_secret(person)
        asks = self.rng.random() < 0.5
        person.said.add(said)
        reply = await self._send(person, f"I tell you: {said}. {LOOK_UP_COMMAND if asks else ''}")
        self._check_only_own(person, reply)
        for app in {*APPS} - {None, person.scope.app}:
            status = await self.memory.status(Scope(app, person.scope.user))
            if status.pending:
                raise LeakError(f"shows the talk of one app in {app!r}: {status.pending}")

    async def _command(self, person: Person) -> None:
        if can_hold_session(person.scope):
            self._check_only_own(person, await self._send(person, "/memory"))
            word = self._new_secret(person)
            self._check_only_own(person, await self._send(person, f"/remember My hidden word is {word}"))
            person.said.add(word)

    async def _send(self, person: Person, text: str) -> str:
        person.sent_count += 1
        channel = self.rng.choice(CHANNELS)
        talk = self.gaia.conversation(self.agent, user_id=person.scope.user, channel=channel)
        return str((await CallCounter(talk, self.calls).send(text)).text)

    async def _sweep(self, person: Person) -> None:
        await CallCounter(self.gaia, self.calls).sweep(force=True)
        await self._list(person)


async def check_plain_mem0(gaia: Gaia) -> None:
    """Check that mem0 over the store finds each user's facts and no other user's."""
    await gaia.memory.settled()
    config = gaia.mem0_config()
    with plain_mem0(config) as mem0:
        for number, scope in enumerate(SCOPES):
            mine = {"user_id": scope.mem0_user_id}
            listed = await asyncio.to_thread(mem0.get_all, filters=mine, top_k=_ALL_RESULTS_LIMIT)
            found = await asyncio.to_thread(mem0.search, "hidden treasure", filters=mine, top_k=50)
            foreign = owners_in(listed, found) - {number}
            there = {row["id"] for row in listed["results"]}
            expected = {fact.id for fact in await gaia.memory.facts(scope)}
            if foreign or there != expected:
                raise LeakError(f"mem0 shows {number} {scope!r} facts of {foreign}, {len(there ^ expected)} differ")
