"""Quiet conversations become facts: what a person sees of it from outside."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from google.genai.errors import ClientError

from gaia_memory.testing import call
from support.harness import ALL, Sut, facts, texts

Make = Callable[..., Awaitable[Sut]]

VEGETARIAN = "User is vegetarian"


async def test_I01_I02_nothing_is_learned_before_the_talk_is_quiet_and_once_after(make: Make) -> None:
    """The extractor is asked once, sees both sides, and the session is cleared."""
    sut = await make(main=["noted!"], extractor=[facts(VEGETARIAN)])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.sweep()

    assert sut.EXT == []
    assert await sut.rows("u") == []

    await sut.run_idle("u", "cli")

    assert len(sut.EXT) == 1
    assert "I'm vegetarian" in sut.EXT[0]
    assert "noted!" in sut.EXT[0]
    assert await sut.texts("u") == [VEGETARIAN]
    assert await sut.session("u", "cli") is None


async def test_I03_each_turn_starts_the_idle_time_again(make: Make) -> None:
    """Idle means idle since the last turn."""
    sut = await make("sessions: {idle_consolidate_minutes: 10}", extractor=[facts("F")])
    await sut.chat("u", "cli", "one")
    sut.clock.advance(timedelta(minutes=8))
    await sut.chat("u", "cli", "two")
    sut.clock.advance(timedelta(minutes=4))
    await sut.sweep()

    assert sut.EXT == []

    sut.clock.advance(timedelta(minutes=8))
    await sut.sweep()

    assert len(sut.EXT) == 1


async def test_I04_without_auto_ingest_nothing_is_learned_and_reset_still_clears(make: Make) -> None:
    """Nothing asks the extractor; a reset is the person's own wish."""
    sut = await make("memory: {auto_ingest: false}")
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.run_idle("u", "cli")
    await sut.sweep(force=True)

    assert await sut.session("u", "cli") is not None

    await sut.chat("u", "cli", "/reset")

    assert sut.EXT == []
    assert await sut.rows("u") == []
    assert await sut.session("u", "cli") is None


async def test_I05_with_memory_off_no_mem0_is_built_and_turns_work(make: Make) -> None:
    """A host that switches memory off pays nothing for it and loses no session."""
    sut = await make("memory: {enabled: false}")

    assert await sut.chat("u", "cli", "hi") == ["ok"]

    await sut.run_idle("u", "cli")

    assert await sut.session("u", "cli") is not None
    assert not (sut.home / "store").exists()
    assert sut.EXT == []


async def test_I06_commands_alone_are_nothing_to_learn(make: Make) -> None:
    """They never reach the extractor."""
    sut = await make()
    for command in ("/help", "/memory", "/nope", "/remember I like teal"):
        await sut.chat("u", "cli", command)
    await sut.run_idle("u", "cli")
    await sut.sweep(force=True)

    assert sut.EXT == []


async def test_I07_commands_are_in_no_prompt(make: Make) -> None:
    """Neither the extractor nor a later request sees a command or what it listed."""
    sut = await make(extractor=[facts()])
    await sut.chat("u", "cli", "/remember My shoe size is 43")
    await sut.chat("u", "cli", "hello")
    await sut.chat("u", "cli", "/memory")
    await sut.chat("u", "cli", "bye")
    await sut.run_idle("u", "cli")

    assert "/memory" not in sut.EXT[0]
    assert "shoe size" not in sut.EXT[0]
    assert all("/memory" not in ALL(request) and "/remember" not in ALL(request) for request in sut.REQ)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([RuntimeError("down")] * 9, id="I08-raises"),
        pytest.param(["this is not json"] * 9, id="I09-prose"),
        pytest.param([""] * 9, id="blank"),
        pytest.param(['{"memory": ["a string"]}'] * 9, id="strings"),
        pytest.param(['{"memory": [{"id": "0", "te'] * 9, id="cut"),
        pytest.param(['{"facts": []}'] * 9, id="wrong-key"),
    ],
)
@pytest.mark.acceptance("I08", "I09")
async def test_a_failed_extraction_clears_nothing_and_is_tried_again(make: Make, bad: list[object]) -> None:
    """The session stays, the status says that it waits, and the second try learns it once."""
    sut = await make(extractor=bad)
    await sut.chat("u", "cli", "I'm vegetarian")
    report = await sut.run_idle("u", "cli")

    assert (report.consolidated, report.failed) == (0, 1)
    assert await sut.rows("u") == []
    session = await sut.session("u", "cli")
    assert session is not None
    assert len(session.events) == 2
    status = await sut.gaia.memory.status(sut.scope("u"))
    assert status.state == "degraded"
    assert [waiting.attempts for waiting in status.pending] == [1]

    sut.script.answers["extractor"].clear()
    sut.script.answers["extractor"].append(facts("F"))
    await sut.run_idle("u", "cli")

    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_I10_nothing_to_learn_is_a_success(make: Make) -> None:
    """A well-formed empty answer clears the session."""
    sut = await make(extractor=['{"memory": []}'])
    await sut.chat("u", "cli", "hello")
    report = await sut.run_idle("u", "cli")

    assert report.consolidated == 1
    assert await sut.rows("u") == []
    assert await sut.session("u", "cli") is None


async def test_I11_a_clear_that_failed_is_made_up_for_without_asking_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned is not asked for again when only the clear has to be repeated."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "I'm vegetarian")
    service = sut.gaia.session_service
    delete = service.delete_session

    async def fails(**_: object) -> None:
        monkeypatch.setattr(service, "delete_session", delete)
        raise OSError("disk")

    monkeypatch.setattr(service, "delete_session", fails)
    await sut.run_idle("u", "cli")

    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is not None

    await sut.run_idle("u", "cli")

    assert len(sut.EXT) == 1
    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None


async def test_I12_a_message_during_consolidation_is_answered_kept_and_learned_later(make: Make) -> None:
    """The clear leaves a conversation alone to which somebody came back."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        go_on.wait(10)
        return facts("F")

    sut = await make(extractor=[slow, facts("late is the word")])
    await sut.chat("u", "cli", "early")
    idle = asyncio.create_task(sut.run_idle("u", "cli"))
    await asyncio.to_thread(asked.wait, 10)
    replies = await sut.chat("u", "cli", "belated word")
    go_on.set()
    await idle

    assert replies == ["ok"]
    session = await sut.session("u", "cli")
    assert session is not None
    assert any("belated word" in str(event.content) for event in session.events)

    await sut.run_idle("u", "cli")

    assert len(sut.EXT) == 2
    assert "belated word" in sut.EXT[1]
    assert "belated word" not in sut.EXT[0]
    assert await sut.texts("u") == ["F", "late is the word"]


async def test_I13_a_long_talk_is_asked_about_in_pieces_each_turn_once(make: Make) -> None:
    """120 turns of 500 characters: every turn in exactly one question, facts of every question kept."""
    count = 0

    def numbered(_: str) -> str:
        nonlocal count
        count += 1
        return facts(f"fact of piece {count}")

    sut = await make("sessions: {window_turns: 2}", extractor=[numbered] * 40)
    for number in range(120):
        await sut.chat("u", "cli", f"turn-{number:03d}- " + "x" * 490)
    await sut.run_idle("u", "cli")

    assert 1 < len(sut.EXT) < 40
    for number in range(120):
        assert sum(f"turn-{number:03d}-" in prompt for prompt in sut.EXT) == 1
    assert len(await sut.rows("u")) == len(sut.EXT)


async def test_I14_the_same_fact_from_two_channels_is_one_row(make: Make) -> None:
    """Facts are about a person, not about a conversation."""
    sut = await make(extractor=[facts(VEGETARIAN), facts("user is  vegetarian.")])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.chat("u", "telegram", "I'm vegetarian")
    await sut.run_idle()

    assert len(sut.EXT) == 2
    assert await sut.texts("u") == [VEGETARIAN]


async def test_I15_the_extractor_is_told_the_day_it_was_said(make: Make) -> None:
    """ "Tomorrow" means the day after it was said, not after it was learned."""
    sut = await make(extractor=[facts("F")])
    day = sut.clock.now().date().isoformat()
    await sut.chat("u", "cli", "tomorrow I fly to Rome")
    sut.clock.advance(timedelta(days=3))
    await sut.sweep()

    observed = sut.EXT[0].split("## Observation Date")[-1].splitlines()[1]
    assert observed.startswith(day)


async def test_I16_I17_talk_that_a_stopped_process_left_is_learned_by_the_next(make: Make) -> None:
    """At once when it is old enough, else when it becomes so, without another message."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.reopen()
    await sut.sweep()

    assert sut.EXT == []

    await sut.run_idle("u", "cli")

    assert await sut.texts("u") == ["F"]
    assert await sut.session("u", "cli") is None

    await sut.chat("u", "cli", "and I like tea")
    sut.script.answers["extractor"].append(facts("User likes tea"))
    await sut.close()
    sut.clock.advance(timedelta(hours=1))
    await sut.open()
    async with asyncio.timeout(20):
        while await sut.session("u", "cli") is not None:
            await asyncio.sleep(0.05)

    assert await sut.texts("u") == ["F", "User likes tea"]


async def test_I18_each_person_is_learned_alone(make: Make) -> None:
    """A's question holds nothing of B, and B, who just spoke, is left alone."""
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
    assert await sut.rows("b") == []
    assert await sut.session("b", "cli") is not None


async def test_I19_closing_right_after_a_turn_is_quick_and_learns_nothing(make: Make) -> None:
    """The talk waits in the session database."""
    sut = await make()
    await sut.chat("u", "cli", "I'm vegetarian")
    async with asyncio.timeout(5):
        await sut.close()

    assert sut.EXT == []

    await sut.open()

    assert await sut.session("u", "cli") is not None


async def test_I20_an_accepted_remember_survives_closing_at_once(make: Make) -> None:
    """Success means on disk."""
    sut = await make(main=[call("remember", fact="The user's timezone is IST"), "ok"])
    await sut.chat("u", "cli", "remember my timezone")
    await sut.reopen()

    assert await sut.texts("u") == ["The user's timezone is IST"]


async def test_I21_private_turns_are_in_no_question(make: Make) -> None:
    """They are answered and replayed, and never learned."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "my PIN word is ZEBRA", private=True)
    await sut.chat("u", "cli", "I'm vegetarian")
    await sut.run_idle("u", "cli")

    assert "ZEBRA" in ALL(sut.REQ[-1])
    assert len(sut.EXT) == 1
    assert "ZEBRA" not in sut.EXT[0]


async def test_S11_a_model_that_fails_costs_one_short_apology(make: Make) -> None:
    """No traceback text, the next turn works, and the apology is not learned."""
    error = ClientError(429, {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}})
    sut = await make(main=[error, "fine"], extractor=[facts("F")])
    [apology] = await sut.chat("u", "cli", "hello")
    [answer] = await sut.chat("u", "cli", "again")
    await sut.run_idle("u", "cli")

    assert len(apology) < 200
    assert "429" not in apology
    assert "Traceback" not in apology
    assert answer == "fine"
    assert apology not in sut.EXT[0]
    assert apology not in texts(sut.REQ[-1])


async def test_a_sweep_is_only_of_what_is_due(make: Make, tmp_path: Path) -> None:
    """A second sweep right after the first finds nothing to do."""
    sut = await make(extractor=[facts("F")])
    await sut.chat("u", "cli", "hello")
    first = await sut.run_idle("u", "cli")
    second = await sut.sweep(force=True)

    assert (first.consolidated, second.consolidated) == (1, 0)
