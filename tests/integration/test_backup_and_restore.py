"""A backup of a live home, put back: everything is there, and what was forgotten since stays forgotten."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import stat
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

import gaia_memory
from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.backup.restore import RestoreReport
from gaia_memory.config.sources.load import load
from gaia_memory.errors import InvalidInputError, MemoryUnavailable
from gaia_memory.models import Scope
from gaia_memory.testing import ScriptedLlm
from support.cli.cli_runner import run_gaia, run_gaia_process, write_offline_config
from support.plugin_host import build_agent, open_plugin_host

ADA, ADA2, BEN = Scope("gaia", "ada"), Scope("gaia", "ada2"), Scope("gaia", "ben")


async def texts(home: Path, scope: Scope = ADA) -> list[str]:
    """Return the texts of a person's facts, and check that memory is in order."""
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.settled()
        assert (await gaia.memory.status(scope)).state == "ok"
        return [fact.text for fact in await gaia.memory.facts(scope)]


async def restore(*arguments: Any, **options: Any) -> RestoreReport:
    """Restore in a thread, because it blocks."""
    return await asyncio.to_thread(gaia_memory.restore, *arguments, **options)


async def talk(gaia: Gaia, text: str, user: str = "ada") -> None:
    """Send a message in the user's conversation."""
    agent = LlmAgent(name="helper", model=gaia.model, instruction="Help.")
    await gaia.conversation(agent, user_id=user, channel="cli").send(text)


async def test_a_backup_of_a_live_home_is_restored_elsewhere(tmp_path: Path) -> None:
    """With the sessions and the configuration, and readable by its owner alone."""
    home, file, other = tmp_path / "home", tmp_path / "gaia.backup", tmp_path / "other"
    home.mkdir()
    (home / "gaia.yaml").write_text("model: offline\nmemory: {recall_limit: 7}\n")
    steps: list[tuple[int, int]] = []
    async with open_memory(home / "gaia.yaml", home=home) as gaia:
        await gaia.memory.add(ADA, [NewFact(f"Likes tea number {number}") for number in range(50)])
        await talk(gaia, "I live in Haifa")
        writer = asyncio.create_task(gaia.memory.add(BEN, [NewFact(f"Owns boat {n}") for n in range(200)]))
        report = await gaia.memory.backup(file, progress=lambda done, total: steps.append((done, total)))
        await writer

    assert (report.path, report.files) == (file, ("sessions.db", "memory.db", "gaia.yaml"))
    assert (report.bytes, report.conversations) == (file.stat().st_size, 1)
    assert report.facts in (50, 250), "the write of the others is in it as a whole or not at all"
    assert steps[-1][0] == steps[-1][1] > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    restored = await restore(file, home=other)

    assert (restored.facts, restored.forgotten, restored.home) == (report.facts, 0, other)
    assert await texts(other) == [f"Likes tea number {number}" for number in range(50)]
    assert "recall_limit: 7" in (other / "gaia.yaml").read_text()
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in other.iterdir()} == {0}
    async with open_memory(home=other, model="offline") as gaia:
        # What was said and not learned yet is learned there.
        await gaia.sweep(force=True)
        assert any("Haifa" in fact.text for fact in await gaia.memory.facts(ADA))
        assert (await gaia.memory.facts(ADA))[0].source == "add"


async def test_a_restore_elsewhere_leaves_the_sessions_of_the_original_alone(tmp_path: Path, monkeypatch: Any) -> None:
    """The configuration in the backup names their absolute path, and `force` is for the named home."""
    home, file, other = tmp_path / "home", tmp_path / "gaia.backup", tmp_path / "other"
    sessions = tmp_path / "sessions.db"
    home.mkdir()
    (home / "gaia.yaml").write_text(f"model: offline\nsessions: {{database_url: 'sqlite:///{sessions}'}}\n")
    async with open_memory(home / "gaia.yaml", home=home) as gaia:
        await talk(gaia, "I live in Haifa")
        await gaia.memory.backup(file)
        await talk(gaia, "I own a boat", user="ben")
    before = sessions.read_bytes()

    for force in (False, True):
        with pytest.raises(InvalidInputError, match=r"GAIA_SESSIONS__DATABASE_URL=sqlite:///sessions\.db"):
            await restore(file, home=other, force=force)
    monkeypatch.setenv("GAIA_SESSIONS__DATABASE_URL", "sqlite:///sessions.db")
    report = await restore(file, home=other)

    assert sessions.read_bytes() == before
    assert report.conversations == 1
    assert (other / "sessions.db").exists()


@pytest.mark.parametrize("lines", [["home: data"], ["home: {original}  # mine"], []])
def test_restored_settings_lead_to_the_facts_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    """Not to the home of the installation from which the backup comes."""
    original, other = tmp_path / "project" / "data", tmp_path / "other"
    original.parent.mkdir()
    config = write_offline_config(original.parent, *(line.format(original=original) for line in lines))
    if lines:
        monkeypatch.delenv("GAIA_HOME")
    run_gaia("memory", "add", "-u", "ada", "-c", str(config), "Likes tea")
    run_gaia("backup", str(tmp_path / "b"), "-c", str(config))
    monkeypatch.delenv("GAIA_HOME", raising=False)
    restored = run_gaia("restore", str(tmp_path / "b"), "--home", str(other))
    listed = run_gaia("memory", "list", "-u", "ada", "-c", str(other / "gaia.yaml"))

    assert restored.code == 0, restored.err
    assert "Likes tea" in listed.out
    assert load(other / "gaia.yaml").config.home == other


async def test_what_was_forgotten_after_a_backup_stays_forgotten(tmp_path: Path) -> None:
    """Everything of a person, one fact, and the facts of one conversation; also what the sessions still say."""
    home, file = tmp_path / "home", tmp_path / "b"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.add(BEN, [NewFact("Owns a boat")])
        kept, gone = await gaia.memory.add(ADA, [NewFact("Likes tea"), NewFact("Likes coffee")])
        taught = NewFact("Lives in Haifa", session_id="ada:old", seq=1)
        await gaia.memory.add(ADA, [taught])
        await talk(gaia, "I own a kite", user="ben")
        await gaia.memory.backup(file)
        await gaia.memory.forget(BEN)
        await gaia.memory.forget(ADA, fact_id=gone.id)
        await gaia.memory.forget(ADA, session_id="ada:old")
        await gaia.memory.add(ADA, [NewFact("Came after the backup")])
        await gaia.memory.settled()
    with pytest.raises(InvalidInputError, match=r"has data: .*memory\.db.*force=True"):
        await restore(file, home=home)
    report = await restore(file, home=home, force=True)

    assert (report.facts, report.forgotten, report.notes) == (1, 3, ())
    assert await texts(home) == [kept.text]
    assert await texts(home, BEN) == []
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.sweep(force=True)
        assert await gaia.memory.facts(BEN) == [], "the restored session is not learned again"
        await gaia.memory.import_(ADA, export_of("Likes coffee"))
        assert [fact.text for fact in await gaia.memory.facts(ADA)] == [kept.text]
        await gaia.memory.settled()
    words = (b"coffee", b"Haifa", b"boat")
    found = [path.name for path in home.rglob("*") if path.is_file() and any(w in path.read_bytes() for w in words)]
    assert found == []
    # A second restore of the same backup knows the same forgets.
    assert (await restore(file, home=home, force=True)).forgotten == 3
    assert await texts(home) == [kept.text]


async def corrected_then_forgotten(gaia: Gaia, fact_id: str) -> None:
    await gaia.memory.update(ADA, fact_id, text="Has the illness quillon")
    await gaia.memory.forget(ADA, fact_id=fact_id)


async def forgotten_with_copies(gaia: Gaia, fact_id: str) -> None:
    await gaia.memory.forget(ADA, copies=True)


async def merged_then_one_forgotten(gaia: Gaia, fact_id: str) -> None:
    await gaia.memory.merge(ADA, ADA2)
    await gaia.memory.forget(ADA2, fact_id=fact_id)


async def merged_then_all_forgotten(gaia: Gaia, fact_id: str) -> None:
    await gaia.memory.merge(ADA, ADA2)
    await gaia.memory.forget(ADA2)


async def joined_then_forgotten(gaia: Gaia, fact_id: str) -> None:
    same = await gaia.memory.remember(ADA2, "Has the illness zanzibar")
    await gaia.memory.merge(ADA, ADA2)
    await gaia.memory.forget(ADA2, fact_id=same.id)


@pytest.mark.parametrize(
    ("change", "forgotten"),
    [
        (corrected_then_forgotten, 1),
        (forgotten_with_copies, 2),
        (merged_then_one_forgotten, 1),
        (merged_then_all_forgotten, 2),
        (joined_then_forgotten, 1),
    ],
)
async def test_what_was_forgotten_under_another_wording_or_person_stays_forgotten(
    tmp_path: Path, change: Any, forgotten: int
) -> None:
    """A backup has the fact as it was then: in its first wording, of the other id of the person, as Ben's copy."""
    home, file = tmp_path / "home", tmp_path / "gaia.backup"
    async with open_memory(home=home, model="offline") as gaia:
        fact = await gaia.memory.remember(ADA, "Has the illness zanzibar")
        await gaia.memory.remember(ADA2, "Owns a kite")
        await gaia.memory.remember(BEN, "Plays the tuba")
        if change is forgotten_with_copies:
            await gaia.memory.import_(BEN, await gaia.memory.export(ADA))
        await gaia.memory.backup(file)
        await change(gaia, fact.id)
    report = await restore(file, home=home, force=True)

    assert report.forgotten == forgotten
    assert await texts(home, BEN) == ["Plays the tuba"]
    async with open_memory(home=home, model="offline") as gaia:
        for scope in (ADA, ADA2, BEN):
            assert "zanzibar" not in str(await gaia.memory.export(scope))


async def test_a_merge_alone_takes_nothing_from_a_restore(tmp_path: Path) -> None:
    """Both ids have again what they had, a fact that both knew included."""
    home, file = tmp_path / "home", tmp_path / "gaia.backup"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.forget(ADA2)
        for scope in (ADA, ADA2):
            await gaia.memory.remember(scope, "Plays the tuba")
        await gaia.memory.remember(ADA, "Owns a boat")
        await gaia.memory.backup(file)
        await gaia.memory.merge(ADA, ADA2)
    report = await restore(file, home=home, force=True)

    assert report.forgotten == 0
    assert await texts(home) == ["Plays the tuba", "Owns a boat"]
    assert await texts(home, ADA2) == ["Plays the tuba"]


@pytest.mark.slow
async def test_a_restore_counts_what_is_in_the_home_afterwards(tmp_path: Path) -> None:
    """Nobody who is forgotten, and not the facts of an app; what was added since the backup is gone, and it says so."""
    home, file = tmp_path / "home", tmp_path / "b"
    async with open_memory(home=home, model="offline") as gaia:
        [tea] = await gaia.memory.add(ADA, [NewFact("Likes tea")])
        await gaia.memory.add(BEN, [NewFact("Owns a boat"), NewFact("Owns a kite")])
        await gaia.memory.add(Scope.app_wide("gaia"), [NewFact("The office closes at six")])
        saved = await gaia.memory.backup(file)
        await gaia.memory.forget(BEN)
        await gaia.memory.update(ADA, tea.id, text="Likes green tea")
        await gaia.memory.add(ADA, [NewFact("Came after the backup")])
    done = run_gaia_process("restore", str(file), "--home", str(home), "--force")

    assert (saved.facts, saved.people, done.err) == (4, 2, "")
    first, *further = done.out.splitlines()
    assert first.startswith(f"{home}: 2 facts about 1 person, 0 conversations, as of ")
    assert further == [
        "Forgotten since, and still forgotten: 2 facts.",
        "Added since, and not in the backup, so gone: 1 fact.",
    ]


def export_of(text: str) -> dict[str, object]:
    """Return an export with one fact."""
    return {"format": "gaia-memory", "version": 2, "facts": [{"text": text}]}


async def test_without_the_old_home_a_restore_says_that_forgets_are_unknown(tmp_path: Path) -> None:
    """They were in the database that is lost."""
    async with open_memory(home=tmp_path / "home", model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
        await gaia.memory.backup(tmp_path / "b")
    (tmp_path / "home" / "memory.db").write_bytes(b"no database " * 1000)
    report = await restore(tmp_path / "b", home=tmp_path / "home", force=True)

    assert "forget it again" in report.notes[0]
    assert await texts(tmp_path / "home") == ["Likes tea"]


@pytest.mark.slow
async def test_a_home_in_use_is_not_replaced(tmp_path: Path) -> None:
    """By this process or by another one: the database has a lock."""
    home = tmp_path / "home"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
        await gaia.memory.backup(tmp_path / "b")
        await gaia.memory.remember(ADA, "Likes coffee")
        done = await asyncio.to_thread(run_gaia_process, "restore", str(tmp_path / "b"), "--home", str(home), "--force")
        with pytest.raises(MemoryUnavailable, match="is in use"):
            await restore(tmp_path / "b", home=home, force=True)

    assert (done.code, "stop every process" in done.err) == (1, True)
    assert await texts(home) == ["Likes tea", "Likes coffee"]


async def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """An older one is migrated."""
    async with open_memory(home=tmp_path / "home", model="offline") as gaia:
        await gaia.memory.remember(ADA, "Likes tea")
        await gaia.memory.backup(tmp_path / "b")
    with zipfile.ZipFile(tmp_path / "b") as old, zipfile.ZipFile(tmp_path / "newer", "w") as new:
        manifest = json.loads(old.read("manifest.json")) | {"schema": "0999", "gaia_memory": "9.9"}
        new.writestr("manifest.json", json.dumps(manifest))
        new.writestr("memory.db", old.read("memory.db"))
    with pytest.raises(MemoryUnavailable, match=r"schema '0999'.*install the version of gaia-memory that wrote it"):
        await restore(tmp_path / "newer", home=tmp_path / "other")
    assert not (tmp_path / "other" / "memory.db").exists()


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06" + bytes(18)])
def test_another_file_is_no_backup(tmp_path: Path, content: bytes) -> None:
    """The message says which command writes one."""
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(InvalidInputError, match="gaia backup"):
        gaia_memory.restore(tmp_path / "b", home=tmp_path / "home")


async def test_a_truncated_or_changed_backup_replaces_nothing(tmp_path: Path) -> None:
    """The archive has sums, and the pages of its databases are checked."""
    home = tmp_path / "home"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.add(ADA, [NewFact(f"Likes tea number {number}") for number in range(50)])
        await gaia.memory.backup(tmp_path / "b")
        await gaia.memory.remember(ADA, "Likes coffee")
    content = bytearray((tmp_path / "b").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 50] = bytes(50)
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(InvalidInputError, match="is damaged"):
        await restore(tmp_path / "b", home=home, force=True)

    assert len(await texts(home)) == 51
    assert [path.name for path in home.iterdir() if path.name.endswith(".staged")] == []


async def test_a_damaged_database_gives_no_backup(tmp_path: Path) -> None:
    """It would look like a good one until it is needed."""
    home = tmp_path / "home"
    async with open_memory(home=home, model="offline") as gaia:
        await gaia.memory.add(ADA, [NewFact(f"Fact {number} " + "lorem " * 40) for number in range(400)])
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        [page] = connection.execute(
            "SELECT max(pageno) FROM dbstat WHERE name = 'gaia_facts' AND pagetype = 'leaf'"
        ).fetchone()
    with (home / "memory.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    async with open_memory(home=home, model="offline") as gaia:
        with pytest.raises(MemoryUnavailable, match=r"damaged.*restore an earlier backup"):
            await gaia.memory.backup(tmp_path / "b")
    assert not {path.name for path in tmp_path.iterdir()} - {"home", "user"}


@pytest.mark.slow
async def test_a_server_is_backed_up_by_its_own_command(tmp_path: Path) -> None:
    """The error names it, without the password."""
    config = {"home": str(tmp_path), "memory": {"database_url": "postgresql://postgres@127.0.0.1:5432/gaia_none"}}
    (tmp_path / "gaia.yaml").write_text(json.dumps(config))
    done = await asyncio.to_thread(run_gaia_process, "backup", str(tmp_path / "b"), "-c", str(tmp_path / "gaia.yaml"))

    assert done.code == 1
    assert "pg_dump --format=custom --file=gaia.dump postgresql://postgres@127.0.0.1:5432/gaia_none" in done.err


def test_the_commands_print_counts_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gaia backup` refuses to overwrite, `gaia restore` to replace."""
    home, file = tmp_path / "home", tmp_path / "b"
    monkeypatch.setenv("GAIA_HOME", str(home))
    run_gaia("memory", "add", "--user", "ada", "Likes tea")
    made = run_gaia("backup", str(file))
    again = run_gaia("backup", str(file))
    forced = run_gaia("backup", str(file), "--force", "--json")
    refused = run_gaia("restore", str(file))
    restored = run_gaia("restore", str(file), "--force")
    elsewhere = run_gaia("restore", str(file), "--home", str(tmp_path / "other"), "--json")

    assert (made.code, "1 fact about 1 person" in made.out) == (0, True), made.err
    assert (again.code, "--force" in again.err) == (1, True)
    assert {"facts": 1, "people": 1, "path": str(file)}.items() <= forced.json_output.items()
    assert (refused.code, "has data" in refused.err) == (1, True)
    assert (restored.code, "1 fact about 1 person" in restored.out) == (0, True), restored.err
    assert (elsewhere.code, elsewhere.json_output["facts"]) == (0, 1)


@pytest.mark.slow
def test_a_home_that_was_only_looked_at_has_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gaia memory list` creates a database; one from which something was forgotten is kept."""
    file, looked_at, emptied = tmp_path / "b", tmp_path / "looked-at", tmp_path / "emptied"
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    run_gaia("memory", "add", "--user", "ada", "Likes tea")
    run_gaia("backup", str(file))
    monkeypatch.setenv("GAIA_HOME", str(looked_at))
    run_gaia("memory", "list", "--user", "ada")
    restored = run_gaia("restore", str(file), "--home", str(looked_at))
    monkeypatch.setenv("GAIA_HOME", str(emptied))
    run_gaia("memory", "add", "--user", "ada", "Likes tea")
    run_gaia("memory", "forget", "--user", "ada", "--all", "--yes")
    refused = run_gaia("restore", str(file), "--home", str(emptied))

    assert (looked_at / "memory.db").exists()
    assert (restored.code, "1 fact about 1 person" in restored.out) == (0, True), restored.err
    assert (refused.code, "has data" in refused.err) == (1, True)


def test_a_missing_home_has_nothing_to_back_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is created."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "none"))
    done = run_gaia("backup", str(tmp_path / "b"))

    assert (done.code, "nothing to back up" in done.err) == (1, True)
    assert not {path.name for path in tmp_path.iterdir()} - {"user"}


@pytest.mark.slow
async def test_a_backup_names_waiting_conversations_whose_sessions_are_elsewhere(tmp_path: Path) -> None:
    """Those of an own Runner are in its database; those of the home are in the backup."""
    home = tmp_path / "home"
    async with open_plugin_host(tmp_path, build_agent(ScriptedLlm(default="ok")), config={"home": str(home)}) as host:
        for session in ("s 1", "s2"):
            await host.run_turn("I like tea.", session=session)
    async with open_memory(home=home, model="offline") as gaia:
        await talk(gaia, "I own a kite")
        report = await gaia.memory.backup(tmp_path / "b")

    [note] = report.notes
    assert note.startswith("2 conversations wait to be learned in a session database that the backup does not contain")
    assert "`sessions.database_url`" in note
