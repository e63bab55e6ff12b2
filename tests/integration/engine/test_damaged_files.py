"""Files that are deleted, replaced, damaged or read-only under an open memory: it says so and accepts no fact."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import Scope
from support.cli.cli_runner import run_gaia

ADA = Scope("gaia", "ada")
PAGE = 4096


async def texts(gaia: Gaia) -> list[str]:
    """Return the texts of all facts."""
    return [fact.text for fact in await gaia.memory.facts(ADA)]


async def test_a_deleted_home_takes_no_fact_and_is_not_created_again(tmp_path: Path) -> None:
    """The open file has no name any more, so what is written to it ends with the process."""
    home = tmp_path / "home"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
        await gaia.memory.settled()
        shutil.rmtree(home)
        with pytest.raises(MemoryUnavailable, match=r"memory\.db was deleted or moved while it was open.*restart"):
            await gaia.memory.remember(ADA, "Likes coffee")
        with pytest.raises(MemoryUnavailable, match="deleted or moved"):
            await gaia.memory.forget(ADA)
        status = await gaia.memory.status(ADA)

        assert (status.state, "was deleted or moved" in status.reason) == ("degraded", True)
        assert "restart" in status.remedy
        assert await texts(gaia) == ["Likes tea"]
        assert not (home / "memory.db").exists()


async def test_a_replaced_file_takes_no_fact_until_memory_is_opened_again(tmp_path: Path) -> None:
    """A stranger puts a copy in its place, as a restore by hand does."""
    home = tmp_path / "home"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
    shutil.copy(home / "memory.db", tmp_path / "copy.db")
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes coffee")
        subprocess.run(["mv", "-f", tmp_path / "copy.db", home / "memory.db"], check=True)
        with pytest.raises(MemoryUnavailable, match="was replaced by another file"):
            await gaia.memory.remember(ADA, "Likes cocoa")

        assert "replaced" in (await gaia.memory.status(ADA)).reason
    for file in home.glob("memory.db-*"):
        file.unlink()
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes milk")

        assert await texts(gaia) == ["Likes tea", "Likes milk"]


async def filled(home: Path) -> None:
    """Write facts that take up many pages."""
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.add(ADA, [NewFact(f"Fact {number} " + "lorem " * 40) for number in range(400)])


def pages_of_facts(path: Path) -> list[int]:
    """Return the pages that hold rows of facts."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT pageno FROM dbstat WHERE name = 'gaia_facts' AND pagetype = 'leaf'")
        return [page for (page,) in rows]


@dataclass(frozen=True)
class Damage:
    """Blank pages of an open file, whose contents are kept."""

    path: Path
    pages: dict[int, bytes]

    def mend(self) -> None:
        """Give the pages back to the same file."""
        for page, content in self.pages.items():
            write_page(self.path, page, content)


def damage_facts(path: Path) -> Damage:
    """Blank some of the pages that hold rows of facts."""
    content = path.read_bytes()
    pages = {page: content[(page - 1) * PAGE : page * PAGE] for page in pages_of_facts(path)[5:8]}
    for page in pages:
        write_page(path, page, bytes(PAGE))
    return Damage(path, pages)


def write_page(path: Path, page: int, content: bytes) -> None:
    """Write one page in place."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(content)


async def test_after_a_read_meets_damage_status_is_degraded_and_nothing_is_written(tmp_path: Path) -> None:
    """Until a check of all pages is clean."""
    await filled(tmp_path)
    damage = damage_facts(tmp_path / "memory.db")
    # A scheduled sweep may read a damaged page after the check.
    settings = {"sessions": {"background_sweep": False}}
    async with open_memory(settings, home=tmp_path, model="offline") as gaia:
        with pytest.raises(MemoryUnavailable, match="is damaged"):
            await gaia.memory.facts(ADA)
        status = await gaia.memory.status(ADA)
        with pytest.raises(MemoryUnavailable, match=r"is damaged.*gaia restore"):
            await gaia.memory.remember(ADA, "Likes coffee")

        assert (status.state, "is damaged" in status.reason) == ("degraded", True)
        assert "gaia restore" in status.remedy
        damage.mend()

        assert (await later_status(gaia)).state == "ok"
        assert await gaia.memory.remember(ADA, "Likes coffee")


async def later_status(gaia: Gaia):
    """Return the status after the interval between two checks."""
    gaia.memory.stores.database._checked_at = float("-inf")
    return await gaia.memory.status(ADA)


@pytest.fixture
def read_only_home(tmp_path: Path) -> Iterator[Path]:
    """Return a home with one fact on a disk that cannot be written; root ignores permissions."""
    home = tmp_path / "home"
    code = (
        "import asyncio, sys; from gaia_memory import open_memory, Scope\n"
        "async def main():\n"
        "    async with open_memory(home=sys.argv[1], model='offline') as gaia:\n"
        "        await gaia.memory.remember(Scope('gaia', 'ada'), 'Likes tea')\n"
        "        await gaia.memory.settled()\n"
        "asyncio.run(main())"
    )
    subprocess.run([sys.executable, "-c", code, str(home)], check=True)
    if os.geteuid() != 0:
        home.chmod(0o500)
        for file in home.iterdir():
            file.chmod(file.stat().st_mode & ~0o222)
        yield home
        home.chmod(0o700)
        return
    subprocess.run(["mount", "--bind", home, home], check=True)
    try:
        if subprocess.run(["mount", "-o", "remount,bind,ro", home], check=False).returncode:
            pytest.skip("this container does not allow a read-only mount")
        yield home
    finally:
        subprocess.run(["umount", "-l", home], check=True)


@pytest.mark.slow
async def test_a_read_only_home_is_recalled_from_and_writes_say_why(read_only_home: Path) -> None:
    """Nothing is learned or followed meanwhile."""
    async with open_memory(home=read_only_home, model="offline") as gaia:
        hits = await gaia.memory.recall(ADA, "tea")
        page = await gaia.memory.browse(ADA)
        with pytest.raises(MemoryUnavailable, match=r"memory\.db is read-only.*writable"):
            await gaia.memory.remember(ADA, "Likes coffee")
        with pytest.raises(MemoryUnavailable, match="read-only"):
            await gaia.memory.forget(ADA)
        status = await gaia.memory.status(ADA)

        assert [hit.fact.text for hit in hits] == [fact.text for fact in page.facts] == ["Likes tea"]
        assert (status.state, status.facts, "read-only" in status.reason) == ("degraded", 1, True)


@pytest.mark.slow
async def test_a_missing_package_of_the_store_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the check of the configuration, the doctor and the status; facts are kept without the store."""
    monkeypatch.setitem(sys.modules, "mem0.vector_stores.qdrant", None)
    config = tmp_path / "gaia.yaml"
    config.write_text("model: offline\nmemory:\n  vector_store: {provider: qdrant}\n")
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    checked = await asyncio.to_thread(run_gaia, "config", "check", str(config))
    examined = await asyncio.to_thread(run_gaia, "doctor", "--no-model", "--config", str(config))

    problem = "memory.vector_store.provider: 'qdrant' needs a package that is not installed"
    assert (checked.code, problem in checked.err) == (1, True)
    assert (examined.code, problem in " ".join(examined.out.split())) == (1, True)
    async with open_memory(config) as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
        gaia.memory.follower.wake()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gaia.memory.settled(), 3)

        assert problem in (await gaia.memory.status(ADA)).reason
