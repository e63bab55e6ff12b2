"""What a person reads when they type a slash command."""

from __future__ import annotations

import pytest

from gaia_memory.commands.command import MEMORY_OFF
from gaia_memory.commands.registry import COMMANDS, parse
from gaia_memory.errors import InvalidInputError, MemoryUnavailable
from gaia_memory.models import Status
from support.commands import ListMemory, typed

FORTY_FIVE = [f"fact number {number}" for number in range(1, 46)]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/memory", ("memory", "")),
        (" /Remember  I like teal ", ("remember", "I like teal")),
        ("/remember two\nlines", ("remember", "two\nlines")),
        ("/memory@gaia_bot 2", ("memory", "2")),
        ("/nope", ("nope", "")),
    ],
)
def test_a_slash_and_a_word_at_the_start_is_a_command(text: str, parsed: tuple[str, str]) -> None:
    """The name is lower case, the argument is the rest."""
    assert parse(text) == parsed


@pytest.mark.acceptance("C15")
@pytest.mark.parametrize("text", ["and/or", "tea or /coffee?", "/", "/ memory", "/usr/bin is full", "//memory", ""])
def test_a_slash_elsewhere_is_talk(text: str) -> None:
    """People write slashes in sentences and paths."""
    assert parse(text) is None


def test_the_commands_are_the_modules_of_the_folder() -> None:
    """Each command is a file of its own."""
    assert set(COMMANDS) == {"forget", "help", "memory", "remember", "reset"}


@pytest.mark.acceptance("C04")
async def test_remember_keeps_the_words_and_repeats_them() -> None:
    """The reply shows what was kept."""
    memory = ListMemory()

    reply = await typed("/remember I like teal", memory)

    assert "I like teal" in reply.text
    assert reply.command == "remember"
    assert memory.texts == ["I like teal"]


@pytest.mark.acceptance("C05")
async def test_remember_alone_shows_its_usage() -> None:
    """Nothing is stored."""
    memory = ListMemory()

    reply = await typed("/remember", memory)

    assert "usage" in reply.text.lower()
    assert memory.texts == []


@pytest.mark.acceptance("C07")
async def test_memory_shows_a_page_the_true_count_and_the_way_to_the_next() -> None:
    """45 facts are 45, whatever fits on a page."""
    memory = ListMemory(list(FORTY_FIVE))

    pages = [(await typed(f"/memory {page}", memory)).text for page in ("", 2, 3)]

    assert all("45" in page.splitlines()[0] for page in pages)
    assert [f"/memory {number}" in page for number, page in enumerate(pages, start=2)] == [True, True, False]
    listed = "\n".join(pages).splitlines()
    assert [f"{number}. {text}" in listed for number, text in enumerate(FORTY_FIVE, start=1)] == [True] * 45


@pytest.mark.parametrize("page", ["0", "4", "-1", "off", "²"])
async def test_memory_says_which_pages_there_are(page: str) -> None:
    """A page that is none shows the usage."""
    reply = await typed(f"/memory {page}", ListMemory(list(FORTY_FIVE)))

    assert "usage" in reply.text.lower()
    assert "1 to 3" in reply.text


async def test_a_fact_of_several_lines_is_one_line_of_the_list() -> None:
    """Numbers stay readable."""
    reply = await typed("/memory", ListMemory(["tea\n  and cake"]))

    assert "1. tea and cake" in reply.text.splitlines()


@pytest.mark.acceptance("C08")
async def test_memory_of_a_stranger_is_empty() -> None:
    """It says so."""
    assert "don't remember" in (await typed("/memory", ListMemory())).text


@pytest.mark.acceptance("C09")
async def test_forget_asks_first_and_names_the_true_count() -> None:
    """Nothing is gone before a yes."""
    memory = ListMemory(list(FORTY_FIVE))

    reply = await typed("/forget", memory)

    assert "45" in reply.text
    assert "/forget yes" in reply.text
    assert memory.texts == FORTY_FIVE


@pytest.mark.acceptance("C10")
async def test_forget_yes_forgets_and_says_how_much() -> None:
    """The count is the one of what is gone; files that are still rewritten are mentioned."""
    memory = ListMemory(list(FORTY_FIVE), pending=True)

    reply = await typed("/forget YES", memory)

    assert "45" in reply.text
    assert "background" in reply.text
    assert memory.texts == []


@pytest.mark.acceptance("C12", "C13")
async def test_forget_yes_with_nothing_stored_still_forgets_what_was_said() -> None:
    """There is nothing to forget, and talk of before is not learned later."""
    memory = ListMemory()

    reply = await typed("/forget yes", memory)

    assert "nothing to forget" in reply.text
    assert memory.forgets == 1


async def test_forget_anything_else_forgets_nothing() -> None:
    """Only a yes is a yes."""
    memory = ListMemory(["tea"])

    reply = await typed("/forget tea", memory)

    assert "usage" in reply.text.lower()
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("S13")
async def test_a_failed_reset_says_that_nothing_was_saved() -> None:
    """The person knows that the conversation is still there."""
    assert "not saved" in (await typed("/reset", ListMemory(), reset="failed")).text


async def test_every_end_of_a_reset_reads_differently() -> None:
    """Cleared, kept, failed and busy are four things to know."""
    replies = {(await typed("/reset", ListMemory(), reset=end)).text for end in ("cleared", "kept", "failed", "busy")}

    assert len(replies) == 4


async def test_help_has_one_line_for_each_command() -> None:
    """It works while memory is off, and says so."""
    lines = (await typed("/help", ListMemory(), enabled=True)).text.splitlines()
    without = (await typed("/help", ListMemory(), enabled=False)).text.splitlines()

    assert [line.partition(":")[0] for line in lines] == [f"- {command.usage}" for command in COMMANDS.values()]
    assert without == [*lines, "", MEMORY_OFF]


@pytest.mark.acceptance("C06")
@pytest.mark.parametrize("text", ["/remember x", "/memory", "/forget", "/forget yes", "/reset"])
async def test_commands_say_that_memory_is_off(text: str) -> None:
    """And do nothing."""
    memory = ListMemory(["tea"])

    reply = await typed(text, memory, enabled=False)

    assert "off" in reply.text
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("C14")
async def test_an_unknown_command_names_help_and_the_nearest() -> None:
    """A typo is one step from the right word."""
    reply = await typed("/memroy", ListMemory())

    assert "/help" in reply.text
    assert "/memory" in reply.text
    assert reply.command is None


@pytest.mark.acceptance("G09")
async def test_a_memory_that_cannot_answer_says_why_and_what_to_do() -> None:
    """The reason and the remedy reach the person."""
    reply = await typed("/memory", ListMemory(error=MemoryUnavailable("the disk is full", remedy="free some")))

    assert "the disk is full" in reply.text
    assert "free some" in reply.text


@pytest.mark.acceptance("G09")
@pytest.mark.parametrize("facts", [[], ["likes tea"]], ids=["nothing known", "a fact"])
async def test_a_memory_that_works_in_part_lists_what_it_has_and_says_what_is_wrong(facts: list[str]) -> None:
    """The reason and the remedy, below the facts."""
    down = Status(state="degraded", reason="the embedder refused the key", remedy="set a new one")
    lines = (await typed("/memory", ListMemory(list(facts), state=down))).text.splitlines()

    assert lines[-1] == "Something is wrong: the embedder refused the key; set a new one"
    assert [f"1. {fact}" in lines for fact in facts] == [True] * len(facts)


async def test_a_refused_fact_says_why() -> None:
    """A credential, for instance."""
    reply = await typed("/remember x", ListMemory(error=InvalidInputError("the fact holds a credential")))

    assert "credential" in reply.text
