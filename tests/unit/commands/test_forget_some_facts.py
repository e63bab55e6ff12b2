"""/forget for some facts: first the preview, then the confirmation."""

from __future__ import annotations

import pytest

from gaia_memory.commands.forget import STILL_HERE
from gaia_memory.forget.delete import OPEN_SESSION_NOTE
from gaia_memory.sessions.pending_confirmations import PendingConfirmations
from support.cli.slash_commands import ListMemory, run_command

KNOWN = ["likes tea", "is allergic to nuts", "lives in Haifa", "keeps NUTS at home"]


async def reply_to(text: str, memory: ListMemory) -> str:
    return (await run_command(text, memory)).text


@pytest.mark.parametrize(
    ("selection", "shown_as", "forgotten"),
    [
        ("3", "3", [3]),
        ("#2, 4.", "2 4", [2, 4]),
        ("\u0663", "\u0663", [3]),
        ("4\u20132", "4-2", [2, 3, 4]),
        ("1 - 2 #3-#4", "1-2 3-4", [1, 2, 3, 4]),
        ("Nuts", "nuts", [2, 4]),
        ("nuts home", "nuts home", [4]),
        ("everything about my nuts", "everything about my nuts", [2, 4]),
        ("where I live", "where i live", [3]),
    ],
)
async def test_a_yes_forgets_exactly_the_rows_shown(selection: str, shown_as: str, forgotten: list[int]) -> None:
    """Rows are selected by number, or by words that they all have in some form; the preview repeats the selection."""
    memory = ListMemory(list(KNOWN))

    shown = await reply_to(f"/forget {selection}", memory)
    before = list(memory.texts)
    done = await reply_to(f"/forget {selection} Yes!", memory)

    rows = [f"- {number}. {KNOWN[number - 1]}" for number in forgotten]
    assert shown.splitlines()[1:-2] == rows
    assert shown.splitlines()[-1].startswith(f"Send /forget {shown_as} yes to confirm")
    assert before == KNOWN
    assert memory.texts == [text for number, text in enumerate(KNOWN, start=1) if number not in forgotten]
    assert f"I forgot {len(forgotten)} fact" in done


@pytest.mark.parametrize("what", ["all", "Everything!"])
async def test_all_is_everything_and_not_a_word(what: str) -> None:
    """It asks first, and does not override a question about some rows."""
    memory = ListMemory(["likes tea", "likes all dogs"])

    asked = await reply_to(f"/forget {what}", memory)
    before = list(memory.texts)
    await reply_to("/forget tea", memory)
    refused = await reply_to(f"/forget {what} yes", memory)
    await reply_to(f"/forget {what}", memory)
    done = await reply_to(f"/forget {what} yes", memory)

    assert asked == "This forgets 2 facts about you, in every conversation, and cannot be undone. " + (
        "Send /forget yes to confirm; anything else changes nothing."
    )
    assert len(before) == 2
    assert "Nothing is forgotten yet" in refused
    assert (memory.texts, "I forgot 2 facts" in done) == ([], True)


@pytest.mark.parametrize("what", ["3", "nuts"])
async def test_a_yes_without_a_preview_shows_one_and_asks(what: str) -> None:
    """This also covers a restart; sending the same yes again forgets the rows."""
    memory = ListMemory(list(KNOWN))

    first = await reply_to(f"/forget {what} yes", memory)
    before = list(memory.texts)
    await reply_to(f"/forget {what} yes", memory)

    assert "please look first" in first
    assert before == KNOWN
    assert len(memory.texts) < len(KNOWN)


async def test_a_yes_never_forgets_a_fact_that_took_the_number_of_the_one_shown() -> None:
    """The list changed meanwhile: row 3 is another fact."""
    memory = ListMemory(list(KNOWN))
    await reply_to("/forget 3", memory)
    memory.texts.remove("likes tea")

    again = await reply_to("/forget 3 yes", memory)

    assert memory.texts == KNOWN[1:]
    assert "3. keeps NUTS at home" in again


async def test_a_yes_never_forgets_a_fact_learned_after_the_preview() -> None:
    """Meanwhile a third fact about nuts was learned."""
    memory = ListMemory(list(KNOWN))
    await reply_to("/forget nuts", memory)
    memory.texts.append("sells nuts")

    again = await reply_to("/forget nuts yes", memory)

    assert memory.texts == [*KNOWN, "sells nuts"]
    assert "5. sells nuts" in again


async def test_a_yes_works_only_once() -> None:
    """Afterwards the number belongs to another row."""
    memory = ListMemory(list(KNOWN))
    await reply_to("/forget 1", memory)
    await reply_to("/forget 1 yes", memory)

    again = await reply_to("/forget 1 yes", memory)

    assert memory.texts == KNOWN[1:]
    assert "1. is allergic to nuts" in again


async def test_more_than_a_page_is_forgotten_a_page_at_a_time() -> None:
    """Only rows that were shown are forgotten; the preview counts the rest."""
    memory = ListMemory([f"book {number}" for number in range(1, 26)])

    shown = await reply_to("/forget book", memory)
    await reply_to("/forget book yes", memory)

    assert "20 facts" in shown
    assert "5 facts more will stay" in shown
    assert memory.texts == [f"book {number}" for number in range(21, 26)]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("9", "no such row"),
        ("0", "no such row"),
        ("-1", "Usage"),
        ("2-", "Usage"),
        ("1-2-3", "Usage"),
        ("3-9", "no such row"),
        ("9" * 5000, "no such row"),
        ("boats", "Nothing I remember"),
        ("boats yes", "Nothing I remember"),
        ("nutshell", "Nothing I remember"),
    ],
)
async def test_an_impossible_selection_gets_an_explanation(what: str, expected: str) -> None:
    """Nothing is forgotten, neither at once nor after a second try."""
    memory = ListMemory(list(KNOWN))

    answers = [await reply_to(f"/forget {what}", memory), await reply_to(f"/forget {what}", memory)]

    assert all(expected in answer for answer in answers)
    assert memory.texts == KNOWN


async def test_yes_alone_means_everything_even_if_a_fact_contains_the_word() -> None:
    """Such a fact can be forgotten by its number, or with `/forget yes yes`, which shows it first."""
    memory = ListMemory(["says yes to cake", *KNOWN])

    shown = await reply_to("/forget yes yes", memory)
    before = len(memory.texts)
    await reply_to("/forget", memory)
    everything = await reply_to("/forget yes", memory)

    assert "1. says yes to cake" in shown
    assert before == 5
    assert "5 facts" in everything
    assert memory.texts == []


@pytest.mark.parametrize("what", ["2", "nuts"])
@pytest.mark.parametrize("yes", ["yes!"])
async def test_a_bare_yes_after_a_question_about_rows_forgets_nothing_and_says_how_to_go_on(
    what: str, yes: str
) -> None:
    """It forgets neither those rows nor everything, because the user could have meant either."""
    memory = ListMemory(list(KNOWN))
    rows = [line for line in (await reply_to(f"/forget {what}", memory)).splitlines() if line.startswith("- ")]

    answers = [await reply_to(f"/forget {yes}", memory), await reply_to(f"/forget {yes}", memory)]
    before = list(memory.texts)
    await reply_to(f"/forget {what} yes", memory)

    for answer in answers:
        assert "Nothing is forgotten" in answer
        assert answer.splitlines()[1:-2] == rows
        assert f"Send /forget {what} yes to forget these" in answer
        assert "To forget everything, send /forget first" in answer
    assert before == KNOWN
    assert len(memory.texts) == len(KNOWN) - len(rows)


async def test_a_question_about_everything_replaces_one_about_rows() -> None:
    """A bare yes then means everything, and a yes for the rows shows them again first."""
    asked, unsure = ListMemory(list(KNOWN)), ListMemory(list(KNOWN))
    for memory in (asked, unsure):
        await reply_to("/forget 2", memory)
        await reply_to("/forget", memory)

    everything = await reply_to("/forget yes", asked)
    again = await reply_to("/forget 2 yes", unsure)

    assert "4 facts" in everything
    assert asked.texts == []
    assert "please look first" in again
    assert unsure.texts == KNOWN


async def test_a_bare_yes_after_a_restart_does_not_forget_everything() -> None:
    """The preview is gone with the process, but the open question is recorded: it asks about everything first."""
    memory = ListMemory(list(KNOWN))
    await reply_to("/forget 2", memory)
    memory.shown = PendingConfirmations()

    asked = await reply_to("/forget yes", memory)
    before = list(memory.texts)
    done = await reply_to("/forget yes", memory)

    assert "Nothing is forgotten yet" in asked
    assert "This forgets 4 facts" in asked
    assert before == KNOWN
    assert "4 facts" in done


@pytest.mark.parametrize("answered", ["/forget 2 yes", "/forget"])
async def test_an_answered_or_replaced_question_is_not_open_after_a_restart(answered: str) -> None:
    """A bare yes then forgets everything at once."""
    memory = ListMemory(list(KNOWN))
    await reply_to("/forget 2", memory)
    await reply_to(answered, memory)
    memory.shown = PendingConfirmations()

    assert "I forgot" in await reply_to("/forget yes", memory)
    assert memory.texts == []


@pytest.mark.parametrize("what", ["", "1 "])
async def test_the_note_about_an_open_session_suggests_reset(what: str) -> None:
    """After a reset no request holds it any more, even where the session is kept."""
    memory = ListMemory(list(KNOWN), notes=(OPEN_SESSION_NOTE,))
    await reply_to(f"/forget {what}", memory)

    done = (await reply_to(f"/forget {what}yes", memory)).splitlines()

    assert STILL_HERE in done
    assert "/reset" in done[-1]


async def test_notes_of_receipts_are_shown_once_and_without_paths() -> None:
    """Two facts share one note; files being rewritten are mentioned."""
    memory = ListMemory(list(KNOWN), pending=True, notes=("what is set aside in /home/x/old was not touched",))
    await reply_to("/forget nuts", memory)

    done = (await reply_to("/forget nuts yes", memory)).splitlines()

    assert done[1:] == [
        "The files that contained them are being rewritten in the background.",
        "Note: what is set aside in … was not touched.",
    ]


async def test_a_failure_half_way_reports_the_true_count() -> None:
    """One of two facts is forgotten, and the reply says one."""
    memory = ListMemory(list(KNOWN), fails_after_forgets=1)
    await reply_to("/forget nuts", memory)

    done = await reply_to("/forget nuts yes", memory)

    assert "only 1 fact" in done
    assert len(memory.texts) == 3


async def test_the_beginning_of_an_id_selects_its_fact() -> None:
    """As `gaia memory list` shows it; an ambiguous one forgets nothing, and a word comes first."""
    memory = ListMemory(["a1", "likes tea", "likes figs"], ids=["77aa", "a1b2c3-d", "a1b2d4-e"])

    word = await reply_to("/forget a1", memory)
    ambiguous = await reply_to("/forget a1b yes", memory)
    asked = await reply_to("/forget #A1B2C", memory)
    before = list(memory.texts)
    done = await reply_to("/forget a1b2c yes", memory)

    assert word.splitlines()[1:-2] == ["- 1. a1"]
    assert ambiguous == (
        "The id a1b is ambiguous: send /forget with the number of the fact.\n- 2. likes tea\n- 3. likes figs"
    )
    assert asked.splitlines()[1:-2] == ["- 2. likes tea"]
    assert asked.splitlines()[-1].startswith("Send /forget a1b2c yes to confirm")
    assert (len(before), memory.texts, "I forgot 1 fact" in done) == (3, ["a1", "likes figs"], True)
