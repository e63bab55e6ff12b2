"""What a person reads when they type a slash command."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.commands.command import MEMORY_OFF
from gaia_memory.commands.dispatch import COMMANDS, parse
from gaia_memory.commands.private import private_message
from gaia_memory.commands.rows import filter_by_words, number_facts, split_words
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.config.sources.load import load
from gaia_memory.errors import InvalidInputError, MemoryUnavailable
from gaia_memory.models import Status
from support.cli.slash_commands import ListMemory, run_command
from support.factories import make_fact

FORTY_FIVE = [f"fact number {number}" for number in range(1, 46)]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/memory", ("memory", "")),
        (" /Remember  I like teal ", ("remember", "I like teal")),
        ("/remember two\nlines", ("remember", "two\nlines")),
        ("/memory@gaia_bot 2", ("memory", "2")),
        ("/nope", ("nope", "")),
        ("\uff0fprivate on", ("private", "on")),
        ("\u200b\ufeff /private on", ("private", "on")),
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
    assert set(COMMANDS) == {"forget", "help", "memory", "private", "remember", "reset"}


@pytest.mark.acceptance("C04")
async def test_remember_keeps_the_words_and_repeats_them() -> None:
    """The reply shows what was kept."""
    memory = ListMemory()

    reply = await run_command("/remember I like teal", memory)

    assert "I like teal" in reply.text
    assert reply.command == "remember"
    assert memory.texts == ["I like teal"]


@pytest.mark.acceptance("C05")
async def test_remember_alone_shows_its_usage() -> None:
    """Nothing is stored."""
    memory = ListMemory()

    reply = await run_command("/remember", memory)

    assert "usage" in reply.text.lower()
    assert memory.texts == []


@pytest.mark.acceptance("C07")
async def test_memory_shows_a_page_the_true_count_and_the_way_to_the_next() -> None:
    """45 facts are 45, whatever fits on a page."""
    memory = ListMemory(list(FORTY_FIVE))

    pages = [(await run_command(f"/memory {page}", memory)).text for page in ("", 2, 3)]

    assert all("45" in page.splitlines()[0] for page in pages)
    assert [f"/memory {number}" in page for number, page in enumerate(pages, start=2)] == [True, True, False]
    listed = "\n".join(pages).splitlines()
    assert [f"{number}. {text}" in listed for number, text in enumerate(FORTY_FIVE, start=1)] == [True] * 45


@pytest.mark.parametrize("page", ["0", "4", "1 2", "9" * 5000, "-1", "2-3", "???"])
async def test_memory_says_which_pages_there_are(page: str) -> None:
    """A number that is no page, and signs alone, show the usage."""
    reply = await run_command(f"/memory {page}", ListMemory(list(FORTY_FIVE)))

    assert "usage" in reply.text.lower()
    assert "1 to 3" in reply.text


async def test_memory_with_words_shows_what_holds_them_best_first_under_its_own_number() -> None:
    """The order is the index's, the number the one of the whole list; what holds no form of it is left out."""
    memory = ListMemory(["allergic to nuts", "likes tea", "Nuts: none at home", "nutrition is a hobby"])

    reply = await run_command("/memory NUTS", memory)

    assert reply.text.splitlines()[1:] == ["- 3. Nuts: none at home", "- 1. allergic to nuts"]
    assert "2 facts" in reply.text


async def test_what_the_index_found_by_another_form_of_a_word_is_shown_too() -> None:
    """The keyword index knows that `nuts` and `nutty` belong together."""
    reply = await run_command("/memory nut", ListMemory(["likes tea", "nutty cake is good"]))

    assert reply.text.splitlines()[1:] == ["- 2. nutty cake is good"]


async def test_a_search_that_finds_much_shows_the_best_and_says_so() -> None:
    """A page of them; what is not shown is counted."""
    reply = await run_command("/memory number", ListMemory(list(FORTY_FIVE)))

    assert "45 facts" in reply.text
    assert reply.text.splitlines()[1] == "- 45. fact number 45"
    assert len(reply.text.splitlines()) == 23
    assert "more words" in reply.text


async def test_a_search_that_finds_nothing_says_so() -> None:
    """And shows no row."""
    reply = await run_command("/memory boats", ListMemory(["likes tea"]))

    assert "Nothing I remember" in reply.text
    assert "tea" not in reply.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Caf\u00e9, CAFE\u0301!", ["café"]),
        ("n\u200buts \uff2e\uff35\uff34\uff33", ["nuts"]),
        ("don't", ["don", "t"]),
        ("Straße STRASSE", ["strasse"]),
        ("#3, 5.", ["3", "5"]),
        ("हिन्दी", ["हिन्दी"]),
        ("?!", []),
    ],
)
def test_words_are_compared_without_case_form_and_what_is_unseen(text: str, words: list[str]) -> None:
    """Each word once, in order."""
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("word", "found"), [("花生", [1]), ("אגוזים", [2]), ("ПЛАВАНИЕ", [3]), ("плава", []), ("allergi", [])]
)
def test_a_word_of_a_script_without_capitals_is_found_inside_another(word: str, found: list[int]) -> None:
    """Chinese has no spaces, and Hebrew writes particles onto the word; where there are capitals, words are whole."""
    rows = number_facts(
        [make_fact("1", "我对花生过敏"), make_fact("2", "אלרגי לאגוזים"), make_fact("3", "любит плавание, allergies")]
    )

    assert [row.number for row in filter_by_words(rows, split_words(word))] == found


async def test_a_fact_of_several_lines_is_one_line_of_the_list() -> None:
    """Numbers stay readable."""
    reply = await run_command("/memory", ListMemory(["tea\n  and cake"]))

    assert "1. tea and cake" in reply.text.splitlines()


@pytest.mark.acceptance("C08")
async def test_memory_of_a_stranger_is_empty() -> None:
    """It says so."""
    assert "don't remember" in (await run_command("/memory", ListMemory())).text


@pytest.mark.acceptance("C09")
async def test_forget_asks_first_and_names_the_true_count() -> None:
    """Nothing is gone before a yes."""
    memory = ListMemory(list(FORTY_FIVE))

    reply = await run_command("/forget", memory)

    assert "45" in reply.text
    assert "/forget yes" in reply.text
    assert memory.texts == FORTY_FIVE


@pytest.mark.acceptance("C10")
async def test_forget_yes_forgets_and_says_how_much() -> None:
    """The count is the one of what is gone; files that are still rewritten are mentioned."""
    memory = ListMemory(list(FORTY_FIVE), pending=True)

    reply = await run_command("/forget YES", memory)

    assert "45" in reply.text
    assert "background" in reply.text
    assert memory.texts == []


@pytest.mark.acceptance("C12", "C13")
async def test_forget_yes_with_nothing_stored_still_forgets_what_was_said() -> None:
    """There is nothing to forget, and talk of before is not learned later."""
    memory = ListMemory()

    reply = await run_command("/forget yes", memory)

    assert "nothing to forget" in reply.text
    assert memory.forget_count == 1


@pytest.mark.acceptance("S13")
async def test_a_failed_reset_says_that_nothing_was_saved() -> None:
    """The person knows that the conversation is still there."""
    assert "not saved" in (await run_command("/reset", ListMemory(), reset="failed")).text


async def test_every_end_of_a_reset_reads_differently() -> None:
    """Cleared, kept, failed and busy are four things to know."""
    replies = {
        (await run_command("/reset", ListMemory(), reset=end)).text for end in ("cleared", "kept", "failed", "busy")
    }

    assert len(replies) == 4


@pytest.mark.acceptance("I21")
@pytest.mark.parametrize("enabled", [True, False])
async def test_private_says_what_holds_from_now_on(enabled: bool) -> None:
    """Asked for again it stays, it ends only by its word, and it can be begun while memory is off."""
    memory = ListMemory()
    replies = [
        (await run_command(f"/private {word}", memory, enabled=enabled)).text for word in ("", "ON", "Off", "off")
    ]

    assert "nothing" in replies[0]
    assert "is private" in replies[1]
    assert "no longer private" in replies[2]
    assert "is not private" in replies[3]
    assert not memory.private


@pytest.mark.acceptance("I21")
async def test_memory_says_that_the_conversation_is_private() -> None:
    """Below the facts; of one that is not it says nothing."""
    is_open = (await run_command("/memory", ListMemory(["tea"]))).text
    is_private = (await run_command("/memory", ListMemory(["tea"], private=True))).text

    assert "private" not in is_open
    assert is_private.splitlines()[-1].startswith("This conversation is private")


@pytest.mark.parametrize(("reset", "ends"), [("cleared", True), ("kept", False), ("failed", False), ("busy", False)])
async def test_only_a_reset_that_cleared_ends_what_is_private(reset: Any, ends: bool) -> None:
    """And says so."""
    memory = ListMemory(private=True)
    reply = await run_command("/reset", memory, reset=reset)

    assert ("not private" in reply.text, memory.private) == (ends, not ends)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/private my PIN", "my PIN"),
        ("/private on", None),
        ("/private OFF", None),
        ("/private on please", None),
        ("/private: off!", None),
        ("/private on my way home I met Ana", "on my way home I met Ana"),
        ("/private", None),
        ("/help me", None),
    ],
)
def test_only_a_message_is_said_privately(text: str, words: str | None) -> None:
    """The words that switch are none."""
    parsed = parse(text)

    assert parsed is not None
    assert private_message(*parsed) == words


async def test_help_has_one_line_for_each_command() -> None:
    """It works while memory is off, and says so."""
    lines = (await run_command("/help", ListMemory(), enabled=True)).text.splitlines()
    without = (await run_command("/help", ListMemory(), enabled=False)).text.splitlines()

    assert [line.partition(":")[0] for line in lines] == [f"- {command.usage}" for command in COMMANDS.values()]
    assert without == [*lines, "", MEMORY_OFF]


@pytest.mark.acceptance("C06")
@pytest.mark.parametrize("text", ["/remember x", "/memory", "/forget", "/forget yes", "/reset"])
async def test_commands_say_that_memory_is_off(text: str) -> None:
    """And do nothing."""
    memory = ListMemory(["tea"])

    reply = await run_command(text, memory, enabled=False)

    assert "off" in reply.text
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("C16")
@pytest.mark.parametrize(("word", "enabled"), [("off", True), ("ON", False), ("on", True), ("off", False)])
async def test_who_is_no_admin_does_not_switch_memory(word: str, enabled: bool) -> None:
    """Nothing is changed, whatever it is now."""
    settings = LiveConfig(load({"memory": {"enabled": enabled}}, environ={}))

    reply = await run_command(f"/memory {word}", ListMemory(["tea"]), settings=settings, enabled=enabled)

    assert "Only an admin" in reply.text
    assert settings.config.memory.enabled == enabled


@pytest.mark.acceptance("C17")
@pytest.mark.parametrize(("word", "enabled"), [("off", True), ("On", False)])
async def test_an_admin_switches_memory_off_and_on(word: str, enabled: bool) -> None:
    """Without a file it holds for now, and the answer says so; asked for again it is so already."""
    settings = LiveConfig(load({"memory": {"enabled": enabled}}, environ={}))
    memory = ListMemory(["tea"])

    reply = await run_command(f"/memory {word}", memory, settings=settings, enabled=enabled, is_admin=True)
    again = await run_command(f"/memory {word}", memory, settings=settings, enabled=not enabled, is_admin=True)

    assert settings.config.memory.enabled is not enabled
    assert f"Memory is {word.lower()}" in reply.text
    assert "until memory is opened anew" in reply.text
    assert "another event loop of this one, goes on as before" in reply.text
    assert "for everybody, " not in reply.text
    assert "already" in again.text
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("C17")
async def test_a_file_that_cannot_be_changed_is_told_to_the_admin_without_its_place(tmp_path: Path) -> None:
    """Memory stays as it is, and the answer says what stands in the way."""
    path = tmp_path / "gaia.yaml"
    path.write_text("app: x\n", encoding="utf-8")
    loaded = await asyncio.to_thread(load, path, environ={"GAIA_MEMORY__ENABLED": "true"})
    settings = LiveConfig(loaded)

    reply = await run_command("/memory off", ListMemory(), settings=settings, is_admin=True)

    assert reply.text.startswith("Memory stays on: gaia.yaml")
    assert "environment" in reply.text
    assert str(tmp_path) not in reply.text
    assert settings.config.memory.enabled


@pytest.mark.acceptance("C14")
async def test_an_unknown_command_names_help_and_the_nearest() -> None:
    """A typo is one step from the right word."""
    reply = await run_command("/memroy", ListMemory())

    assert "/help" in reply.text
    assert "/memory" in reply.text
    assert reply.command is None


@pytest.mark.acceptance("G09")
async def test_a_memory_that_cannot_answer_says_why_and_what_to_do() -> None:
    """The reason and the remedy reach the person."""
    reply = await run_command("/memory", ListMemory(error=MemoryUnavailable("the disk is full", remedy="free some")))

    assert "the disk is full" in reply.text
    assert "free some" in reply.text


@pytest.mark.acceptance("G09")
@pytest.mark.parametrize("facts", [[], ["likes tea"]], ids=["nothing known", "a fact"])
async def test_a_memory_that_works_in_part_lists_what_it_has_and_says_what_is_wrong(facts: list[str]) -> None:
    """The reason and the remedy, below the facts."""
    down = Status(state="degraded", reason="the embedder refused the key", remedy="set a new one")
    lines = (await run_command("/memory", ListMemory(list(facts), current_status=down))).text.splitlines()

    assert lines[-1] == "Something is wrong: the embedder refused the key; set a new one"
    assert [f"1. {fact}" in lines for fact in facts] == [True] * len(facts)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            "/home/My User/gaia.yaml: the last good version stays in force",
            "gaia.yaml: the last good version stays in force",
        ),
        ("C:\\Users\\Ada L\\gaia.yaml: no such file", "gaia.yaml: no such file"),
        ("~ada/x/home cannot be used; name another: `home`", "… cannot be used; name another: `home`"),
        ("/etc/own.yaml: no such file", "…: no such file"),
        ("set aside in /a b/c.1, ./d/e", "set aside in …, …"),
        ("no answer from http://me:pw@host.example/v1 at 10.1.2.3:80", "no answer from … at …"),
        ("db.corp.example:5432, localhost and [::1]:8000 are away", "…, … and … are away"),
        (
            "gemini:models/gemini-embedding-2:768 answered 429/500",
            "gemini:models/gemini-embedding-2:768 answered 429/500",
        ),
    ],
)
async def test_what_is_wrong_is_said_without_the_places_of_the_machine(reason: str, told: str) -> None:
    """A person learns what and not where, from the status as from an error; a model's name is no place."""
    status = Status(state="degraded", reason=reason, remedy="wait")
    listed = (await run_command("/memory", ListMemory(current_status=status))).text
    refused = (await run_command("/memory", ListMemory(error=MemoryUnavailable(reason, remedy="wait")))).text

    assert listed.splitlines()[-1] == f"Something is wrong: {told}; wait"
    assert refused == f"Memory cannot do that right now: {told}: wait"


async def test_a_refused_fact_says_why() -> None:
    """A credential, for instance."""
    reply = await run_command("/remember x", ListMemory(error=InvalidInputError("the fact holds a credential")))

    assert "credential" in reply.text
