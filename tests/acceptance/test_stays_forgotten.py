"""A forgotten fact does not come back, neither from its conversation nor by its exact text."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gaia_memory.errors import BadAnswerError
from gaia_memory.learning.learner import Learner
from gaia_memory.models import Origin
from gaia_memory.testing import call
from support.harness import ALL, Sut, facts

Make = Callable[..., Awaitable[Sut]]

LONG = " and so on" * 700
"""Characters of a message such that two of them make two chunks."""
DISGUISES = [
    "USER IS ALLERGIC TO NUTS!",
    "User  is\u00a0allergic, to nuts.",
    "User is aller\u200bgic to nu\u00adts",
    "U\u0455er is all\u0435rgic t\u03bf nuts",
    "\uff35\uff53\uff45\uff52 is allergic to nuts",
    "\u202eUser is allergic to nuts\u202c",
]


async def forget(sut: Sut, text: str) -> None:
    """Forget the one fact with this text."""
    [fact] = [fact for fact in await sut.gaia.memory.facts(sut.scope("u")) if fact.text == text]
    assert (await sut.gaia.memory.forget(sut.scope("u"), fact_id=fact.id)).count == 1


@pytest.mark.acceptance("C12")
@pytest.mark.parametrize("clear", ["keep", "rewind", "delete"])
async def test_the_messages_that_taught_a_forgotten_fact_are_not_shown_again(make: Make, clear: str) -> None:
    """Neither the statement nor the question it answers is shown: an extractor could learn the fact from both."""
    answers = ["You sneeze a lot, then?", "So MACADAMIA nuts make you ill?", "I see.", "Soup."]
    learned = [facts("User sneezes"), facts("User is allergic to nuts"), facts("User wants dinner")]
    # Once a conversation is cleared, nothing shows that nuts were meant.
    settings = f"sessions: {{clear: {clear}}}\nmemory: {{grounded: false}}"
    sut = await make(settings, main=answers, extractor=learned)
    await sut.chat("u", "cli", "I have hay fever")
    await sut.chat("u", "cli", "not from grass alone")
    await sut.sweep_after_idle()
    await sut.chat("u", "cli", "yes, that one")
    await sut.sweep_after_idle()
    assert ("MACADAMIA" in sut.EXT[1]) == (clear == "keep")

    await forget(sut, "User is allergic to nuts")
    await sut.chat("u", "cli", "what is for dinner?")
    await sut.sweep_after_idle()

    assert len(sut.EXT) == 3
    assert "what is for dinner?" in sut.EXT[2]
    assert not [word for word in ("hay fever", "sneeze", "MACADAMIA", "that one", "I see") if word in sut.EXT[2]]
    assert await sut.texts("u") == ["User sneezes", "User wants dinner"]


async def test_an_omitted_assistant_message_is_not_replaced_by_an_earlier_one(make: Make) -> None:
    """The extractor would take an earlier question for the one that was answered."""
    sut = await make("sessions: {clear: keep}", main=["MACADAMIA, then?", "ok", "ok"], extractor=[facts()] * 3)
    for text in ("what may I eat?", "yes"):
        await sut.chat("u", "cli", text)
        await sut.sweep_after_idle()
    session = await sut.session("u", "cli")
    assert session is not None
    async with sut.gaia.memory.stores.database.transaction() as tx:
        await sut.gaia.memory.stores.ledger.skip_events(
            tx, sut.conversation("u", "cli").key, [event.id for event in session.events[-2:]]
        )
    await sut.chat("u", "cli", "I like rain")
    await sut.sweep_after_idle()

    assert [("MACADAMIA" in prompt) for prompt in sut.EXT] == [True, True, False]


async def test_a_fact_taught_across_two_chunks_leaves_no_context_when_forgotten(make: Make) -> None:
    """The next chunk gets its context without the fact, also if the forget comes meanwhile."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_: str) -> str:
        asked.set()
        assert go_on.wait(60)
        return facts("User cannot eat macadamia")

    last = facts("User likes rain")
    sut = await make(main=["So MACADAMIA, then?", "ok"], extractor=[facts("User is allergic to nuts"), slow, last])
    await sut.chat("u", "cli", f"I cannot eat macadamia nuts{LONG}")
    await sut.chat("u", "cli", f"yes, and I like rain{LONG}")
    idle = asyncio.create_task(sut.sweep_after_idle())
    await asyncio.to_thread(asked.wait, 60)
    await forget(sut, "User is allergic to nuts")
    go_on.set()
    await idle
    await sut.sweep_after_idle()

    assert [("MACADAMIA" in prompt) for prompt in sut.EXT] == [True, True, False]
    assert await sut.texts("u") == ["User likes rain"]


@pytest.mark.acceptance("C12")
async def test_nothing_more_is_extracted_for_a_user_once_everything_was_forgotten(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long conversation is learned in chunks: the forget comes between two of them."""
    commit = Learner._commit

    async def forgets(self: Learner, *arguments: Any, **options: Any) -> Any:
        done = await commit(self, *arguments, **options)
        await sut.gaia.memory.forget(sut.scope("u"))
        return done

    sut = await make(extractor=[facts("User likes tea"), facts("User's word is ZEBRA")])
    await sut.chat("u", "cli", f"I like tea{LONG}")
    await sut.chat("u", "cli", f"my PIN word is ZEBRA{LONG}")
    monkeypatch.setattr(Learner, "_commit", forgets)
    await sut.sweep_after_idle()
    monkeypatch.undo()
    await sut.sweep_after_idle()

    assert len(sut.EXT) == 1
    assert "ZEBRA" not in sut.EXT[0]
    assert await sut.texts("u") == []


async def test_the_text_of_a_forgotten_fact_does_not_come_back_in_any_spelling(make: Make) -> None:
    """Not from earlier or later messages elsewhere; the user can ask for it back."""
    sut = await make(extractor=[facts("User is allergic to nuts"), *(facts(text) for text in DISGUISES)])
    await sut.chat("u", "cli", "nuts make me ill")
    await sut.sweep_after_idle()
    await sut.chat("u", "telegram", "did I say that nuts make me ill?")
    await forget(sut, "User is allergic to nuts")
    for number in range(len(DISGUISES)):
        await sut.chat("u", "cli" if number else "telegram", "as I said of nuts")
        await sut.sweep_after_idle()

        assert await sut.texts("u") == []

    assert len(sut.EXT) == 1 + len(DISGUISES)
    await sut.gaia.memory.remember(sut.scope("u"), DISGUISES[0])
    await forget(sut, DISGUISES[0])
    await sut.chat("u", "cli", "/remember user is allergic to nuts")
    assert await sut.texts("u") == ["user is allergic to nuts"]


async def test_a_profile_without_a_model_contains_nothing_forgotten(make: Make) -> None:
    """Nor does the profile of the running session."""

    def fails(_: str) -> str:
        raise BadAnswerError("no bullets")

    sut = await make(profiler=["- Allergic to nuts", fails])
    await sut.gaia.memory.remember(sut.scope("u"), "User is allergic to nuts")
    await sut.gaia.memory.remember(sut.scope("u"), "User likes tea")
    await sut.chat("u", "cli", "hi")
    await forget(sut, "User is allergic to nuts")
    await sut.chat("u", "cli", "and?")
    await sut.chat("u", "telegram", "hi")

    assert "nuts" in ALL(sut.REQ[0])
    assert ["nuts" in ALL(request) for request in sut.REQ[1:]] == [False, False]
    assert "User likes tea" in ALL(sut.REQ[2])


@pytest.mark.acceptance("C12")
async def test_a_forgotten_fact_from_the_tool_is_not_relearned_in_other_words(make: Make) -> None:
    """The turn of the tool call is left out with its answer, which repeats the fact; other turns are learned."""
    main = ["ok", call("remember", fact="User is allergic to nuts"), "Noted: no MACADAMIA for you.", "ok"]
    sut = await make(main=main, extractor=[facts("User likes rain")])
    for text in ("I like rain", "please remember that I cannot eat MACADAMIA", "and I like snow"):
        await sut.chat("u", "cli", text)
    await forget(sut, "User is allergic to nuts")
    await sut.sweep_after_idle()

    [shown] = sut.EXT
    assert "I like rain" in shown
    assert "and I like snow" in shown
    assert "MACADAMIA" not in shown
    assert await sut.texts("u") == ["User likes rain"]


async def test_a_fact_from_the_tool_is_forgotten_with_its_conversation(make: Make) -> None:
    """Only this conversation taught it; a fact that a nested tool stored belongs to no conversation."""
    sut = await make(main=[call("remember", fact="User has a dog"), "ok"])
    await sut.chat("u", "cli", "remember my dog")
    memory, scope = sut.gaia.memory, sut.scope("u")
    elsewhere = Origin(source="remember", app=scope.app, session_id="unknown", event_ids=("1",))
    assert (await memory.remember(scope, "User has a cat", origin=elsewhere)).session_id is None

    assert (await memory.forget(scope, session_id=sut.conversation("u", "cli").key.session)).count == 1
    assert await sut.texts("u") == ["User has a cat"]
