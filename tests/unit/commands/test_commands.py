"""The replies to slash commands."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.commands.command import MEMORY_OFF
from gaia_memory.commands.dispatch import COMMANDS, parse
from gaia_memory.commands.forget import RESET_HINT, STILL_HERE, STILL_HIDDEN
from gaia_memory.commands.private import private_message
from gaia_memory.commands.rows import filter_by_words, number_facts, split_words
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.config.sources.load import load
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.forget.delete import HOST_SESSION_NOTE, OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE
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
    """The name is lowercased; the rest is the argument."""
    assert parse(text) == parsed


@pytest.mark.acceptance("C15")
@pytest.mark.parametrize("text", ["and/or", "tea or /coffee?", "/", "/ memory", "/usr/bin is full", "//memory", ""])
def test_a_slash_elsewhere_is_not_a_command(text: str) -> None:
    """Users write slashes in sentences and paths."""
    assert parse(text) is None


@pytest.mark.acceptance("C04")
async def test_remember_stores_the_words_and_repeats_them() -> None:
    """The reply quotes the stored fact."""
    memory = ListMemory()

    reply = await run_command("/remember I like teal", memory)

    assert "I like teal" in reply.text
    assert reply.command == "remember"
    assert memory.texts == ["I like teal"]


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("call Bob tomorrow", r"call Bob tomorrow \(\d{4}-\d\d-\d\d\)"),
        ("my exam is on 27 March 2031", r"my exam is on 27 March 2031"),
    ],
)
async def test_remember_dates_a_day_that_is_another_one_tomorrow(note: str, kept: str) -> None:
    """The reply says what is kept."""
    memory = ListMemory()

    reply = await run_command(f"/remember {note}", memory)

    assert re.fullmatch(kept, memory.texts[0])
    assert memory.texts[0] in reply.text


@pytest.mark.acceptance("C05")
async def test_remember_alone_shows_its_usage() -> None:
    """Nothing is stored."""
    memory = ListMemory()

    reply = await run_command("/remember", memory)

    assert "usage" in reply.text.lower()
    assert memory.texts == []


@pytest.mark.acceptance("C07")
async def test_memory_shows_a_page_the_true_count_and_the_way_to_the_next() -> None:
    """The count is that of all facts, not of the page."""
    memory = ListMemory(list(FORTY_FIVE))

    pages = [(await run_command(f"/memory {page}", memory)).text for page in ("", 2, 3)]

    assert all("45" in page.splitlines()[0] for page in pages)
    assert [f"/memory {number}" in page for number, page in enumerate(pages, start=2)] == [True, True, False]
    listed = "\n".join(pages).splitlines()
    assert [f"{number}. {text}" in listed for number, text in enumerate(FORTY_FIVE, start=1)] == [True] * 45


@pytest.mark.parametrize("page", ["4", "9" * 5000, "2-3", "???"])
async def test_memory_says_which_pages_there_are(page: str) -> None:
    """A number without a page, and punctuation alone, get the usage."""
    reply = await run_command(f"/memory {page}", ListMemory(list(FORTY_FIVE)))

    assert "usage" in reply.text.lower()
    assert "1 to 3" in reply.text


async def test_memory_names_no_page_where_there_is_one() -> None:
    """`/memory 2` is no reason to read a list of usages."""
    reply = await run_command("/memory 2", ListMemory(["likes tea"]))

    assert reply.text == "There is only one page. Usage: /memory, or /memory WORDS to search."


async def test_memory_with_words_lists_the_matches_best_first_under_their_own_numbers() -> None:
    """The index gives the order, the full list the numbers; facts without any form of the word are left out."""
    memory = ListMemory(["allergic to nuts", "likes tea", "Nuts: none at home", "nutrition is a hobby"])

    reply = await run_command("/memory NUTS", memory)

    assert reply.text.splitlines()[1:] == ["- 3. Nuts: none at home", "- 1. allergic to nuts"]
    assert "2 facts" in reply.text


async def test_a_search_with_many_matches_shows_the_best_and_says_so() -> None:
    """One page is shown; the count covers all matches."""
    reply = await run_command("/memory number", ListMemory(list(FORTY_FIVE)))

    assert "45 facts" in reply.text
    assert reply.text.splitlines()[1] == "- 45. fact number 45"
    assert len(reply.text.splitlines()) == 23
    assert "Add words" in reply.text


async def test_a_search_without_matches_says_so() -> None:
    """It shows no row."""
    reply = await run_command("/memory boats", ListMemory(["likes tea"]))

    assert "Nothing I remember" in reply.text
    assert "tea" not in reply.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Caf\u00e9, CAFE\u0301!", ["café"]),
        ("n\u200buts \uff2e\uff35\uff34\uff33", ["nuts"]),
        ("don't", ["don", "t"]),
        ("#3, 5.", ["3", "5"]),
        ("?!", []),
    ],
)
def test_words_are_compared_without_case_form_and_invisible_characters(text: str, words: list[str]) -> None:
    """Each word once, in order."""
    assert split_words(text) == words


@pytest.mark.parametrize(("word", "found"), [("花生", [1]), ("ПЛАВАНИЕ", [3]), ("allerg", [])])
def test_a_word_of_a_script_without_capitals_is_found_inside_another(word: str, found: list[int]) -> None:
    """Chinese has no spaces, and Hebrew attaches particles; in scripts with capitals only whole words match."""
    rows = number_facts(
        [make_fact("1", "我对花生过敏"), make_fact("2", "אלרגי לאגוזים"), make_fact("3", "любит плавание, allergies")]
    )

    assert [row.number for row in filter_by_words(rows, split_words(word))] == found


async def test_a_fact_of_several_lines_is_one_line_of_the_list() -> None:
    """Line breaks and runs of spaces become one space."""
    reply = await run_command("/memory", ListMemory(["tea\n  and cake"]))

    assert "1. tea and cake" in reply.text.splitlines()


@pytest.mark.acceptance("C08")
async def test_memory_of_an_unknown_user_is_empty() -> None:
    """The reply says so."""
    assert "Nothing is stored" in (await run_command("/memory", ListMemory())).text


@pytest.mark.acceptance("C09")
async def test_forget_asks_first_and_names_the_true_count() -> None:
    """Nothing is forgotten before a yes."""
    memory = ListMemory(list(FORTY_FIVE))

    reply = await run_command("/forget", memory)

    assert "45" in reply.text
    assert "/forget yes" in reply.text
    assert memory.texts == FORTY_FIVE


@pytest.mark.acceptance("C10")
async def test_forget_yes_forgets_and_reports_the_count() -> None:
    """The reply counts the forgotten facts and mentions files that are still being rewritten."""
    memory = ListMemory(list(FORTY_FIVE), pending=True)

    reply = await run_command("/forget YES", memory)

    assert "45" in reply.text
    assert "background" in reply.text
    assert memory.texts == []


@pytest.mark.acceptance("C12", "C13")
async def test_forget_yes_without_facts_still_forgets_unlearned_messages() -> None:
    """There is nothing to forget, but earlier messages must not be learned later."""
    memory = ListMemory(pending=True, notes=(OPEN_SESSION_NOTE, REWOUND_SESSION_NOTE, HOST_SESSION_NOTE))

    reply = await run_command("/forget yes", memory)

    assert "nothing to forget" in reply.text
    assert reply.text.splitlines()[1:] == [STILL_HIDDEN, STILL_HERE, RESET_HINT]
    assert memory.forget_count == 1


@pytest.mark.acceptance("S13")
async def test_a_failed_reset_says_that_nothing_was_saved() -> None:
    """The user learns that the conversation was not saved."""
    assert "not saved" in (await run_command("/reset", ListMemory(), reset="failed")).text


@pytest.mark.acceptance("I21")
@pytest.mark.parametrize("enabled", [True, False])
async def test_private_reports_the_state_of_the_conversation(enabled: bool) -> None:
    """A second /private keeps it on, only `off` ends it, and it works while memory is off."""
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
    """The note follows the facts; it is missing for other conversations."""
    is_open = (await run_command("/memory", ListMemory(["tea"]))).text
    is_private = (await run_command("/memory", ListMemory(["tea"], private=True))).text

    assert "private" not in is_open
    assert is_private.splitlines()[-1].startswith("This conversation is private")


@pytest.mark.parametrize(("reset", "ends"), [("cleared", True), ("failed", False), ("busy", False)])
async def test_only_a_reset_that_cleared_ends_privacy(reset: Any, ends: bool) -> None:
    """The reply says so."""
    memory = ListMemory(private=True)
    reply = await run_command("/reset", memory, reset=reset)

    assert ("not private" in reply.text, memory.private) == (ends, not ends)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/private my PIN", "my PIN"),
        ("/private on", None),
        ("/private on please", None),
        ("/private: off!", None),
        ("/private on my way home I met Ana", "on my way home I met Ana"),
        ("/help me", None),
    ],
)
def test_private_with_a_message_is_not_a_switch(text: str, words: str | None) -> None:
    """`on` and `off` are not messages."""
    parsed = parse(text)

    assert parsed is not None
    assert private_message(*parsed) == words


async def test_help_has_one_line_for_each_command() -> None:
    """It works while memory is off, and adds that it is off."""
    lines = (await run_command("/help", ListMemory(), enabled=True)).text.splitlines()
    without = (await run_command("/help", ListMemory(), enabled=False)).text.splitlines()

    assert [line.partition("  ")[0] for line in lines] == [f"- {command.usage}" for command in COMMANDS.values()]
    assert len({line.index(command.summary) for line, command in zip(lines, COMMANDS.values(), strict=True)}) == 1
    assert max(map(len, lines)) <= 100
    assert without == [*lines, "", MEMORY_OFF]


@pytest.mark.acceptance("C06")
@pytest.mark.parametrize("text", ["/remember x", "/memory", "/forget", "/forget yes", "/reset"])
async def test_commands_say_that_memory_is_off(text: str) -> None:
    """They change nothing."""
    memory = ListMemory(["tea"])

    reply = await run_command(text, memory, enabled=False)

    assert "off" in reply.text
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("C16")
@pytest.mark.parametrize(("word", "enabled"), [("off", True), ("ON", False)])
async def test_only_an_admin_can_switch_memory(word: str, enabled: bool) -> None:
    """For other users nothing changes, whatever the current state."""
    settings = LiveConfig(load({"memory": {"enabled": enabled}}, environ={}))

    reply = await run_command(f"/memory {word}", ListMemory(["tea"]), settings=settings, enabled=enabled)

    assert "Only an admin" in reply.text
    assert settings.config.memory.enabled == enabled


@pytest.mark.acceptance("C17")
@pytest.mark.parametrize(("word", "enabled"), [("off", True), ("On", False)])
async def test_an_admin_switches_memory_off_and_on(word: str, enabled: bool) -> None:
    """Without a file the change is temporary, and the reply says so; a second time it says "already"."""
    settings = LiveConfig(load({"memory": {"enabled": enabled}}, environ={}))
    memory = ListMemory(["tea"])

    reply = await run_command(f"/memory {word}", memory, settings=settings, enabled=enabled, is_admin=True)
    again = await run_command(f"/memory {word}", memory, settings=settings, enabled=not enabled, is_admin=True)

    assert settings.config.memory.enabled is not enabled
    assert f"Memory is {word.lower()}" in reply.text
    assert "until memory is opened again" in reply.text
    assert "other event loops of this one are not affected" in reply.text
    assert "for all users" not in reply.text
    assert "already" in again.text
    assert memory.texts == ["tea"]


@pytest.mark.acceptance("C17")
async def test_a_file_that_cannot_be_changed_is_reported_without_its_path(tmp_path: Path) -> None:
    """Memory stays as it is, and the reply names the obstacle."""
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
async def test_an_unknown_command_suggests_help_and_the_closest_name() -> None:
    """A typo gets the right name."""
    reply = await run_command("/memroy", ListMemory())

    assert "/help" in reply.text
    assert "/memory" in reply.text
    assert reply.command is None


@pytest.mark.acceptance("G09")
async def test_a_memory_that_cannot_answer_says_why_and_what_to_do() -> None:
    """The reply contains reason and remedy."""
    reply = await run_command("/memory", ListMemory(error=MemoryUnavailable("the disk is full", remedy="free some")))

    assert "the disk is full" in reply.text
    assert "free some" in reply.text


@pytest.mark.acceptance("G09")
@pytest.mark.parametrize("facts", [[], ["likes tea"]], ids=["nothing known", "a fact"])
async def test_a_degraded_memory_lists_its_facts_and_reports_the_problem(facts: list[str]) -> None:
    """Reason and remedy follow the facts."""
    down = Status(state="degraded", reason="the embedder refused the key", remedy="set a new one")
    lines = (await run_command("/memory", ListMemory(list(facts), current_status=down))).text.splitlines()

    assert lines[-1] == "There is a problem: the embedder refused the key; set a new one"
    assert [f"1. {fact}" in lines for fact in facts] == [True] * len(facts)


@pytest.mark.parametrize(
    ("reason", "redacted"),
    [
        (
            "/home/My User/gaia.yaml: the last good version stays in force",
            "gaia.yaml: the last good version stays in force",
        ),
        ("C:\\Users\\Ada L\\gaia.yaml: no such file", "gaia.yaml: no such file"),
        ("~ada/x/home cannot be used; name another: `home`", "… cannot be used; name another: `home`"),
        ("no answer from http://me:pw@host.example/v1 at 10.1.2.3:80", "no answer from … at …"),
        ("db.corp.example:5432, localhost and [::1]:8000 are away", "…, … and … are away"),
        (
            "gemini:models/gemini-embedding-2:768 answered 429/500",
            "gemini:models/gemini-embedding-2:768 answered 429/500",
        ),
    ],
)
async def test_problems_are_reported_without_paths_and_addresses(reason: str, redacted: str) -> None:
    """This applies to the status and to errors; a model's name is kept."""
    status = Status(state="degraded", reason=reason, remedy="wait")
    listed = (await run_command("/memory", ListMemory(current_status=status))).text
    refused = (await run_command("/memory", ListMemory(error=MemoryUnavailable(reason, remedy="wait")))).text

    assert listed.splitlines()[-1] == f"There is a problem: {redacted}; wait"
    assert refused == f"Memory is not available right now: {redacted}: wait"


HOSTILE = "Ann \x1b[2J\x1b]52;c;x\x07\x9b\u202e\u200b\U000e0041![x](http://evil.example/p.png)<img src=x> **likes** tea"
PLAIN = "Ann [2J]52;c;x![x] (http://evil.example/p.png)< img src=x> \\*\\*likes\\*\\* tea"


@pytest.mark.parametrize("text", ["/memory", "/forget 1", f"/remember {HOSTILE}", "/reset"])
async def test_a_reply_shows_a_fact_as_plain_text(text: str) -> None:
    """It controls no terminal and is no markup in a page."""
    memory = ListMemory([HOSTILE])
    reply = await run_command(text, memory, learned=[make_fact("a", HOSTILE)])

    assert PLAIN in reply.text


async def test_an_error_in_a_reply_controls_no_terminal() -> None:
    """It may quote a fact or a setting."""
    memory = ListMemory(error=MemoryUnavailable("away \x1b[2J\u202e"))

    assert (await run_command("/memory", memory)).text == "Memory is not available right now: away [2J"


@pytest.mark.parametrize(
    ("note", "due"),
    [
        ("dentist on 27 March 2031 at 9", "Due Thu, 27 Mar 2031, 09:00"),
        ("remind me on 27 March 2031 to call Anna", "Due Thu, 27 Mar 2031"),
        ("remind me every Monday at 9 to rest", "09:00, then weekly"),
        ("every Tuesday and Friday: take Dad his dinner", ", then weekly on Tuesday and Friday"),
        ("dentist on 27 March 2031 at 9 IST", "I do not know the time zone IST."),
    ],
)
async def test_remember_says_when_the_fact_is_due(note: str, due: str) -> None:
    """The person sees what will happen, and can correct it."""
    reply = await run_command(f"/remember {note}", ListMemory())

    assert reply.text.startswith(f"I will remember: {note}\nDue ")
    assert reply.text.endswith(due)


@pytest.mark.parametrize(
    ("note", "is_said"),
    [
        ("remind me on Tuesday and Thursday to take Dad his dinner", True),
        ("remind me every Tuesday, Wednesday and Friday to take Dad his dinner", False),
        ("remind me on Tuesday to prepare the talk on Thursday", False),
    ],
)
async def test_remember_says_that_one_of_several_dates_is_set(note: str, is_said: bool) -> None:
    """A fact has one due date; the person learns that the other days need a reminder of their own."""
    reply = await run_command(f"/remember {note}", ListMemory())

    assert reply.text.endswith("Only this one of the dates is set: send a /remember for each of the others.") == is_said


@pytest.mark.parametrize(
    ("note", "is_said"),
    [
        ("remind me on 31 February to pay rent", True),
        ("remind me to pay rent", True),
        ("I am at home until Friday", False),
    ],
)
async def test_remember_says_when_a_reminder_is_never_due(note: str, is_said: bool) -> None:
    """There is no such day, or none is named; who asks for no reminder expects none."""
    reply = await run_command(f"/remember {note}", ListMemory())

    assert ("\nNothing will be announced: " in reply.text) == is_said
