"""`gaia memory` on a real home."""

from __future__ import annotations

import asyncio
import getpass
import json
import re
import shlex
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.cli.app import memory as memory_app
from support.cli.cli_runner import (
    GAIA_COMMAND,
    CommandResult,
    gaia_home,
    run_gaia,
    write_offline_config,
)
from support.servers.chroma_server import chroma_server


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for an empty home."""
    return str(write_offline_config(tmp_path))


def memory(config: str, command: str, user: str, *arguments: str, typed: str | None = None) -> CommandResult:
    """Run one of the memory commands."""
    return run_gaia("memory", command, "--user", user, "--config", config, *arguments, stdin=typed)


def texts(config: str, user: str, *arguments: str) -> list[str]:
    """Return the texts of a user's facts."""
    return [row["text"] for row in memory(config, "list", user, "--json", *arguments).json_output["memories"]]


def files_with(word: bytes) -> list[str]:
    """Return the files of the home that contain a word."""
    return [str(path) for path in gaia_home().rglob("*") if path.is_file() and word in path.read_bytes()]


def test_without_a_key_the_fact_that_shares_a_word_is_shown_first(config: str) -> None:
    """Its neighbours follow; without a shared word nothing is found."""
    said = "Ich habe einen Kater\nMir gehören zwei Hunde\nAm Samstag besuche ich meine Oma\n/reset\n"
    run_gaia("chat", "--user", "itay", "--config", config, stdin=said)
    shown = {
        question: memory(config, "search", "itay", question).out
        for question in ("Kater", "Welche Hunde gehören mir?", "Oma besuche", "Blutgruppe")
    }

    first = [re.findall("Kater|Hunde|Oma", out)[:1] for out in shown.values()]
    assert first == [["Kater"], ["Hunde"], ["Oma"], []]
    assert shown["Blutgruppe"] == "No fact about itay answers that.\n"


def test_where_nothing_is_found_what_waits_to_be_learned_is_named(config: str) -> None:
    """A list right after the first chat is empty, and nothing is lost."""
    run_gaia("chat", "--user", "ada", "--config", config, stdin="I live in Rome\n")
    answers = memory(config, "list", "ada"), memory(config, "search", "ada", "Rome")

    assert [each.code for each in answers] == [0, 0]
    assert all("1 conversation waits to be learned: `gaia sweep --force`" in each.err for each in answers)


def test_added_facts_are_listed_and_found(config: str) -> None:
    """Facts given as arguments are stored verbatim, once, and shown with their source."""
    added = memory(config, "add", "itay", "Allergic to nuts", "Sister is called Noa")
    again = memory(config, "add", "itay", "allergic to  nuts.")
    listed = memory(config, "list", "itay", "--json").json_output
    found = memory(config, "search", "itay", "sister", "called", "--limit", "1", "--json").json_output

    assert (added.code, added.out) == (0, "2 facts added; 2 facts about itay now.\n")
    assert again.out == "0 facts added, 1 already known; 2 facts about itay now.\n"
    assert set(listed) == {"user", "memories", "total", "has_more"}
    assert listed["user"] == "itay"
    assert [row["text"] for row in listed["memories"]] == ["Allergic to nuts", "Sister is called Noa"]
    assert {row["source"] for row in listed["memories"]} == {"add"}
    assert [row["text"] for row in found["memories"]] == ["Sister is called Noa"]
    assert found["memories"][0]["score"] > 0


def test_tables_show_facts_verbatim(config: str) -> None:
    """Brackets in a fact are plain text; piped output is not truncated."""
    long = "likes [bold]very[/bold] long walks " + "on the beach " * 30
    memory(config, "add", "itay", long.strip())

    assert long.strip() in memory(config, "list", "itay").out
    assert long.strip() in memory(config, "search", "itay", "walks").out


def test_lines_of_a_file_and_of_standard_input_are_facts(config: str, tmp_path: Path) -> None:
    """Blank lines are skipped; many facts are stored in one batch."""
    file = tmp_path / "facts.txt"
    file.write_text("\n\n".join(f"fact number {number}" for number in range(45)), encoding="utf-8")
    memory(config, "add", "itay", "--file", str(file))
    memory(config, "add", "itay", typed="likes tea\n\nlikes cake\n")

    assert len(texts(config, "itay")) == 47
    assert texts(config, "itay")[-2:] == ["likes tea", "likes cake"]


def test_a_list_of_mem0_is_added_with_its_times(config: str, tmp_path: Path) -> None:
    """And with its categories."""
    file = tmp_path / "get_all.json"
    entry = {"memory": "Likes tea", "created_at": "2024-07-20T12:00:00Z", "categories": ["food"], "user_id": "itay"}
    file.write_text(json.dumps({"results": [entry, {"memory": "Has a dog"}]}), encoding="utf-8")
    added = memory(config, "add", "itay", "--file", str(file))
    listed = memory(config, "list", "itay", "--json").json_output["memories"]

    assert added.out == "2 facts added; 2 facts about itay now.\n"
    assert (listed[0]["said_at"], listed[0]["metadata"]) == ("2024-07-20T12:00:00+00:00", {"category": "food"})


def test_a_file_with_a_wrong_entry_adds_nothing(config: str, tmp_path: Path) -> None:
    """Facts of several users are not mixed into the memory of one."""
    wrong, mixed, secret = tmp_path / "wrong.json", tmp_path / "mixed.json", tmp_path / "secret.txt"
    wrong.write_text('["Likes tea", {"memory": ""}]', encoding="utf-8")
    mixed.write_text('[{"memory": "Likes tea", "user_id": "ada"}, {"memory": "Likes figs", "user_id": "noa"}]')
    secret.write_text("Likes tea\n\nAKIA" + "IOSFODNN7EXAMPLE\n", encoding="utf-8")
    results = [memory(config, "add", "itay", "-f", str(file)) for file in (wrong, mixed, secret)]

    assert [done.code for done in results] == [1, 1, 1]
    assert "entry 2 has no text" in results[0].err
    assert "entry 1 is about 'ada', not about 'itay'" in results[1].err
    assert "line 3" in results[2].err
    assert texts(config, "itay") == []


def test_a_file_about_another_user_needs_an_explicit_user(config: str, tmp_path: Path) -> None:
    """The default, the login name, would mix two people up."""
    export = tmp_path / "export.json"
    memory(config, "add", "ada", "Likes tea")
    run_gaia("memory", "export", "--user", "ada", "--output", str(export), "--config", config)
    imported = run_gaia("memory", "import", str(export), "--config", config)

    assert imported.code == 2
    assert "the file is about 'ada': pass --user" in " ".join(imported.err.replace("│", " ").split())
    assert texts(config, getpass.getuser()) == []


def test_adding_nothing_is_a_usage_error(config: str, tmp_path: Path) -> None:
    """Neither an empty input nor a missing file counts as success."""
    assert memory(config, "add", "itay", typed="\n\n").code == 2
    assert memory(config, "add", "itay", "--file", str(tmp_path / "none.txt")).code == 2


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_fact_argument_is_refused_and_nothing_is_stored(config: str, blank: str) -> None:
    """It may be a mistakenly empty shell variable; only lines of a file may be blank."""
    done = memory(config, "add", "itay", "likes tea", blank, "likes cake")

    assert done.code == 2
    assert "a fact is '': pass a sentence" in " ".join(done.err.split())
    assert not gaia_home().exists()


def test_a_fact_that_is_nothing_but_a_credential_is_refused_in_one_line(config: str) -> None:
    """All or none: one refused fact keeps the others out too."""
    done = memory(config, "add", "itay", "likes tea", "AKIA" + "IOSFODNN7EXAMPLE")

    assert done.code == 1
    assert "credential" in done.err
    assert "Traceback" not in done.err
    assert texts(config, "itay") == []


@pytest.mark.acceptance("C19")
def test_forget_asks_first_and_reports_how_much_it_removed(config: str) -> None:
    """Without a yes nothing happens; with `-y` all the user's facts go, from the files too, and no one else's."""
    memory(config, "add", "itay", "likes zebrawood", "likes tea")
    memory(config, "add", "noa", "likes coffee")
    asked = memory(config, "forget", "itay", typed="n\n")

    assert asked.code == 1
    assert "Forget 2 facts about itay" in asked.err
    assert len(texts(config, "itay")) == 2
    assert files_with(b"zebrawood") != []

    done = memory(config, "forget", "itay", "-y", "--json")

    assert done.code == 0
    assert (done.json_output["user"], done.json_output["count"], done.json_output["pending"]) == ("itay", 2, False)
    assert texts(config, "itay") == []
    assert texts(config, "noa") == ["likes coffee"]
    assert files_with(b"zebrawood") == []


def test_only_a_users_own_fact_is_forgotten_by_id(config: str) -> None:
    """Another user's id is treated as unknown."""
    memory(config, "add", "itay", "likes tea", "likes cake")
    fact_id = memory(config, "list", "itay", "--json").json_output["memories"][0]["id"]
    foreign = memory(config, "forget", "noa", "--id", fact_id, "-y")
    own = memory(config, "forget", "itay", "--id", fact_id, "-y")

    assert foreign.code == 1
    assert fact_id in foreign.err
    assert (own.code, own.out.splitlines()[0]) == (0, "Forgot 1 fact about itay.")
    assert texts(config, "itay") == ["likes cake"]


@pytest.mark.acceptance("C19", "I05")
@pytest.mark.parametrize("command", ["list", "add", "search", "profile"])
def test_with_memory_off_commands_say_so_and_exit_with_1(tmp_path: Path, command: str) -> None:
    """The message names the key that enables memory, and the commands that still work; nothing is opened."""
    config = str(write_offline_config(tmp_path, "memory: {enabled: false}"))
    arguments = {"add": ["x"], "search": ["x"]}.get(command, [])
    done = memory(config, command, "itay", *arguments)

    assert done.code == 1
    assert "memory.enabled" in done.err
    assert "gaia memory export" in done.err
    assert "gaia memory forget" in done.err
    assert not gaia_home().exists()


@pytest.mark.parametrize("facts", [(), ("likes rain",)])
def test_a_user_known_under_another_app_is_pointed_out(config: str, facts: tuple[str, ...]) -> None:
    """A list says where else to look if nothing is known here."""
    memory(config, "add", "itay", "--app", "web", "likes tea")
    if facts:
        memory(config, "add", "itay", *facts)
    listed = memory(config, "list", "itay")

    assert ("known under another app: web" in listed.err) == (not facts)
    assert texts(config, "itay") == list(facts)
    assert texts(config, "itay", "--app", "web") == ["likes tea"]
    assert memory(config, "list", "noa").err == ""


@pytest.mark.parametrize("user", ["*", "a b", " itay", "../x", "a:b", "משה"])
def test_every_user_id_has_its_own_memory(config: str, user: str) -> None:
    """No id is trimmed, split or read as a wildcard."""
    memory(config, "add", user, f"is called {user!r}")
    memory(config, "add", "somebody", "likes tea")

    assert texts(config, user) == [f"is called {user!r}"]
    assert texts(config, "somebody") == ["likes tea"]


def test_a_file_that_is_no_database_is_reported(config: str) -> None:
    """The output is an error message, not a traceback."""
    gaia_home().mkdir()
    (gaia_home() / "memory.db").write_bytes(b"no database at all" * 500)
    done = memory(config, "list", "itay")

    assert done.code == 1
    assert "Traceback" not in done.err
    assert f"{gaia_home() / 'memory.db'} is damaged" in done.err
    assert "restore a backup" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("memory", name, "--user", "ada") for name in ("list", "export", "due", "profile", "forget")),
        ("memory", "search", "--user", "ada", "tea"),
        ("memory", "why", "--user", "ada", "3f9a1c"),
        ("memory", "history", "--user", "ada", "3f9a1c"),
        ("people",),
    ],
)
def test_a_home_that_does_not_exist_is_not_made_to_read_it(config: str, arguments: tuple[str, ...]) -> None:
    """Its name may be mistyped."""
    done = run_gaia(*arguments, "--config", config)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"gaia: there is no {gaia_home()}, so nothing is stored yet: check `home` and GAIA_HOME")
    assert not gaia_home().exists()


def test_an_unusable_home_is_reported_with_the_way_to_another(config: str) -> None:
    """The message is about the folder, not about a database file."""
    gaia_home().write_text("a file", encoding="utf-8")
    done = memory(config, "list", "itay")

    assert done.code == 1
    assert f"{gaia_home()} cannot be used" in done.err
    assert "GAIA_HOME" in done.err


@pytest.mark.slow
def test_forget_claims_nothing_about_the_files_of_a_server(tmp_path: Path) -> None:
    """Its rows are gone; the server keeps a log of every write."""
    with chroma_server(tmp_path / "chroma") as where:
        config = str(write_offline_config(tmp_path, f"memory: {{vector_store: {json.dumps(where)}}}"))
        memory(config, "add", "itay", "likes zebrawood")
        done = memory(config, "forget", "itay", "-y")

    assert done.out.splitlines()[0] == "Forgot 1 fact about itay."
    assert "the server cleans its own files" in done.out
    assert "nothing forgotten is left" not in done.out


def test_a_receipt_lists_removals_by_place_and_contains_no_forgotten_word(config: str) -> None:
    """It says what stays."""
    memory(config, "add", "itay", "likes zebrawood", "likes tea")
    run_gaia("chat", "--user", "itay", "--config", config, stdin="My cellar holds zebrawood.\n")
    done = memory(config, "forget", "itay", "-y", "--json")
    kept = done.json_output

    assert done.code == 0
    assert (kept["forgotten"], kept["count"], kept["pending"], kept["files"]) == ("everything", 2, False, "rewritten")
    assert kept["removed"]["facts"] == kept["removed"]["vectors"] == kept["removed"]["sources"] == 2
    assert kept["notes"] == []
    assert "zebrawood" not in done.out


def test_forgetting_a_conversation_leaves_other_facts(config: str, tmp_path: Path) -> None:
    """Facts that another one also taught stay; an unknown conversation is reported; both options are an error."""
    memory(config, "add", "itay", "likes tea")
    run_gaia("chat", "--user", "itay", "--channel", "trip", "--config", config, stdin="My boat is called Zebrawood.\n")
    run_gaia("sweep", "--force", "--config", config)
    taught = texts(config, "itay")
    unknown = memory(config, "forget", "itay", "--session", "itay:nope", "-y")
    both = memory(config, "forget", "itay", "--session", "itay:trip", "--id", "abcdef", "-y")
    done = memory(config, "forget", "itay", "--session", "itay:trip", "-y", "--json")

    assert len(taught) == 2
    assert (unknown.code, both.code, done.code) == (1, 2, 0)
    assert "itay:nope" in unknown.err
    assert (done.json_output["forgotten"], done.json_output["session"], done.json_output["count"]) == (
        "conversation",
        "itay:trip",
        1,
    )
    assert texts(config, "itay") == ["likes tea"]


def test_a_chat_that_forgot_leaves_nothing_in_files_when_it_ends(config: str) -> None:
    """Memory need not be opened again for it."""
    memory(config, "add", "itay", "likes zebrawood")
    run_gaia("chat", "--user", "itay", "--config", config, stdin="/forget\n/forget yes\n")

    assert files_with(b"zebrawood") == []
    assert texts(config, "itay") == []


def test_forgetting_an_unknown_user_is_reported_and_exits_with_1(config: str) -> None:
    """Known under another app, or unknown; a user whose facts are already gone is known."""
    memory(config, "add", "itay", "--app", "web", "likes tea")
    elsewhere, nowhere = memory(config, "forget", "itay", "-y"), memory(config, "forget", "nobody", "-y")
    memory(config, "forget", "itay", "--app", "web", "-y")
    again = memory(config, "forget", "itay", "--app", "web", "-y")

    assert (elsewhere.code, "known under another app: web" in elsewhere.err) == (1, True)
    assert (nowhere.code, nowhere.out, nowhere.err) == (1, "", "gaia: nothing to forget about 'nobody'\n")
    assert (again.code, again.out) == (0, "Forgot 0 facts about itay.\n")


def test_forgetting_what_waits_to_be_learned_says_so(config: str) -> None:
    """The question counts it."""
    run_gaia("chat", "--user", "itay", "--config", config, stdin="I like zebrawood\n")
    asked = memory(config, "forget", "itay", typed="y\n")

    assert "Forget 0 facts and 1 conversation not learned yet about itay?" in asked.out + asked.err
    assert texts(config, "itay") == []


def test_forgetting_a_user_names_the_apps_that_know_them_still(config: str) -> None:
    """Everything of one app is not all; who forgets a single fact asks for no more."""
    memory(config, "add", "itay", "--app", "web", "likes tea")
    memory(config, "add", "itay", "likes coffee", "likes figs")
    fact_id = memory(config, "list", "itay", "--json").json_output["memories"][0]["id"]
    one, everything = memory(config, "forget", "itay", "--id", fact_id, "-y"), memory(config, "forget", "itay", "-y")

    assert "known under another app" not in one.err
    assert "known under another app: web" in everything.err


def test_an_id_may_be_shortened_and_is_checked_before_the_confirmation(config: str) -> None:
    """Any unique beginning is enough, with a # or without; an unknown id leads to no question."""
    memory(config, "add", "itay", *(f"likes tea {number}" for number in range(17)))
    ids = [fact["id"] for fact in memory(config, "list", "itay", "--json").json_output["memories"]]
    first = next(one for one, count in Counter(fact_id[0] for fact_id in ids).items() if count > 1)
    ambiguous, unknown, blank = (
        memory(config, "forget", "itay", "--id", prefix, "-y") for prefix in (first, "nope", "#")
    )
    unique = next(ids[0][:size] for size in range(1, 37) if sum(one.startswith(ids[0][:size]) for one in ids) == 1)
    done = memory(config, "forget", "itay", "--id", f"#{unique.upper()}", "-y")
    named = re.findall(r"[0-9a-f-]{6,}", ambiguous.err.rpartition("(")[2])

    assert (ambiguous.code, unknown.code, blank.code, done.code) == (1, 1, 1, 0)
    assert f"is ambiguous: {named[0]}, {named[1]}" in ambiguous.err
    assert all(any(fact_id.startswith(one) for fact_id in ids if fact_id[0] == first) for one in named)
    assert "Forget" not in unknown.err
    assert "has no fact with the id 'nope'" in unknown.err
    assert len(texts(config, "itay")) == 16


def test_an_unanswered_confirmation_names_the_option_to_skip_it(config: str) -> None:
    """Nothing is forgotten."""
    memory(config, "add", "itay", "likes tea")
    done = memory(config, "forget", "itay", typed="")

    assert done.code == 1
    assert "pass -y" in done.err
    assert texts(config, "itay") == ["likes tea"]


def test_facts_are_added_with_a_category_and_metadata(config: str) -> None:
    """A value has the type that `--where` compares with it; the category has a column of its own in tables."""
    options = (
        "--category",
        "health",
        "--metadata",
        "level=5",
        "-m",
        "sure=true",
        "-m",
        'year="2025"',
        "-m",
        "who= Ann ",
    )
    memory(config, "add", "itay", *options, "Runs in the park")
    memory(config, "add", "itay", "Runs late")
    where = ("--where", "category=health", "--where", "level>=5", "--where", "sure=true", "--where", 'year>"2024"')
    [found] = memory(config, "list", "itay", *where, "--json").json_output["memories"]

    assert (found["text"], found["category"]) == ("Runs in the park", "health")
    assert found["metadata"] == {"level": 5, "sure": True, "year": "2025", "who": "Ann"}
    assert memory(config, "list", "itay").out.splitlines()[0].split() == ["date", "fact", "category", "id"]
    assert "health" in memory(config, "search", "itay", "Who runs in the park?").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metadata", "level"), "pass a name, = and a value"),
        (("--metadata", "=5"), "pass a name, = and a value"),
        (("-m", "a=1", "-m", "a=2"), "names 'a' twice"),
        (("-m", "user_id=noa"), "--metadata names 'user_id'"),
        (("--category", " "), "--category is ' ': pass a visible text"),
    ],
)
def test_invalid_metadata_are_refused(config: str, options: tuple[str, ...], words: str) -> None:
    """Nothing is stored."""
    done = memory(config, "add", "itay", *options, "Runs late")

    assert done.code != 0
    assert words in " ".join(done.err.replace("│", " ").split())
    memory(config, "add", "itay", "Likes tea")
    assert texts(config, "itay") == ["Likes tea"]


@pytest.fixture
def diary(config: str) -> str:
    """Return the configuration of a home with facts said on two days and on an unknown one."""
    first, third = datetime(2026, 2, 1, 12, tzinfo=UTC), datetime(2026, 2, 3, 12, tzinfo=UTC)
    said = [
        NewFact(PARK, said_at=first, metadata={"category": "health", "level": 5}),
        NewFact(BAKERY, said_at=third, metadata={"category": "work", "level": "5"}),
        NewFact(LATE, metadata={"level": 7, "sure": True}),
    ]

    async def tell() -> None:
        async with open_memory(config) as opened:
            await opened.memory.add(opened.scope("itay"), said)

    asyncio.run(tell())
    return config


PARK, BAKERY, LATE = "Runs in the park", "Runs a bakery", "Runs late"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (("--where", "category=health"), [PARK]),
        (("--category", "health"), [PARK]),
        (("--category", "*"), []),
        (("--category", "health", "-w", "level>5"), []),
        (("-w", "category!=health"), [BAKERY, LATE]),
        (("-w", "category=*"), [PARK, BAKERY]),
        (("-w", "category!=*"), [LATE]),
        (("-w", "category~ORK"), [BAKERY]),
        (("-w", "level=5"), [PARK, BAKERY]),
        (("-w", "level>5"), [LATE]),
        (("-w", "level >= 5", "-w", "sure=true"), [LATE]),
        (("-w", "level>=10"), []),
        (("-w", 'level<="50"'), [BAKERY]),
        (("-w", 'level="5"'), [BAKERY]),
        (("-w", "source=add"), [PARK, BAKERY, LATE]),
        (("-w", "said_at=2026-02-03"), [BAKERY]),
        (("-w", "said_at!=2026-02-03", "-w", "said_at<=2026-02-03"), [PARK]),
        (("-w", "said_at>2026-02-01"), [BAKERY, LATE]),
        (("-w", "said_at<2026-02-03"), [PARK]),
        (("--until", "2026-02-03"), [PARK, BAKERY]),
        (("--since", "2026-02-02", "--until", "2026-02-02"), []),
        (("--since", "2026-02-02", "--until", "2026-02-03T23:00"), [BAKERY]),
        (("--since", "2026-02-02"), [BAKERY, LATE]),
    ],
    ids=str,
)
def test_list_and_search_return_only_what_is_asked_for(diary: str, asked: tuple[str, ...], meant: list[str]) -> None:
    """By metadata, source and day; a fact of unknown day counts by the day it was stored."""
    assert texts(diary, "itay", *asked) == meant
    found = memory(diary, "search", "itay", "runs", "--json", *asked).json_output["memories"]
    assert sorted(hit["text"] for hit in found) == sorted(meant)


def test_a_list_is_shown_in_pages(diary: str) -> None:
    """Each page says whether more follow, and how to see them."""
    first = memory(diary, "list", "itay", "--limit", "2")
    rest = memory(diary, "list", "itay", "--limit", "2", "--offset", "2", "--json").json_output

    assert "2 of 3 facts; `--offset 2` shows the next ones." in first.out
    assert ([row["text"] for row in rest["memories"]], rest["total"], rest["has_more"]) == ([LATE], 3, False)
    assert memory(diary, "list", "itay", "-w", "level>100").out == "No fact about itay matches.\n"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("--where", "health"), "'health': pass a name, one of =, !=, <, <=, >, >= and ~, and a value"),
        (("--where", "=health"), "'=health': pass a name"),
        (("--where", "level==5"), "'level==5': pass a name"),
        (("--where", "level>="), "'level>=': pass a name"),
        (("--where", "user_id=noa"), "the scope says whose memory it is"),
        (("--where", "said_at>soon"), "'soon': pass a day or a time"),
        (("--since", "soon"), "'soon': pass a day or a time"),
        (("--until", "9999-12-31"), "'9999-12-31': pass a day"),
        (("--until", ""), "'': pass a day or a time"),
    ],
)
def test_an_invalid_filter_is_a_usage_error(config: str, wrong: tuple[str, ...], words: str) -> None:
    """The message names the option, its value and valid ones."""
    for command, more in (("list", ()), ("search", ("tea",))):
        done = memory(config, command, "itay", *more, *wrong)
        told = " ".join(re.sub("[│╭╰─╮╯]", " ", done.err).split())
        assert (done.code, words in told) == (2, True), told


@pytest.mark.parametrize("app", ["a b", "user", "", "../x"])
def test_an_invalid_app_is_a_usage_error(config: str, app: str) -> None:
    """The same rule applies to `app` in gaia.yaml."""
    assert memory(config, "list", "itay", "--app", app).code == 2


@pytest.mark.parametrize("wrong", [("memory", "list", "--user", ""), ("chat", "--user", ""), ("chat", "--channel", "")])
def test_an_empty_name_is_a_usage_error(config: str, wrong: tuple[str, ...]) -> None:
    """The message says that the name is empty."""
    done = run_gaia(*wrong, "--config", config, stdin="")

    assert (done.code, "is empty" in done.err) == (2, True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_examples_work_in_order(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the help can be pasted, in the order of the commands: list needs facts, so add comes first.

    The last forgets facts that match, and tells that those before it left none.
    """
    monkeypatch.setenv("GAIA_CONFIG", config)
    outputs = []
    for command in ("add", "list", "search", "forget"):
        outputs += [_pasted(example) for example in _examples(command)]

    assert [done.returncode for done in outputs] == [0] * 18 + [1], [done.stderr for done in outputs]
    assert "Allergic to nuts" in outputs[6].stdout
    assert "no fact about 'ada' matches --where" in outputs[18].stderr


def _examples(command: str) -> list[str]:
    epilog = next(info.epilog for info in memory_app.registered_commands if info.name == command)
    shown = re.findall(r"^`([^-`][^`]*?gaia memory [^`]*|gaia memory [^`]*)`", str(epilog), re.MULTILINE)
    return [example.partition(" | jq")[0] for example in shown]


def _pasted(example: str) -> subprocess.CompletedProcess[str]:
    command = example.replace("gaia ", shlex.join(GAIA_COMMAND) + " ")
    return subprocess.run(["sh", "-c", command], input="y\n", capture_output=True, text=True, check=False)


def test_a_blank_question_is_a_usage_error(config: str) -> None:
    """It would otherwise look like a memory without an answer."""
    done = memory(config, "search", "itay", " ")

    assert done.code == 2
    assert "the question is blank" in " ".join(done.err.replace("│", " ").split())


def test_a_key_is_added_filtered_by_changed_and_removed(config: str) -> None:
    """One fact has it; one for several texts is refused."""
    refused = run_gaia("memory", "add", "--user", "ada", "--config", config, "--key", "user/home", "Oslo", "Rome")
    assert (refused.code, "one fact has at a time" in " ".join(refused.err.split())) == (2, True)
    for text in ("Lives in Oslo", "Lives in Rome"):
        memory(config, "add", "ada", "--key", "User/Home", text)
    [fact] = memory(config, "list", "ada", "--where", "key=user/home", "--json").json_output["memories"]
    assert (fact["text"], fact["key"]) == ("Lives in Rome", "user/home")

    keys = [
        memory(config, "edit", "ada", fact["id"][:6], "--key", key, "--json").json_output["key"] for key in ("a/b", "")
    ]
    assert keys == ["a/b", None]


def test_a_fact_is_edited_its_history_is_shown_and_the_edit_is_undone(config: str) -> None:
    """Each with the first six characters of an id, also of a wording that is past."""
    memory(config, "add", "ada", "Lives in Oslo", "Likes tea")
    fact_id = memory(config, "list", "ada", "--json").json_output["memories"][0]["id"][:6]

    edited = memory(config, "edit", "ada", fact_id, "Lives in Bergen", "--category", "home", "-m", "level=5", "--json")
    assert (edited.json_output["text"], edited.json_output["category"]) == ("Lives in Bergen", "home")
    assert edited.json_output["metadata"]["level"] == 5
    edited = memory(config, "edit", "ada", fact_id, "--remove", "level", "--remove", "category", "--json")
    assert (edited.json_output["category"], edited.json_output["metadata"]) == (None, {})

    history = memory(config, "history", "ada", fact_id, "--json").json_output["history"]
    assert [(each["text"], each["why"], each["actor"]) for each in history] == [
        ("Lives in Oslo", "replaced", "host"),
        ("Lives in Bergen", None, None),
    ]
    table = memory(config, "history", "ada", history[0]["id"][:6])
    assert table.out.index("Lives in Oslo") < table.out.index("Lives in Bergen")

    assert "Current again: Lives in Oslo" in memory(config, "undo", "ada", history[0]["id"][:6]).out
    assert sorted(texts(config, "ada")) == ["Likes tea", "Lives in Oslo"]
    assert "Current again: Lives in Bergen" in memory(config, "undo", "ada", fact_id).out

    assert memory(config, "retire", "ada", fact_id, "--why", "A joke").out == "Never true: Lives in Bergen\n"
    assert texts(config, "ada") == ["Likes tea"]
    assert "called never true by an admin or a program: A joke" in memory(config, "history", "ada", fact_id).out


def test_edit_and_undo_say_what_has_changed(config: str) -> None:
    """Without the argument of a function or a whole id; words that stay are not called corrected."""
    memory(config, "add", "ada", "Has a cat called Miso")
    fact_id = memory(config, "list", "ada", "--json").json_output["memories"][0]["id"][:6]

    undone = memory(config, "undo", "ada", fact_id)
    reason = f"{fact_id} has never changed, so there is nothing to undo: Has a cat called Miso"
    assert (undone.code, undone.err) == (1, f"gaia: {reason}\n")
    edited = memory(config, "edit", "ada", fact_id, "--category", "pets")
    assert edited.out == "The details of the fact are changed:\nHas a cat called Miso\n"
    assert memory(config, "edit", "ada", fact_id, "Has a cat").out == "The fact is corrected:\nHas a cat\n"
    shown = memory(config, "history", "ada", fact_id).out
    assert "replaced by an admin or a program" in shown
    for blank in ("", " "):
        refused = memory(config, "edit", "ada", fact_id, blank)
        assert (refused.code, "pass a sentence" in refused.err) == (1, True)


def test_a_fact_that_has_expired_is_added_with_a_note(config: str) -> None:
    """It is in no list, which would look like a loss."""
    done = memory(config, "add", "ada", "Is on holiday", "--valid-until", "2020-01-01")

    assert done.out == "1 fact added (1 not current); 0 facts about ada now.\n"
    assert memory(config, "add", "ada", "Is at home", "--valid-until", "2999-01-01").err == ""


def test_a_day_may_be_named_as_in_a_chat(config: str) -> None:
    """Words that name a past period, and for the end of a fact a coming one."""
    memory(config, "add", "ada", "Likes tea")

    assert texts(config, "ada", "--since", "yesterday") == texts(config, "ada", "--until", "today") == ["Likes tea"]
    assert texts(config, "ada", "--until", "yesterday") == texts(config, "ada", "--since", "tomorrow") == []
    memory(config, "add", "ada", "Has a guest", "--valid-until", "tomorrow")
    assert texts(config, "ada") == ["Likes tea", "Has a guest"]
    refused = memory(config, "list", "ada", "--since", "in a while")
    assert "such as yesterday, 2026-03-01" in " ".join(refused.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("history", "ada", "zzz"), "no fact with the id 'zzz'"),
        (("undo", "ada", "zzz"), "no fact with the id 'zzz'"),
        (("edit", "ada", "zzz", "x"), "no fact with the id 'zzz'"),
        (("edit", "ada", "zzz"), "nothing to change"),
    ],
)
def test_what_cannot_be_edited_or_undone_is_said(config: str, arguments: tuple[str, ...], message: str) -> None:
    """With exit code 1, or 2 for the wrong use."""
    memory(config, "add", "ada", "Likes tea")
    result = memory(config, *arguments)

    assert result.code in (1, 2)
    assert message in " ".join(result.err.split())
