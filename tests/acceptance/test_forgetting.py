"""Forgetting and isolation, as users see them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory import NewFact
from gaia_memory.models import SessionKey
from gaia_memory.testing import call
from support.harness import ALL, SYS, Sut, facts
from support.plugin_host import begin_turn, record_turn

Make = Callable[..., Awaitable[Sut]]

HOSTILE = [
    "*",
    "a b",
    " itay",
    "itay",
    "Itay",
    "../x",
    "a:b",
    "a%3Ab",
    "café",
    "cafe\u0301",
    "7",
    "' OR 1=1 --",
    "x" * 3000,
]


def files_holding(home: Path, word: str, *, but: str = "sessions.db") -> list[str]:
    """Return the names of the files under the home that contain a word in any encoding."""
    spellings = [word.encode("utf-8"), word.encode("utf-16-le"), word.lower().encode("utf-8")]
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file()
        and not path.name.startswith(but)
        and any(spelling in path.read_bytes() for spelling in spellings)
    ]


async def test_C09_C10_C13_forget_asks_reports_the_count_and_removes_only_the_users_own_facts(make: Make) -> None:
    """All 45 rows are counted and removed, another user's rows stay, and a second forget finds nothing."""
    sut = await make()
    memory = sut.gaia.memory
    await memory.add(sut.scope("u"), [NewFact(f"fact number {n}") for n in range(45)])
    await memory.add(sut.scope("neighbour"), [NewFact("mine")])
    await sut.chat("u", "cli", "hello")

    [listing] = await sut.chat("u", "cli", "/memory")
    [asks] = await sut.chat("u", "cli", "/forget")

    assert "45" in listing
    assert "45" in asks
    assert len(await sut.fact_rows("u")) == 45

    [done] = await sut.chat("u", "cli", "/forget yes")
    [again] = await sut.chat("u", "cli", "/forget yes")

    assert "45" in done
    assert "nothing to forget" in again.lower()
    assert await sut.fact_rows("u") == []
    assert await sut.texts("neighbour") == ["mine"]
    session = await sut.session("u", "cli")
    assert session is not None
    assert len(session.events) == 2


async def test_C11_no_memory_file_contains_a_forgotten_word(make: Make) -> None:
    """Facts were learned, distilled, searched and forgotten; grep then finds nothing outside the session database."""
    sut = await make(extractor=[facts("User's boat is called Quixotry")], profiler=["- Boat: Quixotry"])
    await sut.chat("u", "cli", "my boat is called Quixotry")
    await sut.sweep_after_idle("u", "cli")
    await sut.chat("u", "telegram", "hi")
    await sut.gaia.memory.remember(sut.scope("u"), "Quixotry needs paint")
    await sut.gaia.memory.add(sut.scope("n"), [NewFact(f"neighbour fact {n}") for n in range(30)])
    await sut.fact_rows("u")

    assert "Quixotry" in ALL(sut.REQ[-1])
    assert {"memory.db"} <= {name.split("-")[0] for name in files_holding(sut.home, "Quixotry")}

    await sut.chat("u", "telegram", "/forget yes")
    await sut.gaia.memory.settled()

    assert files_holding(sut.home, "Quixotry") == []
    assert len(await sut.fact_rows("n")) == 30

    await sut.close()

    assert files_holding(sut.home, "Quixotry", but="nothing is left out") == []


async def test_C12_messages_before_a_forget_are_never_learned(make: Make) -> None:
    """The open conversation stays visible, but its words reach no extractor and no row."""
    sut = await make(extractor=[facts("User likes rain")])
    await sut.chat("u", "cli", "my PIN word is ZEBRA")
    await sut.chat("u", "cli", "/forget yes")
    await sut.chat("u", "cli", "I like rain")
    await sut.sweep_after_idle("u", "cli")

    assert len(sut.EXT) == 1
    assert "ZEBRA" not in sut.EXT[0]
    assert await sut.texts("u") == ["User likes rain"]


@pytest.mark.parametrize("what", ["everything", "one fact"])
async def test_a_fact_forgotten_during_its_extraction_does_not_come_back(make: Make, what: str) -> None:
    """A forget between the request to the extractor and its answer takes precedence."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("User's boat is called Quixotry", "User likes rain")

    sut = await make(extractor=[slow, facts("User's boat is called Quixotry", "User likes rain")])
    known = await sut.gaia.memory.remember(sut.scope("u"), "User's boat is called quixotry")
    await sut.chat("u", "cli", "my boat is called Quixotry and I like rain")
    idle = asyncio.create_task(sut.sweep_after_idle("u", "cli"))
    await asyncio.to_thread(asked.wait, 60)
    if what == "everything":
        await sut.gaia.memory.forget(sut.scope("u"))
    else:
        await sut.gaia.memory.forget(sut.scope("u"), fact_id=known.id)
    go_on.set()
    await idle
    await sut.sweep_after_idle("u", "cli")

    assert await sut.texts("u") == ([] if what == "everything" else ["User likes rain"])


async def test_forgetting_a_conversation_removes_only_facts_it_alone_taught(make: Make) -> None:
    """A fact that another conversation also taught stays."""
    sut = await make(extractor=[facts("only cli", "both"), facts("both", "only telegram")])
    await sut.chat("u", "cli", "only cli, and both")
    await sut.sweep_after_idle()
    await sut.chat("u", "telegram", "both, and only telegram")
    await sut.sweep_after_idle()

    receipt = await sut.gaia.memory.forget(sut.scope("u"), session_id="u:cli")

    assert receipt.count == 1
    assert sorted(await sut.texts("u")) == ["both", "only telegram"]


async def test_C03_another_users_fact_id_is_treated_as_unknown(make: Make) -> None:
    """B can neither see nor forget A's row by its id."""
    sut = await make()
    mine = await sut.gaia.memory.remember(sut.scope("a"), "secret of a")
    receipt = await sut.gaia.memory.forget(sut.scope("b"), fact_id=mine.id)
    await sut.gaia.memory_service.delete_memory(app_name=sut.gaia.config.app, user_id="b", memory_id=mine.id)

    assert receipt.count == 0
    assert await sut.texts("a") == ["secret of a"]


@pytest.mark.acceptance("L12", "C03", "Q04")
async def test_hostile_ids_each_keep_their_own_memory(make: Make) -> None:
    """Each id has its own facts, recall, status, profile, sessions and forgetting."""
    sut = await make(profiler=[lambda prompt: prompt.split("<FACTS>")[1].split("</FACTS>")[0]] * 40)
    memory = sut.gaia.memory
    for number, user in enumerate(HOSTILE):
        await memory.remember(sut.scope(user), f"the mark is mark{number}")
        await sut.chat(user, "cli", f"I am {number}")
    for number, user in enumerate(HOSTILE):
        hits = await memory.recall(sut.scope(user), "which mark is it? mark0 mark1 mark2")

        assert await sut.texts(user) == [f"the mark is mark{number}"]
        assert [hit.fact.text for hit in hits] == [f"the mark is mark{number}"]
        assert (await memory.status(sut.scope(user))).facts == 1
        assert (await memory.profile(sut.scope(user))).bullets == (f"the mark is mark{number}",)

    assert (await memory.forget(sut.scope("*"))).count == 1
    for user in HOSTILE[1:]:
        assert len(await sut.fact_rows(user)) == 1


async def test_C01_C02_users_on_one_channel_share_nothing_and_one_user_shares_channels(make: Make) -> None:
    """A fact from A on the command line is known on Telegram, and not to B on any channel."""

    def learned(prompt: str) -> str:
        return facts("User is quokka" if "quokka" in prompt.split("## New Messages")[-1] else "User is wombat")

    sut = await make(extractor=[learned] * 2, profiler=[lambda prompt: "- " + prompt.split("- User is ")[1][:6]] * 2)
    for turn in range(20):
        user, word = ("a", "quokka") if turn % 2 else ("b", "wombat")
        await sut.chat(user, "cli", f"I am {word}")
    await sut.sweep_after_idle()

    assert await sut.texts("a") == ["User is quokka"]
    assert await sut.texts("b") == ["User is wombat"]
    assert len(sut.EXT) == 2

    await sut.chat("a", "telegram", "who am I?")

    assert "quokka" in ALL(sut.REQ[-1])
    assert "wombat" not in ALL(sut.REQ[-1])
    assert all("wombat" not in ALL(request) or "quokka" not in ALL(request) for request in sut.REQ)


async def test_every_file_under_the_home_is_accessible_to_its_owner_only(make: Make) -> None:
    """Databases, the store and mem0's files have mode 0600, their folders 0700."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "hello")
    await sut.sweep_after_idle("u", "cli")
    await sut.fact_rows("u")
    (sut.home / "gaia.yaml").unlink()
    await sut.close()
    modes = {str(path.relative_to(sut.home)): oct(path.stat().st_mode & 0o777) for path in sut.home.rglob("*")}
    open_to_others = {name: mode for name, mode in modes.items() if int(mode, 8) & 0o077}

    assert len(modes) > 8
    assert open_to_others == {}


async def test_a_forget_removes_the_profile_from_the_running_turn(make: Make) -> None:
    """The model's next request, after a tool call, contains nothing of the profile; the turn is not learned."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: LlmRequest) -> types.Content:
        started.set()
        await go_on.wait()
        return call("load_memory", query="boat")

    sut = await make(main=[slow, "done"], profiler=["- Has a boat called Quixotry"])
    await sut.gaia.memory.remember(sut.scope("u"), "User's boat is called Quixotry")
    turn = asyncio.create_task(sut.chat("u", "cli", "hello"))
    await started.wait()
    await sut.gaia.memory.forget(sut.scope("u"))
    go_on.set()
    await turn
    await sut.sweep_after_idle("u", "cli")

    assert "Quixotry" in SYS(sut.REQ[0])
    assert "Quixotry" not in ALL(sut.REQ[1])
    assert sut.EXT == []


async def test_unlearned_messages_leave_every_file_once_their_session_is_cleared(make: Make) -> None:
    """The receipt says that the open session keeps the text; after the sweep no file contains it."""
    sut = await make()
    await sut.chat("u", "cli", "I like zanzibarnuts")
    await sut.chat("u", "telegram", "zanzibarnuts are great")
    receipt = await sut.gaia.memory.forget(sut.scope("u"))
    await sut.sweep_after_idle()
    await sut.gaia.memory.settled()
    after = await sut.gaia.memory.forget(sut.scope("u"))

    assert receipt.count == 0
    assert "session" in receipt.notes[0]
    assert after.notes == ()
    assert sut.EXT == []
    assert files_holding(sut.home, "zanzibarnuts", but="nothing is left out") == []


@pytest.mark.parametrize("since", ["a turn", "a message"])
async def test_a_session_with_news_since_the_forget_is_not_deleted_but_learned(make: Make, since: str) -> None:
    """The forget does not reach what is said after it, and a running turn may say something."""
    sut = await make(extractor=[facts("User likes rain")])
    key = sut.conversation("u", "cli").key
    await sut.chat("u", "cli", "I like zanzibarnuts")
    await sut.chat("u", "telegram", "zanzibarnuts are great")
    await sut.gaia.memory.forget(sut.scope("u"))
    turn = await begin_turn(sut.gaia.engine, key) if since == "a turn" else None
    if turn is None:
        await sut.chat("u", "cli", "I like rain")
    forgotten = await sut.gaia.engine.delete_forgotten(sut.scope("u"))
    if turn is not None:
        await sut.gaia.engine.turns.release(turn)
        await sut.chat("u", "cli", "I like rain")
    await sut.sweep_after_idle()

    assert (forgotten.deleted, forgotten.open) == (1, 1)
    assert await sut.texts("u") == ["User likes rain"]
    assert len(sut.EXT) == 1
    assert "zanzibarnuts" not in sut.EXT[0]


async def test_a_forgotten_conversation_is_not_learned_later(make: Make) -> None:
    """Pending messages of the conversation are forgotten too; later messages are learned."""
    sut = await make(extractor=[facts("User likes rain")])
    await sut.chat("u", "cli", "I like moonpie")
    await sut.gaia.memory.forget(sut.scope("u"), session_id="u:cli")
    await sut.chat("u", "cli", "I like rain")
    await sut.sweep_after_idle()

    assert len(sut.EXT) == 1
    assert "moonpie" not in sut.EXT[0]
    assert await sut.texts("u") == ["User likes rain"]


async def test_a_forced_sweep_counts_a_conversation_it_cannot_learn_yet(make: Make) -> None:
    """A turn that never ended keeps its conversation pending, and the report counts it."""
    sut = await make()
    await sut.chat("u", "cli", "hello")
    engine = sut.gaia._engine
    await begin_turn(engine, sut.conversation("u", "cli").key)
    report = await sut.sweep(force=True)

    assert (report.consolidated, report.failed, report.skipped) == (0, 0, 1)


async def test_status_names_conversations_this_process_cannot_read(make: Make) -> None:
    """Conversations of another app wait for a process that runs it, and the status is not `ok`."""
    sut = await make("memory: {scope: user}")
    await record_turn(sut.gaia._engine, SessionKey("elsewhere", "u", "s"))
    status = await sut.gaia.memory.status(sut.scope("u"))

    assert status.state == "degraded"
    assert "'elsewhere'" in status.reason
