"""Credentials on the command line: masked, told, and masked where an older release stored them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gaia_memory.adk.memory_service import Mem0MemoryService
from support.cli.cli_runner import gaia_home, run_gaia, write_offline_config

CARD = "4111 1111 1111 1111"
FACTS = [
    {"text": "Likes tea"},
    {"text": "The wifi password is swordfish"},
    {"text": "Likes figs", "metadata": {"pin": 4921}},
    {"text": "AKIA" + "IOSFODNN7EXAMPLE"},
]


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration with keyless defaults."""
    return str(write_offline_config(tmp_path))


def listed(config: str) -> list[str]:
    """Return the texts of ada's facts as the list shows them."""
    done = run_gaia("memory", "list", "--user", "ada", "--config", config, "--json")
    return [row["text"] for row in done.json_output["memories"]]


@pytest.mark.parametrize("command", ["add", "import"])
def test_credentials_of_a_file_are_masked_and_told(config: str, tmp_path: Path, command: str) -> None:
    """The file stays as it is. A fact that is nothing else is refused, or left out with `--skip-refused`."""
    file = tmp_path / "facts.json"
    export = {"format": "gaia-memory", "version": 2, "facts": FACTS}
    file.write_text(json.dumps(FACTS if command == "add" else export), encoding="utf-8")
    words = [
        "memory",
        command,
        "--user",
        "ada",
        "--config",
        config,
        *(["--file"] if command == "add" else []),
        str(file),
    ]

    refused = run_gaia(*words)
    assert refused.code != 0
    assert "credential" in refused.err
    assert listed(config) == []

    skipped = run_gaia(*words, "--skip-refused")
    assert skipped.code == 0, skipped.err
    assert "a password and a code were left out" in skipped.err
    assert "swordfish" not in skipped.err
    assert listed(config) == ["Likes tea", "The wifi password is [redacted: a password]", "Likes figs"]
    assert "swordfish" in file.read_text(encoding="utf-8")

    as_json = run_gaia(*words, "--skip-refused", "--json").json_output
    assert len(as_json["refused"]) == 1


def test_a_stored_credential_is_masked_wherever_it_is_shown(tmp_path: Path) -> None:
    """A card number that was allowed once stands for one that an older release did not recognise."""
    path = write_offline_config(tmp_path, "memory: {allow_numbers: true}")
    options = ("--user", "ada", "--config", str(path))
    assert run_gaia("memory", "add", *options, "--metadata", f"note={CARD}", f"Pays with card {CARD}").code == 0
    assert CARD in run_gaia("memory", "list", *options).out

    with closing(sqlite3.connect(gaia_home() / "memory.db")) as database, database:
        database.execute("UPDATE gaia_fact_sources SET excerpt = ?", (f"Pays with card {CARD}, I do",))
    write_offline_config(tmp_path)
    [row] = run_gaia("memory", "list", *options, "--json").json_output["memories"]
    found = Mem0MemoryService(config=str(path)).search_memory(app_name="gaia", user_id="ada", query="card")
    shown = [
        run_gaia("memory", "list", *options).out,
        json.dumps(row["text"]),
        json.dumps(row["sources"]),
        run_gaia("memory", "why", row["id"], *options).out,
        run_gaia("memory", "why", row["id"], *options, "--json").out,
        run_gaia("memory", "forget", "--id", row["id"], *options, stdin="n\n").err,
        run_gaia("memory", "search", *options, "--explain", "card").out,
        run_gaia("memory", "profile", *options).out,
        run_gaia("memory", "export", *options).out,
        run_gaia("chat", *options, stdin="/memory\n/forget card\n").out,
        str(asyncio.run(found)),
    ]

    for text in shown:
        assert "Pays with card [redacted: an account number]" in text
        assert CARD not in text
