"""What a person reads when they forget a few things: first what it is, then that it is gone."""

from __future__ import annotations

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.forget.delete import OPEN_SESSION_NOTE
from gaia_memory.sessions.pending_confirmations import PendingConfirmations
from support.cli.slash_commands import ListMemory, run_command
from support.factories import KEY

KNOWN = ["likes tea", "is allergic to nuts", "lives in Haifa", "keeps NUTS at home"]


async def said(text: str, memory: ListMemory) -> str:
    return (await run_command(text, memory)).text


@pytest.mark.parametrize(
    ("what", "asked", "gone"),
    [
        ("3", "3", [3]),
        ("4 2", "4 2", [2, 4]),
        ("#2, 4.", "2 4", [2, 4]),
        ("\u0663", "\u0663", [3]),
        ("2-4", "2-4", [2, 3, 4]),
        ("4\u20132", "4-2", [2, 3, 4]),
        ("1 - 2 #3-#4", "1-2 3-4", [1, 2, 3, 4]),
        ("1, 3-4 3", "1 3-4 3", [1, 3, 4]),
        ("2-2.", "2-2", [2]),
        ("Nuts", "nuts", [2, 4]),
        ("HAIFA", "haifa", [3]),
        ("nuts home", "nuts home", [4]),
    ],
)
async def test_what_was_shown_is_forgotten_at_a_yes_and_nothing_before(what: str, asked: str, gone: list[int]) -> None:
    """Rows by number, facts by all of their words; each under its number, with the words that do it."""
    memory = ListMemory(list(KNOWN))

    shown = await said(f"/forget {what}", memory)
    before = list(memory.texts)
    done = await said(f"/forget {what} Yes!", memory)

    rows = [f"- {number}. {KNOWN[number - 1]}" for number in gone]
    assert shown.splitlines()[1:-2] == rows
    assert shown.splitlines()[-1].startswith(f"/forget {asked} yes does it")
    assert before == KNOWN
    assert memory.texts == [text for number, text in enumerate(KNOWN, start=1) if number not in gone]
    assert f"I forgot {len(gone)} fact" in done


@pytest.mark.parametrize("what", ["3", "nuts"])
async def test_a_yes_for_what_was_never_shown_shows_it_and_asks(what: str) -> None:
    """As after a restart; the same yes once more does it."""
    memory = ListMemory(list(KNOWN))

    first = await said(f"/forget {what} yes", memory)
    before = list(memory.texts)
    await said(f"/forget {what} yes", memory)

    assert "please look first" in first
    assert before == KNOWN
    assert len(memory.texts) < len(KNOWN)


async def test_a_yes_never_reaches_a_fact_that_took_the_place_of_the_one_shown() -> None:
    """The list moved up meanwhile: row 3 is another one now."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 3", memory)
    memory.texts.remove("likes tea")

    again = await said("/forget 3 yes", memory)

    assert memory.texts == KNOWN[1:]
    assert "3. keeps NUTS at home" in again


async def test_a_yes_never_reaches_a_fact_that_came_after_the_showing() -> None:
    """A third fact about nuts was learned meanwhile."""
    memory = ListMemory(list(KNOWN))
    await said("/forget nuts", memory)
    memory.texts.append("sells nuts")

    again = await said("/forget nuts yes", memory)

    assert memory.texts == [*KNOWN, "sells nuts"]
    assert "5. sells nuts" in again


async def test_a_yes_is_good_for_one_time() -> None:
    """The number is another row's then."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 1", memory)
    await said("/forget 1 yes", memory)

    again = await said("/forget 1 yes", memory)

    assert memory.texts == KNOWN[1:]
    assert "1. is allergic to nuts" in again


async def test_more_than_a_page_is_forgotten_a_page_at_a_time() -> None:
    """Only what was seen goes; how much stays is said."""
    memory = ListMemory([f"book {number}" for number in range(1, 26)])

    shown = await said("/forget book", memory)
    await said("/forget book yes", memory)

    assert "20 facts" in shown
    assert "5 facts more would stay" in shown
    assert memory.texts == [f"book {number}" for number in range(21, 26)]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("9", "no such row"),
        ("0", "no such row"),
        ("0", "Usage"),
        ("-1", "Usage"),
        ("\u22121 yes", "Usage"),
        ("3 -1", "Usage"),
        ("2-", "Usage"),
        ("1-2-3", "Usage"),
        ("- 0-2", "Usage"),
        ("3-9", "no such row"),
        ("1 9 yes", "no such row"),
        ("9" * 5000, "no such row"),
        ("boats", "Nothing I remember"),
        ("boats yes", "Nothing I remember"),
        ("???", "Usage"),
        ("nut", "Nothing I remember"),
        ("no", "Nothing I remember"),
    ],
)
async def test_what_is_not_there_is_said_in_plain_words(what: str, told: str) -> None:
    """And nothing is forgotten, at once or at a yes."""
    memory = ListMemory(list(KNOWN))

    answers = [await said(f"/forget {what}", memory), await said(f"/forget {what}", memory)]

    assert all(told in answer for answer in answers)
    assert memory.texts == KNOWN


async def test_yes_alone_is_everything_also_where_a_fact_holds_the_word() -> None:
    """Such a fact is forgotten by its number, or by the word said twice, which first shows it."""
    memory = ListMemory(["says yes to cake", *KNOWN])

    shown = await said("/forget yes yes", memory)
    before = len(memory.texts)
    await said("/forget", memory)
    everything = await said("/forget yes", memory)

    assert "1. says yes to cake" in shown
    assert before == 5
    assert "5 facts" in everything
    assert memory.texts == []


@pytest.mark.parametrize("what", ["2", "nuts", "1-3"])
@pytest.mark.parametrize("yes", ["yes", "yes!", "YES"])
async def test_a_bare_yes_to_a_question_about_rows_forgets_nothing_and_says_how_to_go_on(what: str, yes: str) -> None:
    """Neither those rows nor everything: nobody can know which was meant."""
    memory = ListMemory(list(KNOWN))
    rows = [line for line in (await said(f"/forget {what}", memory)).splitlines() if line.startswith("- ")]

    answers = [await said(f"/forget {yes}", memory), await said(f"/forget {yes}", memory)]
    before = list(memory.texts)
    await said(f"/forget {what} yes", memory)

    for answer in answers:
        assert "Nothing is forgotten" in answer
        assert answer.splitlines()[1:-2] == rows
        assert f"/forget {what} yes forgets that" in answer
        assert "/forget first, and then /forget yes" in answer
    assert before == KNOWN
    assert len(memory.texts) == len(KNOWN) - len(rows)


async def test_asking_for_everything_takes_the_place_of_a_question_about_rows() -> None:
    """Then a bare yes means all of it, and the rows are shown again before a yes to them."""
    asked, unsure = ListMemory(list(KNOWN)), ListMemory(list(KNOWN))
    for memory in (asked, unsure):
        await said("/forget 2", memory)
        await said("/forget", memory)

    everything = await said("/forget yes", asked)
    again = await said("/forget 2 yes", unsure)

    assert "4 facts" in everything
    assert asked.texts == []
    assert "please look first" in again
    assert unsure.texts == KNOWN


async def test_a_question_that_was_answered_is_in_nobodys_way() -> None:
    """After its yes a bare one means everything; a question of another command is none about rows."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 2", memory)
    await said("/forget 2 yes", memory)
    memory.shown.add(KEY, "memory", "embedder openai", ["openai"])

    assert "3 facts" in await said("/forget yes", memory)
    assert memory.texts == []


async def test_a_bare_yes_about_rows_that_are_gone_by_now_asks_for_everything() -> None:
    """They were forgotten on another channel."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 2", memory)
    memory.texts.remove("is allergic to nuts")

    asked = await said("/forget yes", memory)
    before = list(memory.texts)
    await said("/forget yes", memory)

    assert "This forgets 3 facts" in asked
    assert len(before) == 3
    assert memory.texts == []


async def test_a_bare_yes_after_a_restart_is_no_yes_to_everything() -> None:
    """What was shown is gone with the process, and that something was is known: it asks for everything first."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 2", memory)
    memory.shown = PendingConfirmations()

    asked = await said("/forget yes", memory)
    before = list(memory.texts)
    done = await said("/forget yes", memory)

    assert "Nothing is forgotten yet" in asked
    assert "This forgets 4 facts" in asked
    assert before == KNOWN
    assert "4 facts" in done


@pytest.mark.parametrize("answered", ["/forget 2 yes", "/forget"])
async def test_a_question_that_was_answered_or_replaced_is_none_after_a_restart(answered: str) -> None:
    """Then a bare yes is everything at once."""
    memory = ListMemory(list(KNOWN))
    await said("/forget 2", memory)
    await said(answered, memory)
    memory.shown = PendingConfirmations()

    assert "I forgot" in await said("/forget yes", memory)
    assert memory.texts == []


class Noting:
    """Settings that allow everything and note what is written."""

    def __init__(self) -> None:
        self.written: list[object] = []

    async def change(self, path: tuple[str, str], value: object) -> bool:
        return True

    async def validate_change(self, path: tuple[str, str], value: object) -> None:
        """Allow it."""

    async def change_at_restart(self, path: tuple[str, str], value: object) -> bool:
        self.written.append(value)
        return True


async def test_rows_that_were_shown_are_no_question_of_another_command() -> None:
    """`/forget embedder openai` shows rows, and does not stand for what an admin is asked."""
    memory, settings = ListMemory(["uses the embedder openai"]), Noting()
    await said("/forget embedder openai", memory)

    asked = await run_command("/memory embedder openai yes", memory, settings=settings, is_admin=True)
    before = list(settings.written)
    await run_command("/memory embedder openai yes", memory, settings=settings, is_admin=True)

    assert "Nothing has been changed yet" in asked.text
    assert before == []
    assert settings.written == [{"provider": "openai"}]


@pytest.mark.parametrize(("clear", "is_named"), [("auto", True), ("keep", False)])
@pytest.mark.parametrize("what", ["", "1 "])
async def test_what_is_still_open_can_be_ended_with_a_reset(clear: str, is_named: bool, what: str) -> None:
    """Where a reset clears, the answer names it beside the receipt's note."""
    config = GaiaConfig.model_validate({"sessions": {"clear": clear}})
    memory = ListMemory(list(KNOWN), notes=(OPEN_SESSION_NOTE,), config=config)
    await said(f"/forget {what}", memory)

    done = (await said(f"/forget {what}yes", memory)).splitlines()

    assert f"Note: {OPEN_SESSION_NOTE}." in done
    assert ("/reset" in done[-1]) == is_named


async def test_where_nothing_is_open_no_reset_is_named() -> None:
    """There is nothing for it to end."""
    assert "/reset" not in await said("/forget yes", ListMemory(list(KNOWN)))


async def test_nothing_known_is_nothing_to_choose_from() -> None:
    """It says so."""
    assert "don't remember" in await said("/forget 3", ListMemory())


async def test_the_receipts_notes_are_told_once_and_without_places() -> None:
    """Two facts, one note; what is rewritten in the background is said."""
    memory = ListMemory(list(KNOWN), pending=True, notes=("what is set aside in /home/x/old was not touched",))
    await said("/forget nuts", memory)

    done = (await said("/forget nuts yes", memory)).splitlines()

    assert done[1:] == [
        "The files that held them are being rewritten in the background.",
        "Note: what is set aside in … was not touched.",
    ]


async def test_a_memory_that_goes_away_in_between_is_told_truly() -> None:
    """One of two is gone, and the answer says one."""
    memory = ListMemory(list(KNOWN), fails_after_forgets=1)
    await said("/forget nuts", memory)

    done = await said("/forget nuts yes", memory)

    assert "only 1 fact" in done
    assert len(memory.texts) == 3


async def test_a_memory_that_is_away_from_the_start_forgets_nothing_and_says_why() -> None:
    """As every command does."""
    memory = ListMemory(list(KNOWN), fails_after_forgets=0)
    await said("/forget nuts", memory)

    assert "the disk is full" in await said("/forget nuts yes", memory)
