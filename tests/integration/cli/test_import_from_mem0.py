"""`gaia memory import --from-mem0`: stores of mem0 2.2, made here by a child process, and of 1.0, which are data."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.cli.cli_runner import gaia_home, run_gaia, run_gaia_process, write_offline_config
from support.cli.docs_pages import run_page
from support.servers.fake_openai import EMBEDDING_MODEL, FakeOpenAI
from support.storage import mem0_store_maker

STORES_OF_1_0 = Path(__file__).with_name("mem0_1_0_stores.zip")
OFFLINE = {"provider": "offline"}
KILLED = """
import os, signal, sys
from gaia_memory.cli import main
from gaia_memory.facts.write_facts import FactWriter
write, calls = FactWriter.write, []
async def write_and_die(*args, **options):
    calls.append(await write(*args, **options))
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return calls[-1]
FactWriter.write = write_and_die
main()
"""
"""Dies in its second transaction, before the commit."""

HOLDER = """
import sys, time
from qdrant_client import QdrantClient
client = QdrantClient(path=sys.argv[1])
print(flush=True)
time.sleep(600)
"""


def made_by_2_2(folder: Path, provider: str, *, more: int = 0) -> Path:
    """Return the folder of a store that plain mem0 has just made."""
    command = [sys.executable, mem0_store_maker.__file__, provider, str(folder / provider), str(more)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return folder / provider


def made_by_1_0(folder: Path, provider: str) -> Path:
    """Return the folder of a store that mem0 1.0 has made."""
    with zipfile.ZipFile(STORES_OF_1_0) as stores:
        stores.extractall(folder, [name for name in stores.namelist() if name.startswith(f"{provider}/")])
    return folder / provider


def mem0_file(folder: Path, provider: str, store: Path, embedder: dict[str, Any], **options: Any) -> Path:
    """Write a configuration of mem0's, which names the store and the embedder."""
    config = {"collection_name": "mem0", "path": str(store), **options}
    file = folder / "mem0.json"
    data = {"vector_store": {"provider": provider, "config": config}, "embedder": embedder, "version": "v1.1"}
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def content(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def move_in(config: str, file: Path, *options: str) -> dict[str, dict[str, int]]:
    """Import a store and return the counts of each user."""
    ran = run_gaia("memory", "import", "--from-mem0", str(file), "--json", "--config", config, *options)
    assert ran.code == 0, ran.err
    assert ran.json_output["left_out"] == {"rows without user_id, agent_id=helper": 1}
    return dict(ran.json_output["users"])


def listed(config: str, user: str) -> dict[str, dict[str, Any]]:
    """Return the facts of a user by their texts."""
    facts = run_gaia("memory", "list", "--json", "--user", user, "--config", config).json_output["memories"]
    return {fact["text"]: fact for fact in facts}


def embedders() -> list[str | None]:
    """Return whose vector each stored fact has."""
    with closing(sqlite3.connect(gaia_home() / "memory.db")) as database:
        return [row[0] for row in database.execute("SELECT embedder FROM gaia_facts WHERE vector IS NOT NULL")]


def check_moved_in(folder: Path, provider: str, store: Path, *, has_vectors: bool = True) -> dict[str, dict[str, Any]]:
    """Move a store in twice, after a dry run; return the facts of Ada. `has_vectors` of our embedder, or of another."""
    config, file = str(write_offline_config(folder)), mem0_file(folder, provider, store, OFFLINE)
    before = content(store)
    counted = move_in(config, file, "--dry-run")
    made_by_dry_run = gaia_home().exists()
    first, second = move_in(config, file), move_in(config, file)

    assert not made_by_dry_run
    assert counted == {"ada": {"rows": 2, "facts": 2}, "ben@example.com": {"rows": 1, "facts": 1}}
    assert first["ada"] == {"rows": 2, "facts": 2, "known": 0, "imported": 2, "with_vector": 2 * has_vectors}
    assert second["ada"] == {"rows": 2, "facts": 2, "known": 2, "imported": 0, "with_vector": 0}
    assert content(store) == before
    assert not list(gaia_home().glob("mem0-copy"))
    assert embedders() == ["offline/use-multilingual-3/512"] * 3
    assert listed(config, "ben@example.com")["Likes tea"]["session_id"] == "r2"
    return listed(config, "ada")


@pytest.mark.acceptance("B03")
@pytest.mark.parametrize("provider", ["qdrant", "chroma", "faiss"])
def test_a_store_of_mem0_moves_in_once_with_ids_times_metadata_and_vectors(provider: str, tmp_path: Path) -> None:
    """A dry run makes nothing, a second run writes nothing, and no file of the store changes."""
    store = made_by_2_2(tmp_path, provider)
    facts = check_moved_in(tmp_path, provider, store)
    home = facts["Lives in Berlin"]

    assert facts.keys() == {"Lives in Berlin", "Is allergic to nuts"}
    assert (home["metadata"]["category"], home["agent"], home["session_id"]) == ("home", "helper", "r1")
    assert facts["Is allergic to nuts"]["metadata"]["level"] == 5
    assert home["category"] == "home"
    # It was said anew by the update, half a second later at most.
    assert datetime.fromisoformat(home["said_at"]) > datetime.fromisoformat(home["created_at"])


@pytest.mark.acceptance("B03")
@pytest.mark.parametrize("provider", ["faiss", "chroma", "qdrant"])
def test_a_store_of_mem0_1_0_moves_in_as_well(provider: str, tmp_path: Path) -> None:
    """FAISS has a list that mem0 2.2 converts as it opens one; Qdrant has no place for keywords."""
    facts = check_moved_in(tmp_path, provider, made_by_1_0(tmp_path, provider), has_vectors=False)
    ids = {"faiss": "059ccb9f", "chroma": "c95af3fb", "qdrant": "a77d1d9b"}

    assert facts["Lives in Berlin"]["id"].startswith(ids[provider])
    assert facts["Lives in Berlin"]["agent"] == "helper"
    assert facts["Is allergic to nuts"]["metadata"]["level"] == 5
    assert facts["Is allergic to nuts"]["created_at"].startswith("2026-11-28T23:53")


@pytest.mark.acceptance("B03")
def test_an_import_that_was_killed_goes_on_and_doubles_nothing(tmp_path: Path) -> None:
    """The batch that was not committed is written by the next run, those before by none."""
    store = made_by_2_2(tmp_path, "faiss", more=250)
    config, file = str(write_offline_config(tmp_path)), mem0_file(tmp_path, "faiss", store, OFFLINE)
    arguments = ["memory", "import", "--from-mem0", str(file), "--config", config, "--user", "cleo"]
    died = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True)
    again = move_in(config, file, "--user", "cleo")

    assert died.returncode == -signal.SIGKILL
    assert again == {"cleo": {"rows": 250, "facts": 250, "known": 100, "imported": 150, "with_vector": 150}}
    assert len(listed(config, "cleo")) == len(embedders()) == 250
    assert move_in(config, file)["cleo"]["known"] == 250


@pytest.mark.acceptance("B03")
def test_no_embedding_is_paid_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of the configured model are taken; after a change of the model the facts are embedded as usual."""
    store = made_by_1_0(tmp_path, "faiss")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with FakeOpenAI() as server:
        embedder = f"{{provider: openai, model: {EMBEDDING_MODEL}, openai_base_url: '{server.url}'}}"
        config = str(write_offline_config(tmp_path, f"memory: {{embedder: {embedder}}}"))
        same = {"provider": "openai", "config": {"model": EMBEDDING_MODEL}}
        taken = move_in(config, mem0_file(tmp_path, "faiss", store, same))
        asked = len(server.requests_of("embedder"))
        other = move_in(config, mem0_file(tmp_path, "faiss", store, OFFLINE), "--app", "other")
        asked_by_other = len(server.requests_of("embedder"))

    assert (taken["ada"]["with_vector"], asked) == (2, 0)
    assert (other["ada"]["with_vector"], other["ada"]["imported"], asked_by_other) == (0, 2, 2)
    assert sorted(map(str, embedders())) == [f"openai/{EMBEDDING_MODEL}/384"] * 3 + [f"openai/{EMBEDDING_MODEL}/96"] * 3


@pytest.mark.acceptance("B03")
def test_what_was_forgotten_stays_forgotten(tmp_path: Path) -> None:
    """Unless it is asked for; a fact that was corrected here keeps its correction."""
    store = made_by_1_0(tmp_path, "faiss")
    config, file = str(write_offline_config(tmp_path)), mem0_file(tmp_path, "faiss", store, OFFLINE)
    move_in(config, file)
    run_gaia(
        "memory", "forget", "--id", listed(config, "ada")["Lives in Berlin"]["id"], "-y", "-u", "ada", "-c", config
    )
    again = move_in(config, file)
    forgotten = listed(config, "ada")

    assert (again["ada"]["known"], again["ada"]["imported"]) == (1, 0)
    assert forgotten.keys() == {"Is allergic to nuts"}
    assert move_in(config, file, "--restore-forgotten")["ada"]["imported"] == 1


@pytest.mark.slow
def test_the_page_works_as_printed(tmp_path: Path) -> None:
    """Without a key the offline embedder makes the vectors anew."""
    reader = tmp_path / "reader"
    reader.mkdir()
    instead = {"/srv/app/chroma": str(made_by_1_0(tmp_path, "chroma"))}
    shown, _ = run_page("how-to/move-from-mem0.md", reader, replacements=instead, environment={})

    assert [each.missing_lines for each in shown] == [[], []]


def refused(folder: Path, *arguments: str) -> str:
    """Return the error of an import that is refused, which makes no memory."""
    ran = run_gaia("memory", "import", *arguments, "--config", str(write_offline_config(folder)))
    assert ran.code != 0
    assert not (gaia_home() / "memory.db").exists()
    return " ".join((ran.out + ran.err).replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "has no `vector_store`"),
        ("a: [", "is neither YAML nor JSON"),
        ("vector_store: chroma", "vector_store: 'chroma' is no such mapping"),
        (
            "vector_store: {provider: chorma}",
            "vector_store.provider: 'chorma' is not a provider; did you mean 'chroma'?",
        ),
        ("vector_store: {provider: chroma, config: {pth: x}}", "vector_store.pth: not a key of the provider 'chroma'"),
        ("vector_store: {provider: milvus}", "vector_store.provider: 'milvus' needs a package"),
        ("vector_store: {provider: chroma, config: {path: nowhere}}", "there is no nowhere/chroma.sqlite3"),
        ("vector_store: {provider: chroma, config: {host: 127.0.0.1, port: 1}}", "the chroma store in 127.0.0.1"),
    ],
)
def test_a_wrong_configuration_is_refused_by_key_and_value(text: str, message: str, tmp_path: Path) -> None:
    """Each message says what to do; nothing is made."""
    file = tmp_path / "mem0.yaml"
    file.write_text(text, encoding="utf-8")

    assert message in refused(tmp_path, "--from-mem0", str(file))


def test_a_store_without_rows_or_in_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a missing collection is made nor a locked folder opened."""
    monkeypatch.chdir(tmp_path)
    store = made_by_1_0(tmp_path, "qdrant")
    before = content(store)
    missing = refused(tmp_path, "--from-mem0", str(mem0_file(tmp_path, "qdrant", store, {}, collection_name="other")))
    nobody = refused(tmp_path, "--from-mem0", str(mem0_file(tmp_path, "qdrant", store, {})), "--user", "eve")
    file = str(mem0_file(tmp_path, "qdrant", store, {}))
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(store)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        locked = run_gaia_process("memory", "import", "--from-mem0", file, "--config", str(tmp_path / "gaia.yaml"))
        holder.kill()

    assert "other not found" in missing
    assert "no row of the store has the user_id 'eve'" in nobody
    assert "already accessed by another instance" in locked.err
    assert "stop the programs that use an embedded store" in locked.err
    assert "Traceback" not in locked.err
    assert content(store) == before
    assert "pass either an export, or --from-mem0" in refused(tmp_path)
