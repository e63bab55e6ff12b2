"""`gaia memory` on a real home."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commandline import Done, gaia, home, offline_config


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for an empty home."""
    return str(offline_config(tmp_path))


def memory(config: str, command: str, user: str, *arguments: str, typed: str | None = None) -> Done:
    """Run one of the memory commands."""
    return gaia("memory", command, "--user", user, "--config", config, *arguments, typed=typed)


def texts(config: str, user: str, *arguments: str) -> list[str]:
    """Return the texts of a person's facts."""
    return [row["text"] for row in memory(config, "list", user, "--json", *arguments).data["memories"]]


def files_with(word: bytes) -> list[str]:
    """Return the files of the home that hold a word."""
    return [str(path) for path in home().rglob("*") if path.is_file() and word in path.read_bytes()]


def test_what_is_added_is_listed_and_found(config: str) -> None:
    """Facts given as arguments are kept word for word, once, and shown with what they are."""
    added = memory(config, "add", "itay", "Allergic to nuts", "Sister is called Noa")
    again = memory(config, "add", "itay", "allergic to  nuts.")
    listed = memory(config, "list", "itay", "--json").data
    found = memory(config, "search", "itay", "sister", "called", "--limit", "1", "--json").data

    assert (added.code, added.out) == (0, "2 facts kept; 2 facts about itay now.\n")
    assert again.out == "1 fact kept (1 of them was known already); 2 facts about itay now.\n"
    assert set(listed) == {"user", "memories"}
    assert listed["user"] == "itay"
    assert [row["text"] for row in listed["memories"]] == ["Allergic to nuts", "Sister is called Noa"]
    assert {row["source"] for row in listed["memories"]} == {"add"}
    assert [row["text"] for row in found["memories"]] == ["Sister is called Noa"]
    assert found["memories"][0]["score"] > 0


def test_tables_show_facts_as_they_are_written(config: str) -> None:
    """Brackets in a fact are its text; nothing is cut where the output is piped."""
    long = "likes [bold]very[/bold] long walks " + "on the beach " * 30
    memory(config, "add", "itay", long.strip())

    assert long.strip() in memory(config, "list", "itay").out
    assert long.strip() in memory(config, "search", "itay", "walks").out


def test_lines_of_a_file_and_of_standard_input_are_facts(config: str, tmp_path: Path) -> None:
    """Blank lines are left out; many facts are kept in one go."""
    file = tmp_path / "facts.txt"
    file.write_text("\n\n".join(f"fact number {number}" for number in range(45)), encoding="utf-8")
    memory(config, "add", "itay", "--file", str(file))
    memory(config, "add", "itay", typed="likes tea\n\nlikes cake\n")

    assert len(texts(config, "itay")) == 47
    assert texts(config, "itay")[-2:] == ["likes tea", "likes cake"]


def test_adding_nothing_is_a_usage_error(config: str, tmp_path: Path) -> None:
    """Neither an empty input nor a file that is not there counts as success."""
    assert memory(config, "add", "itay", typed="\n\n").code == 2
    assert memory(config, "add", "itay", "--file", str(tmp_path / "none.txt")).code == 2


def test_a_credential_is_refused_with_one_line_and_nothing_is_kept(config: str) -> None:
    """All or none: one refused fact keeps the others out too."""
    done = memory(config, "add", "itay", "likes tea", "password: hunter2-correct-horse")

    assert done.code == 1
    assert "credential" in done.err
    assert "Traceback" not in done.err
    assert texts(config, "itay") == []


@pytest.mark.acceptance("C19")
def test_forgetting_asks_first_and_says_how_much_it_removed(config: str) -> None:
    """Without an answer nothing happens; with `-y` everything goes, from the files too, and nobody else's."""
    memory(config, "add", "itay", "likes zebrawood", "likes tea")
    memory(config, "add", "noa", "likes coffee")
    asked = memory(config, "forget", "itay", typed="n\n")

    assert asked.code == 1
    assert "Forget 2 facts about itay" in asked.err
    assert len(texts(config, "itay")) == 2
    assert files_with(b"zebrawood") != []

    done = memory(config, "forget", "itay", "-y", "--json")

    assert done.code == 0
    assert (done.data["user"], done.data["count"], done.data["pending"]) == ("itay", 2, False)
    assert texts(config, "itay") == []
    assert texts(config, "noa") == ["likes coffee"]
    assert files_with(b"zebrawood") == []


def test_one_fact_is_forgotten_by_its_id_and_nobody_elses(config: str) -> None:
    """Another person's id is as unknown as none at all."""
    memory(config, "add", "itay", "likes tea", "likes cake")
    fact_id = memory(config, "list", "itay", "--json").data["memories"][0]["id"]
    foreign = memory(config, "forget", "noa", "--id", fact_id, "-y")
    own = memory(config, "forget", "itay", "--id", fact_id, "-y")

    assert foreign.code == 1
    assert fact_id in foreign.err
    assert (own.code, own.out.splitlines()[0]) == (0, "Forgot 1 fact about itay.")
    assert texts(config, "itay") == ["likes cake"]


@pytest.mark.acceptance("C19", "I05")
@pytest.mark.parametrize("command", ["list", "add", "search", "forget"])
def test_with_memory_off_every_command_says_so_and_leaves_with_1(tmp_path: Path, command: str) -> None:
    """The message names the key that switches it on; nothing is opened."""
    config = str(offline_config(tmp_path, "memory: {enabled: false}"))
    arguments = {"add": ["x"], "search": ["x"], "forget": ["-y"]}.get(command, [])
    done = memory(config, command, "itay", *arguments)

    assert done.code == 1
    assert "memory.enabled" in done.err
    assert not home().exists()


def test_a_person_known_only_under_another_app_is_named_with_it(config: str) -> None:
    """An empty list says where else to look."""
    memory(config, "add", "itay", "--app", "web", "likes tea")
    listed = memory(config, "list", "itay")

    assert "known under another app: web" in listed.err
    assert texts(config, "itay", "--app", "web") == ["likes tea"]
    assert memory(config, "list", "noa").err == ""


@pytest.mark.parametrize("user", ["*", "a b", " itay", "../x", "a:b", "משה"])
def test_any_user_id_has_a_memory_of_its_own(config: str, user: str) -> None:
    """No id is trimmed, split or read as everybody."""
    memory(config, "add", user, f"is called {user!r}")
    memory(config, "add", "somebody", "likes tea")

    assert texts(config, user) == [f"is called {user!r}"]
    assert texts(config, "somebody") == ["likes tea"]


def test_a_broken_configuration_is_explained_in_full(tmp_path: Path) -> None:
    """Every problem is listed, no traceback is shown."""
    config = str(offline_config(tmp_path, "memory: {recall_limit: -1, preload_limit: 0}"))
    done = memory(config, "list", "itay")

    assert done.code == 1
    assert "recall_limit" in done.err
    assert "preload_limit" in done.err
    assert "Traceback" not in done.err


def test_a_home_that_is_no_database_is_explained(config: str) -> None:
    """A file that cannot be opened is an error message and not a traceback."""
    memory(config, "list", "itay")
    (home() / "memory.db").write_bytes(b"no database at all" * 500)
    done = memory(config, "list", "itay")

    assert done.code == 1
    assert "Traceback" not in done.err
