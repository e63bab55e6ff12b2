"""`gaia memory recover`: facts come back from the mem0 store's copy after the database is lost or damaged."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.models import Scope
from support.cli.cli_runner import run_gaia

ADA, BEN = Scope("gaia", "ada"), Scope(None, "ben:1")
SAID = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home that every command uses, with facts of two people, two of which are forgotten."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))

    async def fill(gaia: Gaia) -> None:
        await gaia.memory.add(
            ADA,
            [
                NewFact("Likes tea", said_at=SAID, session_id="ada:cli", seq=3, category="food", metadata={"mood": 2}),
                NewFact("Likes coffee"),
                *(NewFact(f"Owns book number {number} " + "lorem " * 40) for number in range(300)),
            ],
        )
        await gaia.memory.add(BEN, [NewFact("Owns a boat")])
        coffee = next(fact for fact in await gaia.memory.facts(ADA) if fact.text == "Likes coffee")
        await gaia.memory.forget(ADA, fact_id=coffee.id)
        await gaia.memory.settled()

    using(tmp_path / "home", fill)
    return tmp_path / "home"


def using(home: Path, work: Callable[[Gaia], Awaitable[object]]) -> None:
    """Open memory for some work."""

    async def run() -> None:
        async with open_memory(home=home, model="offline") as gaia:
            await work(gaia)

    asyncio.run(run())


async def check_facts(gaia: Gaia) -> None:
    """Check that every fact is back with its details, and nothing else."""
    facts = await gaia.memory.facts(ADA)
    tea = next(fact for fact in facts if fact.text == "Likes tea")
    assert (tea.said_at, tea.session_id, tea.seq) == (SAID, "ada:cli", 3)
    assert (tea.category, tea.source, dict(tea.metadata)) == ("food", "import", {"mood": 2})
    assert len(facts) == 301
    assert [fact.text for fact in await gaia.memory.facts(BEN)] == ["Owns a boat"]
    await gaia.memory.settled()
    assert (await gaia.memory.status(ADA)).state == "ok"


async def check_forgets(gaia: Gaia) -> None:
    """Check that a forgotten fact does not come back."""
    export = {"format": "gaia-memory", "version": 2, "facts": [{"text": "Likes coffee"}]}
    assert await gaia.memory.import_(ADA, export) == 0


def test_a_deleted_database_is_rebuilt_and_the_copy_deleted(home: Path) -> None:
    """Also after processes have opened an empty one in its place."""
    for file in home.glob("memory.db*"):
        file.unlink()
    using(home, lambda gaia: gaia.memory.settled())
    done = run_gaia("memory", "recover", "--json")

    assert done.code == 0, done.err
    assert {"found": 302, "recovered": 302, "refused": 0, "lost": None}.items() <= done.json_output.items()
    assert "earlier forgets are not known" in done.err
    using(home, check_facts)
    again = run_gaia("memory", "recover")
    assert (again.code, "nothing to recover" in again.err) == (1, True)


def test_a_damaged_database_is_set_aside_and_its_forgets_are_kept(home: Path) -> None:
    """The facts that the damaged file alone knows are counted as lost."""
    path = home / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO gaia_facts"
            " (id, partition, text, normal, words, source, metadata, version, created_at, updated_at)"
            " SELECT 'new', partition, 'Came last', 'n', 0, source, metadata, version, 1, 1 FROM gaia_facts LIMIT 1"
        )
        connection.commit()
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'gaia_facts' AND pagetype = 'leaf'")
        page = pages.fetchall()[-2][0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    done = run_gaia("memory", "recover")

    assert done.code == 0, done.err
    assert "302 of 302 facts recovered" in done.out
    [aside] = home.glob("memory.db.damaged-*")
    assert str(aside) in done.err
    using(home, check_facts)
    using(home, check_forgets)


def test_a_file_that_is_no_database_any_more_is_replaced(home: Path) -> None:
    """Nothing can be read of it, and the command says that forgets are unknown."""
    (home / "memory.db").write_bytes(b"no database " * 1000)
    done = run_gaia("memory", "recover", "--json")

    assert done.code == 0, done.err
    assert (done.json_output["recovered"], done.json_output["knows_forgets"]) == (302, False)
    using(home, check_facts)


def test_without_a_copy_a_damaged_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short commands write none, and the message says so and what is left to do."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    assert run_gaia("memory", "add", "--user", "ada", "Likes tea").code == 0
    (tmp_path / "memory.db").write_bytes(b"no database " * 1000)
    done = run_gaia("memory", "recover")

    assert done.code == 1
    assert "short commands do not" in done.err
    assert f"move {tmp_path / 'memory.db'} away" in done.err
    assert (tmp_path / "memory.db").read_bytes().startswith(b"no database")


def test_a_home_in_order_has_nothing_to_recover(home: Path) -> None:
    """Its store is left alone."""
    done = run_gaia("memory", "recover")

    assert (done.code, "nothing to recover" in done.err) == (1, True)
    using(home, lambda gaia: gaia.memory.settled())
    assert len(run_gaia("memory", "list", "--user", "ada", "--json").json_output["memories"]) == 301
