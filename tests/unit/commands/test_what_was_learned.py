"""What commands say about what was learned and what waits, and a no to their question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gaia_memory.commands.dispatch import parse
from gaia_memory.models import PendingConversation, SessionKey, Status
from support.cli.slash_commands import ListMemory, run_command
from support.factories import KEY, SCOPE


async def test_a_reset_names_what_it_learned() -> None:
    """The first facts, and how many more there are."""
    few, many = ListMemory(["User likes tea"]), ListMemory([f"User likes tea {number}" for number in range(12)])
    short = (await run_command("/reset", few, learned=await few.facts(SCOPE))).text
    long = (await run_command("/reset", many, learned=await many.facts(SCOPE))).text
    nothing = (await run_command("/reset", ListMemory())).text
    private = (await run_command("/reset", ListMemory(private=True))).text

    assert short.splitlines()[1:] == ["I learned 1 thing:", "- User likes tea"]
    assert long.splitlines()[1] == "I learned 12 things:"
    assert len(long.splitlines()) == 13
    assert long.endswith("- and 2 more: /memory shows all of them")
    assert nothing.endswith("I learned nothing new from it.")
    assert "It was private: I learned nothing from it." in private


async def test_a_reset_counts_what_the_conversation_had_taught_before() -> None:
    """A long one is learned bit by bit, as its turns leave the window; another one's facts are not of it."""
    memory = ListMemory([f"User likes tea {number}" for number in range(14)], session=KEY.session)
    facts = await memory.facts(SCOPE)
    had_learned = "From earlier in this conversation I had already learned"

    for learned, count in ((facts[:1], "13 facts"), (facts[:13], "1 fact"), ([], "14 facts")):
        assert (await run_command("/reset", memory, learned=learned)).text.endswith(f"\n{had_learned} {count}.")
    assert had_learned not in (await run_command("/reset", memory, learned=facts)).text
    assert had_learned not in (await run_command("/reset", ListMemory(memory.texts, session="another"))).text


async def test_memory_says_what_waits_and_when_it_is_learned() -> None:
    """Other conversations are learned later; one without messages to learn is not named."""
    pending = [
        waiting(KEY, messages=12),
        waiting(replace(KEY, session="itay:web"), messages=1),
        waiting(replace(KEY, session="itay:sms"), messages=0),
    ]
    lines = (await run_command("/memory", ListMemory(current_status=Status(state="ok", pending=tuple(pending))))).text

    assert lines.splitlines()[1:] == [
        "This conversation waits to be learned: /reset does it now.",
        "Another conversation of yours waits to be learned, once quiet for 30 minutes.",
    ]


async def test_nothing_is_offered_to_be_learned_in_a_private_conversation() -> None:
    """What waits there was said before it was private."""
    here = replace(waiting(KEY, messages=2), is_private=True)
    memory = ListMemory(["likes tea"], private=True, current_status=Status(state="ok", pending=(here,)))

    for command in ("/memory", "/forget nuts"):
        assert "/reset" not in (await run_command(command, memory)).text


@pytest.mark.parametrize(
    ("sessions", "note"),
    [
        (["itay:cli", "itay:web"], "waits to be learned, and may contain it: send /reset, then search again."),
        (["itay:web", "itay:sms"], "2 other conversations of yours wait to be learned, once quiet for 30 minutes"),
        ([], ""),
    ],
)
async def test_a_search_of_forget_names_what_it_could_not_see(sessions: list[str], note: str) -> None:
    """It offers /reset only where that helps: /reset reaches no other conversation."""
    pending = tuple(waiting(replace(KEY, session=session), messages=1) for session in sessions)
    memory = ListMemory(["likes tea"], current_status=Status(state="ok", pending=pending))
    answer = (await run_command("/forget nuts", memory)).text

    assert note in answer
    assert ("/reset" in answer) == ("itay:cli" in sessions)
    assert len(answer.splitlines()) == (2 if sessions else 1)


def waiting(key: SessionKey, *, messages: int) -> PendingConversation:
    return PendingConversation(
        key=key,
        touched=0.0,
        attempts=0,
        reason=None,
        retry_at=None,
        parked=False,
        messages=messages,
    )


@pytest.mark.parametrize("refusal", ["no", "non merci", "No, thanks!"])
@pytest.mark.parametrize("question", ["/forget", "/forget tea"])
async def test_a_no_answers_an_open_question_of_forget(question: str, refusal: str) -> None:
    """It is a command then, and withdraws the question; otherwise it is talk."""
    memory = ListMemory(["likes tea"])
    assert parse(refusal) is None
    await run_command(question, memory)
    is_open = memory.shown.has_open_question(KEY)
    parsed = parse(refusal, has_open_question=is_open)
    answer = await run_command(f"/forget {refusal}", memory)

    assert parsed == ("forget", refusal)
    assert answer.text == "Nothing was forgotten."
    assert not memory.shown.has_open_question(KEY)
    assert memory.texts == ["likes tea"]
    assert "Nothing is forgotten yet" in (await run_command("/forget tea yes", memory)).text


@pytest.mark.parametrize("consent", ["yes", "Y.", "si!"])
@pytest.mark.parametrize("question", ["/forget tea", "/forget 1"])
async def test_a_plain_yes_forgets_the_rows_that_were_just_shown(question: str, consent: str) -> None:
    """And the question is closed then: a second yes reaches the model."""
    memory = ListMemory(["likes tea", "likes jazz"])
    await run_command(question, memory)
    parsed = parse(consent, has_open_question=memory.shown.has_open_question(KEY))
    assert parsed is not None
    answer = await run_command("/{} {}".format(*parsed), memory)

    assert answer.text.startswith("I forgot 1 fact about you.")
    assert len(memory.texts) == 1
    assert not memory.shown.has_open_question(KEY)


async def test_a_plain_yes_forgets_nothing_that_it_was_not_asked_about() -> None:
    """What the words find now is shown first."""
    memory = ListMemory(["likes tea"])
    await run_command("/forget tea", memory)
    memory.texts.append("drinks tea at five")
    parsed = parse("yes", has_open_question=memory.shown.has_open_question(KEY))
    assert parsed is not None
    answer = await run_command("/{} {}".format(*parsed), memory)

    assert "please look first" in answer.text
    assert len(memory.texts) == 2


@pytest.mark.parametrize(
    ("question", "consent", "confirmation"),
    [
        ("/forget", "yes", "/forget yes"),
        ("/forget tea", "Yes, please!", "/forget tea yes"),
    ],
)
async def test_an_agreement_that_may_mean_something_else_forgets_nothing_and_says_so(
    question: str, confirmation: str, consent: str
) -> None:
    """It never reaches the model, which might say that it is done; the question stays open."""
    memory = ListMemory(["likes tea"])
    assert parse(consent) is None
    await run_command(question, memory)
    parsed = parse(consent, has_open_question=memory.shown.has_open_question(KEY))
    assert parsed is not None
    answer = await run_command("/{} {}".format(*parsed), memory)

    assert answer.text == f"Nothing was forgotten yet. Send {confirmation} to confirm."
    assert memory.texts == ["likes tea"]
    assert memory.shown.has_open_question(KEY)


async def test_another_command_closes_the_question_of_forget() -> None:
    """A later no answers something else."""
    memory = ListMemory(["likes tea"])
    await run_command("/forget", memory)
    await run_command("/memory", memory)

    assert not memory.shown.has_open_question(KEY)
