"""`gaia people merge`: asks, moves, counts, and reports errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli.cli_runner import CommandResult, run_gaia, write_offline_config


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return an installation with two known users."""
    path = str(write_offline_config(tmp_path))
    assert run_gaia("memory", "add", "-u", "guest", "-c", path, "Likes tea", "Has a dog").code == 0
    assert run_gaia("memory", "add", "-u", "ada", "-c", path, "likes tea", "Lives in Haifa").code == 0
    return path


def texts(user: str, config: str) -> list[str]:
    listed = run_gaia("memory", "list", "-u", user, "-c", config, "--json")
    return [fact["text"] for fact in listed.json_output["memories"]] if listed.code == 0 else []


def merge(*arguments: str, config: str, typed: str | None = None) -> CommandResult:
    return run_gaia("people", "merge", *arguments, "-c", config, stdin=typed)


def test_merge_asks_with_both_counts_and_does_nothing_without_a_yes(config: str) -> None:
    """The question names both users."""
    done = merge("guest", "ada", config=config, typed="n\n")

    assert done.code == 1
    assert "Move 2 facts of guest to ada, who has 2 facts? This cannot be undone." in done.err
    assert texts("guest", config) == ["Likes tea", "Has a dog"]


def test_merge_without_a_terminal_requires_the_option(config: str) -> None:
    """A script passes -y."""
    done = merge("guest", "ada", config=config, typed="")

    assert (done.code, "nothing was moved: pass -y" in done.err) == (1, True)
    assert texts("guest", config) == ["Likes tea", "Has a dog"]


def test_merge_counts_what_it_moved(config: str) -> None:
    """A second merge finds nothing left."""
    done = merge("guest", "ada", config=config, typed="y\n")

    assert done.code == 0
    assert done.out.endswith("Moved 1 fact of guest to ada.\n1 fact of both is kept once.\n")
    assert sorted(texts("ada", config)) == ["Has a dog", "Lives in Haifa", "likes tea"]
    again = merge("guest", "ada", "--yes", "--json", config=config)
    assert again.json_output == {"from": "guest", "into": "ada", "moved": 0, "joined": 0, "dropped": 0}


@pytest.mark.parametrize(
    ("who", "told"),
    [
        (("eve", "ada"), "nothing is known about 'eve' in the app 'gaia': pass a known user id"),
        (("ada", "eve"), "nothing is known about 'eve' in the app 'gaia'"),
        (("ada", "ada"), "'ada' cannot be merged into itself: pass two different user ids"),
    ],
)
def test_wrong_names_are_rejected(config: str, who: tuple[str, str], told: str) -> None:
    """One message, no traceback, nothing moved."""
    done = merge(*who, "-y", config=config)

    assert (done.code, told in done.err, "Traceback" in done.err) == (1, True, False)
    assert texts("ada", config) == ["likes tea", "Lives in Haifa"]


def test_the_same_name_under_another_app_is_another_user(config: str) -> None:
    """`--app` applies to both names."""
    done = merge("guest", "ada", "-y", "--app", "other", config=config)

    assert (done.code, "nothing is known about 'ada' in the app 'other'" in done.err) == (1, True)


def test_everybody_is_listed_with_counts(config: str) -> None:
    """Who only talked is listed, too, with the conversation that is to be learned."""
    assert run_gaia("chat", "-u", "zoe", "-c", config, stdin="I like figs\n").code == 0
    listed = run_gaia("people", "-c", config)
    data = run_gaia("people", "-c", config, "--json").json_output

    assert [line.split()[:4] for line in listed.out.splitlines()[1:4]] == [
        ["ada", "gaia", "2", "0"],
        ["guest", "gaia", "2", "0"],
        ["zoe", "gaia", "0", "1"],
    ]
    assert listed.out.endswith("3 people.\n")
    assert [(each["user"], each["facts"], each["pending"]) for each in data["people"]] == [
        ("ada", 2, 0),
        ("guest", 2, 0),
        ("zoe", 0, 1),
    ]
    assert (data["total"], data["has_more"]) == (3, False)


def test_the_list_has_pages_and_a_filter_by_app(config: str) -> None:
    """The last line says how to go on."""
    assert run_gaia("memory", "add", "-u", "mia", "--app", "shop", "-c", config, "Likes tea").code == 0
    page = run_gaia("people", "-c", config, "-n", "1", "--offset", "1")
    shop = run_gaia("people", "-c", config, "--app", "shop", "--json").json_output
    nobody = run_gaia("people", "-c", config, "--app", "desk")

    assert page.out.splitlines()[1].split()[0] == "guest"
    assert page.out.endswith("1 of 3 people; `--offset 2` shows the next ones.\n")
    assert [each["user"] for each in shop["people"]] == ["mia"]
    assert run_gaia("memory", "add", "-u", "mia", "-c", config, "Likes tea").code == 0
    assert run_gaia("people", "-c", config).out.endswith("\n4 rows about 3 people.\n")
    assert nobody.out == "Nobody is known in the app desk yet.\n"
