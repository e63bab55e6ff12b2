"""Messages from several channels reach the memory of the right user, or no memory at all."""

import asyncio
from collections.abc import Awaitable, Callable

from sqlalchemy import text

from support.harness import TXT, Sut, facts

Make = Callable[..., Awaitable[Sut]]

PEOPLE = """
people:
  users:
    itay: {admin: true, telegram: ["12345"], email: ["itay@x"]}
    noa: {telegram: ["7"]}
"""


async def said(sut: Sut, channel: str, sender: str | int, words: str) -> list[str]:
    return [reply.text for reply in await sut.gaia.inbound(channel, sender, words, agent=sut.agent)]


async def rows_of_everybody(sut: Sut) -> int:
    database = sut.gaia.memory.stores.database
    async with database.read_transaction() as tx:
        counts = [
            (await tx.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()
            for table in ("gaia_scopes", "gaia_facts", "gaia_conversations")
        ]
    return sum(counts)


async def sessions_of_everybody(sut: Sut) -> int:
    listed = await sut.gaia.session_service.list_sessions(app_name=sut.gaia.config.app)
    return len(listed.sessions)


async def test_C20_an_unlisted_sender_reaches_neither_model_nor_memory(make: Make) -> None:
    """Neither messages nor commands get a reply, a model call, a session or a row."""
    sut = await make(PEOPLE)

    for words in ("hello", "/remember I was here", "/memory", "/forget yes", "/reset"):
        assert await said(sut, "telegram", "99", words) == []
    assert await said(sut, "email", "12345", "a sender of another channel") == []

    assert sut.REQ == []
    assert await sessions_of_everybody(sut) == 0
    assert await rows_of_everybody(sut) == 0

    assert await said(sut, "telegram", "12345", "hello") == ["ok"]
    assert await sessions_of_everybody(sut) == 1
    assert await rows_of_everybody(sut) > 0


async def test_C20_without_a_people_section_every_sender_is_refused(make: Make) -> None:
    """A missing section refuses every sender."""
    sut = await make()

    assert await said(sut, "telegram", "12345", "hello") == []
    assert sut.REQ == []


async def test_one_user_has_one_memory_on_all_channels(make: Make) -> None:
    """Each channel has its own session; facts from one channel are known on the other, and to no other user."""
    sut = await make(PEOPLE, main=["hi", "hi again"])

    assert await said(sut, "telegram", 12345, "hello") == ["hi"]
    assert await said(sut, "email", "itay@x", "hello from my desk") == ["hi again"]
    [noted] = await said(sut, "telegram", "12345", "/remember allergic to nuts")

    assert noted
    assert await sut.texts("itay") == ["allergic to nuts"]
    assert "hello from my desk" not in TXT(sut.REQ[0])
    assert "allergic to nuts" in (await said(sut, "email", "itay@x", "/memory"))[0]
    assert "allergic to nuts" not in (await said(sut, "telegram", "7", "/memory"))[0]
    assert await sut.session("itay", "telegram") is not None
    assert await sut.session("itay", "email") is not None


async def test_incoming_messages_are_learned_like_any_other_conversation(make: Make) -> None:
    """They go through the user's conversation and are learned from it."""
    sut = await make(PEOPLE, extractor=[facts("Noa has a dog")])

    await said(sut, "telegram", "7", "I got a dog")
    await sut.sweep_after_idle()

    assert await sut.texts("noa") == ["Noa has a dog"]


async def test_allowed_unlisted_senders_are_separate_users(make: Make) -> None:
    """A guest who uses a listed user's name reads and writes only their own memory."""
    sut = await make(PEOPLE.replace("people:", "people:\n  unknown: allow"))

    await said(sut, "telegram", "12345", "/remember allergic to nuts")
    await said(sut, "telegram", "itay", "/remember likes walnuts")

    assert await sut.texts("itay") == ["allergic to nuts"]
    assert await sut.texts("telegram:itay") == ["likes walnuts"]


async def test_a_burst_gets_one_reply(make: Make) -> None:
    """Messages answered together with a later one get no reply of their own."""
    sut = await make(PEOPLE + "sessions: {coalesce_seconds: 0.2}")

    replies = await asyncio.gather(*(said(sut, "telegram", "7", words) for words in ("one", "two", "three")))

    assert sorted(replies) == [[], [], ["ok"]]
    assert TXT(sut.REQ[0]) == "one\ntwo\nthree"
    assert await said(sut, "telegram", "7", "  ") == []
