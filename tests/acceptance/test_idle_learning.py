"""Quiet conversations become facts: the behaviour users see, on each kind of database."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from google.genai.errors import ClientError

from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS
from gaia_memory.testing import call
from support.database_matrix import make
from support.harness import ALL, Sut, facts, text_parts
from support.hosts.extractor_input import new_messages_in

__all__ = ["make"]

Make = Callable[..., Awaitable[Sut]]

VEGETARIAN = "User is vegetarian"


async def test_I01_I02_a_conversation_is_learned_once_and_only_after_it_is_idle(make: Make) -> None:
    """The extractor is asked once and sees both sides; then the session is cleared."""
    sut = await make(main=["noted!"], extractor=[facts(VEGETARIAN)])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.sweep()

    assert sut.EXT == []
    assert await sut.fact_rows("u") == []

    await sut.sweep_after_idle("u", "cli")

    assert len(sut.EXT) == 1
    assert "I'm vegetarian" in sut.EXT[0]
    assert "noted!" in sut.EXT[0]
    assert await sut.texts("u") == [VEGETARIAN]
    assert await sut.session("u", "cli") is None


async def test_I03_each_turn_restarts_the_idle_time(make: Make) -> None:
    """Idle time counts from the last turn."""
    sut = await make("sessions: {idle_consolidate_minutes: 10}", extractor=[facts("F")])
    await sut.chat("u", "cli", "one")
    sut.clock.advance(timedelta(minutes=8))
    await sut.chat("u", "cli", "two")
    sut.clock.advance(timedelta(minutes=4))
    await sut.sweep()

    assert sut.EXT == []
    assert await sut.fact_rows("u") == []
    assert await sut.session("u", "cli") is not None

    sut.clock.advance(timedelta(minutes=8))
    await sut.sweep()

    assert len(sut.EXT) == 1
    assert [text for role, text in new_messages_in(sut.EXT[0]) if role == "user"] == ["one", "two"]
    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_I04_without_auto_ingest_nothing_is_learned_and_reset_still_clears(make: Make) -> None:
    """No sweep asks the extractor; a user may still ask for a reset."""
    sut = await make("memory: {auto_ingest: false}")
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.sweep_after_idle("u", "cli")
    await sut.sweep()
    await sut.sweep(force=True)

    assert await sut.session("u", "cli") is not None

    await sut.chat("u", "cli", "/reset")

    assert sut.EXT == []
    assert await sut.fact_rows("u") == []
    assert await sut.session("u", "cli") is None


async def test_I05_with_memory_off_no_mem0_is_built_and_turns_work(make: Make) -> None:
    """A host that switches memory off pays nothing for it and loses no session."""
    sut = await make("memory: {enabled: false}")

    assert await sut.chat("u", "cli", "hi") == ["ok"]

    await sut.sweep_after_idle("u", "cli")
    await sut.sweep(force=True)
    await sut.chat("u", "cli", "/reset")

    assert await sut.chat("u", "cli", "still there?") == ["ok"]
    assert text_parts(sut.REQ[-1]) == ["hi", "ok", "still there?"]
    assert await sut.session("u", "cli") is not None
    assert not (sut.home / "store").exists()
    assert (sut.EXT, sut.script.created_objects) == ([], [])
    assert await sut.fact_rows("u") == []


async def test_I06_commands_alone_are_not_learned(make: Make) -> None:
    """They never reach the extractor."""
    sut = await make()
    for command in ("/help", "/memory", "/nope", "/remember I like teal"):
        await sut.chat("u", "cli", command)
    await sut.sweep_after_idle("u", "cli")
    await sut.sweep(force=True)

    assert sut.EXT == []


async def test_I07_commands_are_in_no_prompt(make: Make) -> None:
    """Neither the extractor nor a later request sees a command or its answer."""
    sut = await make("memory: {preload: false}", extractor=[facts()])
    await sut.chat("u", "cli", "/remember My shoe size is 43")
    await sut.chat("u", "cli", "hello")
    [listed] = await sut.chat("u", "cli", "/memory")
    await sut.chat("u", "cli", "bye")
    await sut.sweep_after_idle("u", "cli")

    assert "shoe size" in listed
    assert new_messages_in(sut.EXT[0]) == [("user", "hello"), ("assistant", "ok"), ("user", "bye"), ("assistant", "ok")]
    for asked in [*sut.EXT, *map(ALL, sut.REQ)]:
        assert "/memory" not in asked
        assert "/remember" not in asked
        assert "shoe size" not in asked


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([RuntimeError("down")] * 9, id="I08-raises"),
        pytest.param(["this is not json"] * 9, id="I09-prose"),
        pytest.param([""] * 9, id="blank"),
        pytest.param(['{"memory": [{"id": "0", "te'] * 9, id="cut"),
    ],
)
@pytest.mark.acceptance("I08", "I09")
async def test_a_failed_extraction_clears_nothing_and_is_retried(make: Make, bad: list[object]) -> None:
    """The session stays, the status reports it as pending, and the second attempt learns it once."""
    sut = await make(extractor=bad)
    await sut.chat("u", "cli", "I'm vegetarian")
    report = await sut.sweep_after_idle("u", "cli")

    assert (report.consolidated, report.failed) == (0, 1)
    assert await sut.fact_rows("u") == []
    session = await sut.session("u", "cli")
    assert session is not None
    assert len(session.events) == 2
    status = await sut.gaia.memory.status(sut.scope("u"))
    assert status.state == "degraded"
    assert [waiting.attempts for waiting in status.pending] == [1]

    sut.script.answers["extractor"].clear()
    sut.script.answers["extractor"].append(facts("F"))
    await sut.sweep_after_idle("u", "cli")

    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_I10_an_empty_extraction_counts_as_success(make: Make) -> None:
    """A well-formed empty answer clears the session."""
    sut = await make(extractor=['{"memory": []}'])
    await sut.chat("u", "cli", "hello")
    report = await sut.sweep_after_idle("u", "cli")

    assert report.consolidated == 1
    assert len(sut.EXT) == 1
    assert await sut.fact_rows("u") == []
    assert await sut.session("u", "cli") is None


async def test_I11_a_failed_clear_is_retried_without_asking_the_extractor_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If only the clear has to be repeated, the extractor is not asked again."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "I'm vegetarian")
    service = sut.gaia.session_service
    delete = service.delete_session

    async def fails(**_: object) -> None:
        monkeypatch.setattr(service, "delete_session", delete)
        raise OSError("disk")

    monkeypatch.setattr(service, "delete_session", fails)
    await sut.sweep_after_idle("u", "cli")

    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is not None

    await sut.sweep_after_idle("u", "cli")

    assert len(sut.EXT) == 1
    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_I12_a_message_during_consolidation_is_answered_kept_and_learned_later(make: Make) -> None:
    """A conversation with a new message is not cleared."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(60)
        return facts("F")

    sut = await make(extractor=[slow, facts("late is the word")])
    await sut.chat("u", "cli", "early")
    idle = asyncio.create_task(sut.sweep_after_idle("u", "cli"))
    await asyncio.to_thread(asked.wait, 60)
    replies = await sut.chat("u", "cli", "belated word")
    go_on.set()
    await idle

    assert replies == ["ok"]
    session = await sut.session("u", "cli")
    assert session is not None
    assert any("belated word" in str(event.content) for event in session.events)

    await sut.sweep_after_idle("u", "cli")

    assert len(sut.EXT) == 2
    assert "belated word" in sut.EXT[1]
    assert "belated word" not in sut.EXT[0]
    assert await sut.texts("u") == ["F", "late is the word"]


@pytest.mark.parametrize("make", ["postgresql"], indirect=True)
async def test_I13_a_conversation_of_long_turns_is_learned_in_chunks_too(make: Make) -> None:
    """With the same number of characters in a tenth of the turns."""
    await learns_in_pieces(make, turns=12, characters=5000)


async def learns_in_pieces(make: Make, *, turns: int, characters: int) -> None:
    """Hold a conversation, let it be learned, and check every request."""

    def first_turn(prompt: str) -> str:
        return facts(f"said in {new_messages_in(prompt)[0][1][:8]}")

    sut = await make("sessions: {window_turns: 2}", extractor=[first_turn] * 40)
    for number in range(turns):
        await sut.chat("u", "cli", f"turn-{number:03d} ".ljust(characters, "x"))
    await sut.sweep_after_idle("u", "cli")
    asked = [new_messages_in(prompt) for prompt in sut.EXT]

    said = [text[:8] for talk in asked for role, text in talk if role == "user"]
    assert said == [f"turn-{number:03d}" for number in range(turns)]
    assert all(sum(len(text) for _, text in talk) <= MAX_CHUNK_CHARACTERS for talk in asked)
    assert len(asked) >= 3
    assert await sut.texts("u") == [f"said in {talk[0][1][:8]}" for talk in asked]
    assert await sut.session("u", "cli") is None


async def test_I14_the_same_fact_from_two_channels_is_one_row(make: Make) -> None:
    """Facts belong to a user, not to a conversation."""
    sut = await make(extractor=[facts(VEGETARIAN), facts("user is  vegetarian.")])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.chat("u", "telegram", "I'm vegetarian")
    await sut.sweep_after_idle()

    assert len(sut.EXT) == 2
    assert await sut.texts("u") == [VEGETARIAN]


async def test_I15_the_extractor_is_given_the_day_of_the_message(make: Make) -> None:
    """ "Tomorrow" is the day after the message, not the day after learning."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "tomorrow I fly to Rome")
    session = await sut.session("u", "cli")
    assert session is not None
    said_at = datetime.fromtimestamp(session.events[0].timestamp, UTC).astimezone()
    sut.clock.advance(timedelta(days=3))
    await sut.sweep()

    observed = sut.EXT[0].split("## Observation Date")[-1].splitlines()[1]
    assert observed.startswith(f"{said_at.date().isoformat()} ")
    assert "time zone" in observed
    assert (said_at + timedelta(days=3)).date().isoformat() not in sut.EXT[0]


async def test_I16_a_conversation_left_by_a_stopped_process_is_learned_by_the_next(make: Make) -> None:
    """Automatically, at its start, once."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.close()
    sut.clock.advance(timedelta(hours=1))
    await sut.open()
    await cleared(sut)
    await sut.sweep()

    assert len(sut.EXT) == 1
    assert await sut.texts("u") == ["F"]


async def test_I17_a_recent_conversation_left_by_a_stopped_process_is_learned_once_idle(make: Make) -> None:
    """Automatically, without another message."""
    sut = await make("sessions: {idle_consolidate_minutes: 0.02}", extractor=[facts("F")])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.reopen()
    await sut.sweep()

    assert sut.EXT == []
    assert await sut.session("u", "cli") is not None

    sut.clock.advance(timedelta(minutes=0.03))
    await cleared(sut)

    assert len(sut.EXT) == 1
    assert await sut.texts("u") == ["F"]


async def cleared(sut: Sut) -> None:
    """Wait until the session is gone."""
    async with asyncio.timeout(60):
        while await sut.session("u", "cli") is not None:
            await asyncio.sleep(0.1)


async def test_I18_each_user_is_learned_separately(make: Make) -> None:
    """The request about A contains nothing of B, and B's conversation is not idle yet."""
    sut = await make(extractor=[facts("User is A")])
    await sut.chat("a", "cli", "this is alpha")
    sut.clock.advance(timedelta(minutes=29))
    await sut.chat("b", "cli", "this is beta")
    sut.clock.advance(timedelta(minutes=2))
    await sut.sweep()

    assert len(sut.EXT) == 1
    assert "alpha" in sut.EXT[0]
    assert "beta" not in sut.EXT[0]
    assert await sut.texts("a") == ["User is A"]
    assert await sut.fact_rows("b") == []
    assert await sut.session("b", "cli") is not None


async def test_I19_closing_right_after_a_turn_is_quick_and_learns_nothing(make: Make) -> None:
    """The conversation stays in the session database."""
    sut = await make()
    await sut.chat("u", "cli", "I'm vegetarian")
    async with asyncio.timeout(60):
        await sut.close()

    assert sut.EXT == []

    await sut.open()

    assert await sut.session("u", "cli") is not None


async def test_I20_an_acknowledged_remember_survives_an_immediate_close(make: Make) -> None:
    """Success means that the fact is on disk."""
    sut = await make(main=[call("remember", fact="The user's timezone is IST"), "ok"])
    await sut.chat("u", "cli", "remember my timezone")
    await sut.reopen()

    assert await sut.texts("u") == ["The user's timezone is IST"]


async def test_I21_private_turns_are_in_no_extractor_request(make: Make) -> None:
    """Private turns are answered and replayed but not learned, even by a model that takes every message for a fact."""

    def everything(prompt: str) -> str:
        return facts(*(text for _, text in new_messages_in(prompt)))

    sut = await make(main=["Your PIN?", "ZEBRA it is", "hello", "still here"], extractor=[everything])
    await sut.chat("u", "cli", "open the safe")
    await sut.chat("u", "cli", "my PIN word is ZEBRA", private=True)
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.chat("u", "cli", "/private and ZEBRA is my cat")
    await sut.sweep_after_idle("u", "cli")

    assert "ZEBRA" in ALL(sut.REQ[2])
    assert len(sut.EXT) == 1
    assert "ZEBRA" not in sut.EXT[0]
    assert await sut.texts("u") == ["open the safe", "I'm vegetarian", "hello"]
    assert await sut.session("u", "cli") is None


async def test_S12_a_reset_learns_and_then_clears(make: Make) -> None:
    """The extractor is asked once, with the conversation; facts stay, and the next request has no old turn."""
    sut = await make(main=["one", "two"], extractor=[facts("F")])
    await sut.chat("u", "cli", "/remember I like teal")
    await sut.chat("u", "cli", "old words")
    await sut.chat("u", "cli", "more of them")
    session = await sut.session("u", "cli")
    [reply] = await sut.chat("u", "cli", "/reset")

    assert session is not None
    assert len(session.events) == 4
    assert "fresh start" in reply.lower()
    assert [new_messages_in(prompt) for prompt in sut.EXT] == [
        [("user", "old words"), ("assistant", "one"), ("user", "more of them"), ("assistant", "two")]
    ]
    assert await sut.session("u", "cli") is None
    assert await sut.texts("u") == ["I like teal", "F"]

    await sut.chat("u", "cli", "new words")

    assert text_parts(sut.REQ[-1]) == ["new words"]


async def test_S13_a_reset_that_cannot_learn_keeps_the_conversation_and_says_so(make: Make) -> None:
    """Nothing is cleared before it is learned; a later sweep learns it."""
    sut = await make(extractor=[RuntimeError("down")] * 5)
    await sut.chat("u", "cli", "one")
    await sut.chat("u", "cli", "two")
    [reply] = await sut.chat("u", "cli", "/reset")
    session = await sut.session("u", "cli")

    assert "not saved" in reply.lower()
    assert await sut.fact_rows("u") == []
    assert session is not None
    assert len(session.events) == 4

    sut.script.answers["extractor"].clear()
    sut.script.answers["extractor"].append(facts("F"))
    await sut.sweep_after_idle("u", "cli")

    assert [text for role, text in new_messages_in(sut.EXT[-1]) if role == "user"] == ["one", "two"]
    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_S11_a_failing_model_produces_one_short_apology(make: Make) -> None:
    """It contains no traceback, the next turn works, and the apology is not learned."""
    error = ClientError(429, {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}})
    sut = await make(main=[error, "fine"], extractor=[facts("F")])
    [apology] = await sut.chat("u", "cli", "hello")
    [answer] = await sut.chat("u", "cli", "again")
    await sut.sweep_after_idle("u", "cli")

    assert len(apology) < 200
    assert "429" not in apology
    assert "Traceback" not in apology
    assert answer == "fine"
    assert apology not in sut.EXT[0]
    assert apology not in text_parts(sut.REQ[-1])
