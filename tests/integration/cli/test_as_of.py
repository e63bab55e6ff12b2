"""`gaia memory search` and `list` with `--as-of`, and what `--explain` says of outdated facts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.testing import FakeClock
from support.cli.cli_runner import run_gaia, write_offline_config

SAID = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return the configuration of a home in which Ada has moved and a guest has left."""
    path = write_offline_config(tmp_path)

    async def fill() -> None:
        clock = FakeClock(SAID)
        async with open_memory(path, clock=clock) as gaia:
            scope = gaia.scope(user_id="ada")
            guest = NewFact("Has a guest in the flat", said_at=SAID, valid_until=SAID + timedelta(days=3))
            home, _ = await gaia.memory.add(scope, [NewFact("Lives in a flat in Oslo", said_at=SAID), guest])
            clock.advance(timedelta(days=10))
            await gaia.memory.update(scope, home.id, text="Lives in a flat in Rome")

    asyncio.run(fill())
    return path


def test_a_list_as_of_a_day_shows_what_was_true_at_its_end(config: Path) -> None:
    """Also of a day before anything was said, and of today."""
    for day, shown in {
        "2026-03-01": [],
        "2026-03-02": ["Lives in a flat in Oslo", "Has a guest in the flat"],
        "2026-03-07": ["Lives in a flat in Oslo"],
        "2026-03-20": ["Lives in a flat in Rome"],
    }.items():
        done = run_gaia("memory", "list", "-u", "ada", "-c", str(config), "--as-of", day, "--json")
        assert [each["text"] for each in done.json_output["memories"]] == shown
    assert (
        "No fact about ada matches"
        in run_gaia("memory", "list", "-u", "ada", "-c", str(config), "--as-of", "2026-03-01").out
    )


def test_a_search_as_of_a_time_answers_from_the_past(config: Path) -> None:
    """A time is one in the local zone unless it names another."""
    options = "-u", "ada", "-c", str(config)
    done = run_gaia("memory", "search", *options, "--as-of", "2026-03-04T12:00:00+00:00", "--json", "guest")
    assert [each["text"] for each in done.json_output["memories"]] == ["Has a guest in the flat"]
    done = run_gaia("memory", "search", *options, "--as-of", "soon", "guest")
    assert done.code == 2
    assert "'soon': pass a day or a time" in " ".join(done.err.replace("│", " ").split())


def test_an_explained_search_names_what_is_outdated(config: Path) -> None:
    """As JSON; a plain search shows nothing of it."""
    options = "-u", "ada", "-c", str(config), "flat"
    outdated = run_gaia("memory", "search", *options, "--explain", "--json").json_output["outdated"]
    assert {(each["text"], each["reason"], each["ended_at"]) for each in outdated} == {
        ("Lives in a flat in Oslo", "replaced", "2026-03-12T12:00:00+00:00"),
        ("Has a guest in the flat", "expired", "2026-03-05T12:00:00+00:00"),
    }
    plain = run_gaia("memory", "search", *options)
    assert "Rome" in plain.out
    assert "Oslo" not in plain.out


def test_what_is_added_until_a_day_expires_after_it(config: Path) -> None:
    """By the end of the day in the local zone; what is no date is refused."""
    options = "-u", "eve", "-c", str(config)
    for day in ("2026-03-04", "2999-12-31"):
        assert run_gaia("memory", "add", *options, "--valid-until", day, f"Is away until {day}").code == 0
    listed = run_gaia("memory", "list", *options, "--json").json_output["memories"]

    [away] = listed
    assert away["text"] == "Is away until 2999-12-31"
    end = datetime.fromisoformat(away["valid_until"]).astimezone()
    assert (end.year, end.month, end.day, end.hour) == (3000, 1, 1, 0)
    done = run_gaia("memory", "add", *options, "--valid-until", "soon", "Is away")
    assert done.code == 2
    assert "'soon': pass a day or a time" in " ".join(done.err.replace("│", " ").split())
