"""What a model's tools did to memory is listed, and `/undo` takes it back."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import Scope, open_memory, restore
from gaia_memory.adk.conversation import Conversation
from gaia_memory.adk.gaia import Gaia
from gaia_memory.testing import FakeClock, ScriptedLlm, call
from support.storage.residual_data import SearchTerms, find_residual_data

NUTS, OSLO, MOSCOW = "Is allergic to zanzibarian nuts", "Lives in Oslo", "Lives in Moscow"


class TickingClock(FakeClock):
    """A clock of which no two looks are at the same moment."""

    def now(self) -> datetime:
        """Return the time, a millisecond later than the last one."""
        self.advance(timedelta(milliseconds=1))
        return super().now()


class Chat:
    """A conversation with a scripted model, in a home that can be opened again."""

    def __init__(self, home: Path, **memory: Any) -> None:
        """Open nothing yet."""
        self.clock, self.model = TickingClock(), ScriptedLlm(default="ok")
        providers: Any = {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}
        sessions = {"coalesce_seconds": 0}
        self.config: Any = {"home": str(home), "memory": {**providers, **memory}, "sessions": sessions}

    def open(self) -> Any:
        """Return what opens memory."""
        return open_memory(self.config, model=self.model, clock=self.clock)

    def talk(self, gaia: Gaia) -> Conversation:
        """Return the conversation."""
        return gaia.conversation(LlmAgent(name="helper", model=self.model), user_id="ada", channel="cli")

    async def use(self, gaia: Gaia, text: str, *calls: Any) -> list[dict[str, Any]]:
        """Run a turn in which the model calls tools; return what they changed."""
        self.model.add(*calls, "done")
        return [dict(each) for each in (await self.talk(gaia).send(text)).changes]


async def rows_of(gaia: Gaia, scope: Scope, fact_id: str) -> Any:
    """Return all that memory tells about a fact."""
    memory = gaia.memory
    exported = await memory.export(scope)
    return await memory.facts(scope), await memory.history(scope, fact_id), exported["facts"], exported["history"]


async def test_what_a_tool_forgot_is_nowhere_and_comes_back_as_it_was_after_a_restart(tmp_path: Path) -> None:
    """Its id, times, sources and history; recall finds it again, and the conversation may be cleared meanwhile."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        scope = gaia.scope(user_id="ada")
        fact = await gaia.memory.remember(scope, "Likes nuts", metadata={"from": "a letter"}, category="food")
        fact = await gaia.memory.update(scope, fact.id, text=NUTS)
        before = await rows_of(gaia, scope, fact.id)
        changes = await chat.use(
            gaia, "Tell me about nuts", call("recall", query=NUTS), call("forget_memory", id=fact.id)
        )
        withdrawn = await rows_of(gaia, scope, fact.id)
        found = await gaia.memory.recall(scope, "zanzibarian nuts")
        await gaia.sweep(force=True)
    async with chat.open() as gaia:
        answer = (await chat.talk(gaia).send("/undo")).text
        after = await rows_of(gaia, scope, fact.id)
        [hit] = await gaia.memory.recall(scope, "zanzibarian nuts")
        again = (await chat.talk(gaia).send("/undo")).text
        relearned = await gaia.memory.has_forgotten(scope, [NUTS])

    assert changes == [{"action": "forgot", "id": fact.id, "before": NUTS, "after": None}]
    assert (withdrawn, found) == (([], [], [], []), [])
    assert "zanzibarian" in answer
    assert (after, hit.fact, relearned) == (before, fact, False)
    assert "nothing to take back" in again


async def test_a_change_and_a_new_fact_are_taken_back_turn_by_turn(tmp_path: Path) -> None:
    """What replaced a fact is forgotten, and the fact is current again."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        scope = gaia.scope(user_id="ada")
        oslo = await gaia.memory.remember(scope, OSLO)
        new = await chat.use(gaia, "Remember that I like figs", call("remember", fact="Likes figs"))
        changed = await chat.use(
            gaia,
            "What is the weather in Oslo?",
            call("recall", query=OSLO),
            call("update_memory", id=oslo.id, fact=MOSCOW, category="home"),
        )
        details = await chat.use(gaia, "Is it in Moscow?", call("update_memory", id=oslo.id, category="flat"))
        answers = [(await chat.talk(gaia).send("/undo")).text for _ in range(4)]
        left = await gaia.memory.facts(scope)
        forgotten = await gaia.memory.has_forgotten(scope, ["Likes figs"])

    assert [(each["action"], each["before"], each["after"]) for each in (*new, *changed, *details)] == [
        ("remembered", None, "Likes figs"),
        ("changed", OSLO, MOSCOW),
        ("changed", MOSCOW, MOSCOW),
    ]
    assert [part in answer for part, answer in zip((MOSCOW, OSLO, "figs", "nothing"), answers, strict=True)] == [
        True
    ] * 4
    assert ([(each.id, each.text, each.category) for each in left], forgotten) == ([(oslo.id, OSLO, None)], True)


async def test_a_key_that_a_tool_gave_is_taken_back_with_what_it_ended(tmp_path: Path) -> None:
    """The fact loses the key, in the same words or in others, and the one that had it is current again."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        scope = gaia.scope(user_id="ada")
        await gaia.memory.remember(scope, OSLO, key="user/home")
        other = await gaia.memory.remember(scope, "Mentioned Rome")
        before = {(each.id, each.text, each.key) for each in await gaia.memory.facts(scope)}
        for given in ({}, {"fact": "Lives in Rome"}):
            use = call("update_memory", id=other.id, key="user/home", **given)
            await chat.use(gaia, "I live in Rome", call("recall", query="Rome"), use)
            changed = await gaia.memory.facts(scope)
            await chat.talk(gaia).send("/undo")
            left = {(each.id, each.text, each.key) for each in await gaia.memory.facts(scope)}

            assert [(each.id, each.key) for each in changed] == [(other.id, "user/home")]
            assert left == before


async def test_a_turn_lists_the_net_effect_and_its_answer_says_so_without_forgotten_text(tmp_path: Path) -> None:
    """One entry for each fact; none for what was remembered and forgotten, known already or not changed."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        scope = gaia.scope(user_id="ada")
        oslo, nuts = await gaia.memory.remember(scope, OSLO), await gaia.memory.remember(scope, NUTS)
        changes = await chat.use(
            gaia,
            "Oslo, Rome, nuts and figs: remember figs",
            call("recall", query="Oslo nuts"),
            call("update_memory", id=oslo.id, fact="Lives in Rome"),
            call("update_memory", id=oslo.id, fact=MOSCOW),
            call("remember", fact=MOSCOW),
            call("update_memory", id=nuts.id, fact="Likes zanzibarian nuts"),
            call("forget_memory", id=nuts.id),
        )
        key = chat.talk(gaia).key
        session = await gaia.session_service.get_session(app_name=key.app, user_id=key.user, session_id=key.session)
        await chat.talk(gaia).send("/undo")
        left = {each.text for each in await gaia.memory.facts(scope)}

    assert changes == [
        {"action": "changed", "id": oslo.id, "before": OSLO, "after": MOSCOW},
        {"action": "forgot", "id": nuts.id, "before": NUTS, "after": None},
    ]
    assert session is not None
    assert (session.events[-1].custom_metadata or {})["gaia:changes"] == [
        {"action": "changed", "id": oslo.id, "after": MOSCOW},
        {"action": "forgot", "id": nuts.id},
    ]
    assert left == {OSLO, NUTS}


async def test_after_undo_seconds_it_is_erased_and_too_late(tmp_path: Path) -> None:
    """By the next process if this one is gone; a backup in between never contains it."""
    chat, home = Chat(tmp_path / "home", undo_seconds=60), tmp_path / "home"
    async with chat.open() as gaia:
        fact = await gaia.memory.remember(gaia.scope(user_id="ada"), NUTS)
        await chat.use(gaia, "About nuts", call("recall", query=NUTS), call("forget_memory", id=fact.id))
        await gaia.memory.backup(tmp_path / "copy.gaia")
    chat.clock.advance(timedelta(seconds=61))
    async with chat.open() as gaia:
        await gaia.memory.settled()
        answer = (await chat.talk(gaia).send("/undo")).text
        left = await gaia.memory.facts(gaia.scope(user_id="ada"))
    terms = SearchTerms(["zanzibarian"], excluded_prefixes=["sessions"])
    restored = tmp_path / "restored"
    await asyncio.to_thread(restore, tmp_path / "copy.gaia", home=restored)

    assert ("erased already" in answer, left) == (True, [])
    assert await find_residual_data(home, terms) == []
    assert await find_residual_data(restored, terms) == []


async def test_the_persons_own_forget_erases_what_a_tool_has_withdrawn(tmp_path: Path) -> None:
    """All, by a word or by its id: at once, and then there is nothing to take back."""
    answers, found = [], []
    for number, command in enumerate(("/forget", "/forget zanzibarian", "/forget #{id}")):
        chat = Chat(tmp_path / str(number))
        async with chat.open() as gaia:
            fact = await gaia.memory.remember(gaia.scope(user_id="ada"), NUTS)
            await chat.use(gaia, "About nuts", call("recall", query=NUTS), call("forget_memory", id=fact.id))
            texts = [text.format(id=fact.id[:8]) for text in (command, f"{command} yes", "/undo")]
            answers += [(await chat.talk(gaia).send(text)).text for text in texts]
            await gaia.memory.settled()
        terms = SearchTerms(["zanzibarian"], excluded_prefixes=["sessions"])
        found += await find_residual_data(tmp_path / str(number), terms)

    assert ["I forgot 1 fact" in answer for answer in answers[1::3]] == [True] * 3
    assert ["nothing to take back" in answer for answer in answers[2::3]] == [True] * 3
    assert found == []


async def test_a_later_correction_by_the_person_is_not_overwritten(tmp_path: Path) -> None:
    """The change stays as it is, and `/undo` says so."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        scope = gaia.scope(user_id="ada")
        fact = await gaia.memory.remember(scope, OSLO)
        await chat.use(gaia, "In Oslo", call("recall", query=OSLO), call("update_memory", id=fact.id, fact=MOSCOW))
        await gaia.memory.update(scope, fact.id, text="Lives in Bergen", actor="person")
        answer = (await chat.talk(gaia).send("/undo")).text
        [left] = await gaia.memory.facts(scope)

    assert ("changed again" in answer, left.text) == (True, "Lives in Bergen")


async def test_a_restore_says_what_can_no_longer_be_taken_back(tmp_path: Path) -> None:
    """Restored into another home, the backup still has it."""
    chat = Chat(tmp_path / "home")
    async with chat.open() as gaia:
        fact = await gaia.memory.remember(gaia.scope(user_id="ada"), NUTS)
        await gaia.memory.backup(tmp_path / "b")
        await chat.use(gaia, "Forget the nuts", call("recall", query=NUTS), call("forget_memory", id=fact.id))
    into_it = await asyncio.to_thread(restore, tmp_path / "b", home=tmp_path / "home", force=True)
    elsewhere = await asyncio.to_thread(restore, tmp_path / "b", home=tmp_path / "other")

    assert "1 fact that a tool forgot can no longer be taken back with /undo" in into_it.notes[0]
    assert (into_it.facts, elsewhere.facts) == (0, 1)
