"""`gaia memory export` and `gaia memory import`."""

from __future__ import annotations

import json
import re
import shlex
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.cli.memory import transfer
from support.cli.cli_runner import GAIA_COMMAND, CommandResult, run_gaia, write_offline_config


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return a configuration with two facts about a user in its home."""
    path = str(write_offline_config(tmp_path))
    run_gaia("memory", "add", "--user", "itay", "--config", path, "Allergic to nuts", "Sister is called Noa")
    return path


def memory(
    config: str, command: str, *arguments: str, user: str = "itay", typed: str | bytes | None = None
) -> CommandResult:
    """Run one of the memory commands."""
    return run_gaia("memory", command, "--user", user, "--config", config, *arguments, stdin=typed)


def texts(config: str, user: str = "itay") -> list[str]:
    """Return the texts of a user's facts."""
    return [row["text"] for row in memory(config, "list", "--json", user=user).json_output["memories"]]


def exported(config: str) -> dict[str, Any]:
    """Return the data of an export."""
    return dict(memory(config, "export").json_output)


def words(text: str) -> str:
    """Return the printed text without its frame and line breaks."""
    return " ".join(text.replace("│", " ").split())


def test_an_export_is_complete_and_importing_it_twice_adds_nothing(config: str) -> None:
    """For another user, and for the same one."""
    data = json.dumps(exported(config))
    first = memory(config, "import", "-", user="ada", typed=data)
    second = memory(config, "import", "-", "--json", user="ada", typed=data)

    assert [fact["text"] for fact in json.loads(data)["facts"]] == ["Allergic to nuts", "Sister is called Noa"]
    assert (first.code, first.out) == (0, "2 facts imported; 2 facts about ada now.\n")
    assert "the file is about itay" in first.err
    assert second.json_output == {"user": "ada", "given": 2, "taken": 2, "added": 0, "total": 2}
    assert texts(config, "ada") == texts(config) == ["Allergic to nuts", "Sister is called Noa"]


def test_each_count_says_how_many_facts_are_not_current(config: str, tmp_path: Path) -> None:
    """No list shows them, but they are exported, imported and forgotten."""
    memory(config, "add", "--valid-until", "2021-05-05", "Is in Rome")
    file = str(tmp_path / "itay.json")

    assert memory(config, "export", "--output", file).err == f"3 facts (1 not current) about itay written to {file}\n"
    first, second = (memory(config, "import", file, user="ada").out for _ in range(2))
    assert first == "3 facts imported (1 not current); 2 facts about ada now.\n"
    assert second == "0 facts imported, 3 already known; 2 facts about ada now.\n"
    asked = memory(config, "forget", user="ada", typed="n\n")
    assert "Forget 3 facts about ada?" in asked.out + asked.err
    assert memory(config, "forget", "--yes", user="ada").out.startswith("Forgot 3 facts about ada.\n")


def test_an_export_is_private_and_written_atomically(config: str, tmp_path: Path) -> None:
    """It also replaces a file that others could read; nothing else is left beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "itay.json").write_text("old", encoding="utf-8")
    (folder / "itay.json").chmod(0o644)
    done = memory(config, "export", "--force", "--output", str(folder / "itay.json"))

    assert (done.code, done.out) == (0, "")
    assert "2 facts about itay" in done.err
    assert stat.S_IMODE((folder / "itay.json").stat().st_mode) == 0o600
    assert json.loads((folder / "itay.json").read_text(encoding="utf-8"))["facts"] == exported(config)["facts"]
    assert [path.name for path in folder.iterdir()] == ["itay.json"]
    assert memory(config, "import", str(folder / "itay.json")).code == 0


def test_an_export_replaces_no_file_unless_it_is_told_to(config: str, tmp_path: Path) -> None:
    """The error names the file and the option."""
    file = tmp_path / "thesis.json"
    file.write_text("years of work", encoding="utf-8")
    refused = memory(config, "export", "--output", str(file))

    assert (refused.code, file.read_text(encoding="utf-8")) == (1, "years of work")
    assert refused.err == f"gaia: {file} exists: name another file, or pass --force to replace it\n"


def test_a_file_that_cannot_be_written_is_reported(config: str, tmp_path: Path) -> None:
    """With its name, and without a traceback."""
    done = memory(config, "export", "--output", str(tmp_path / "nowhere" / "itay.json"))

    assert done.code == 1
    assert str(tmp_path / "nowhere") in done.err
    assert "Traceback" not in done.err


def test_no_database_is_overwritten(config: str, tmp_path: Path) -> None:
    """All facts would be lost."""
    [database] = tmp_path.rglob("memory.db")
    done = memory(config, "export", "--force", "-o", str(database))

    assert (done.code, "is a database, which would be lost: name another file" in done.err) == (1, True)
    assert texts(config) == ["Allergic to nuts", "Sister is called Noa"]


def test_with_memory_off_export_works_and_import_does_not(config: str, tmp_path: Path) -> None:
    """Departing users can take their data along; nothing is stored while memory is off."""
    data = json.dumps(exported(config))
    off = str(write_offline_config(tmp_path, "memory: {enabled: false}"))
    done, refused = memory(off, "export"), memory(off, "import", "-", typed=data)

    assert len(done.json_output["facts"]) == 2
    assert (refused.code, "memory is off" in refused.err) == (1, True)


def test_forgotten_facts_are_imported_only_on_request(config: str) -> None:
    """The skipped ones are counted."""
    data = json.dumps(exported(config))
    [fact, *_] = memory(config, "list", "--json").json_output["memories"]
    memory(config, "forget", "--id", fact["id"], "-y")
    kept = memory(config, "import", "-", typed=data)
    restored = memory(config, "import", "-", "--restore-forgotten", typed=data)

    assert (
        kept.out == "0 facts imported, 1 already known, 1 left out (forgotten or duplicate); 1 fact about itay now.\n"
    )
    assert restored.out == "1 fact imported, 1 already known; 2 facts about itay now.\n"


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("no json", 2, "standard input is not JSON: Expecting value: line 1 column 1"),
        ("[1, 2]", 2, "use `gaia memory add --file -`"),
        ("[" * 100_000, 2, "is not JSON"),
        (b"\xff\xfe\x00", 2, "cannot read standard input: byte 3 is not UTF-8"),
        (
            '{"format": "gaia-memory", "version": 1, "scope": {"user": "ada"}, "facts": [{"text": 3}]}',
            1,
            "data['facts'][0]['text']",
        ),
        ('{"format": "other"}', 1, "data['format']"),
        ('{"format": "gaia-memory", "version": 1, "facts": 5}', 1, "data['facts']"),
        (
            '{"format": "gaia-memory", "version": 1, "facts": [{"text": "x"}, {"text": 3}]}',
            1,
            "data['facts'][1]['text']",
        ),
    ],
)
def test_invalid_import_data_is_rejected_with_its_position(
    config: str, typed: str | bytes, code: int, said: str
) -> None:
    """Nothing of it is imported."""
    done = memory(config, "import", "-", typed=typed)

    assert done.code == code
    assert said in words(done.err)
    assert "standard input" in words(done.err)
    assert "the file is about" not in done.err
    assert texts(config) == ["Allergic to nuts", "Sister is called Noa"]


def test_a_missing_file_is_reported(config: str) -> None:
    """By its name."""
    done = memory(config, "import", "nowhere.json")

    assert done.code == 2
    assert "nowhere.json" in words(done.err)


def test_the_export_of_an_unknown_user_is_empty_and_names_other_apps(config: str) -> None:
    """It is still valid data."""
    done = memory(config, "export", "--app", "shop")

    assert (done.code, done.json_output["facts"]) == (0, [])
    assert "Choose it with --app" in done.err


def test_a_large_import_shows_its_progress(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the number of facts; their vectors follow."""
    steps: list[tuple[int, int]] = []

    class Steps:
        def __enter__(self) -> Any:
            return lambda done, total: steps.append((done, total))

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(transfer, "progress_bar", lambda _: Steps())
    facts = [{"text": f"fact number {number}"} for number in range(250)]
    done = memory(config, "import", "-", typed=json.dumps({"format": "gaia-memory", "version": 1, "facts": facts}))

    assert done.out == "250 facts imported; 252 facts about itay now.\n"
    assert steps[-1] == (250, 250)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_examples_work(config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the help can be pasted, in a folder with the two homes and the mem0 store that they name."""
    monkeypatch.setenv("GAIA_CONFIG", config)
    monkeypatch.delenv("GAIA_HOME")
    for name in ("old", "new"):
        (tmp_path / f"{name}.yaml").write_text(f"model: offline\nhome: {name}\n", encoding="utf-8")
    with zipfile.ZipFile(Path(__file__).with_name("mem0_1_0_stores.zip")) as stores:
        stores.extractall(tmp_path, [name for name in stores.namelist() if name.startswith("faiss/")])
    store = {"provider": "faiss", "config": {"collection_name": "mem0", "path": "faiss"}}
    mem0 = {"vector_store": store, "embedder": {"provider": "offline"}}
    (tmp_path / "mem0.yaml").write_text(json.dumps(mem0), encoding="utf-8")
    run_gaia("memory", "add", "--user", "ada", "--config", str(tmp_path / "old.yaml"), "likes tea")
    run_gaia("memory", "add", "--user", "ada", "--config", config, "likes cake")
    examples = re.findall(r"^`(gaia .*?)`", transfer.EXPORT_EXAMPLES + transfer.IMPORT_EXAMPLES, re.MULTILINE)
    for example in examples:
        command = example.partition(" | jq")[0].replace("gaia ", shlex.join(GAIA_COMMAND) + " ")
        subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)

    assert len(examples) == 5
    assert texts(str(tmp_path / "new.yaml"), user="ada") == ["likes tea"]


@pytest.mark.parametrize("content", ['{"results": [{"memory": "Likes tea"}]}', '[{"memory": "Likes tea"}]'])
def test_a_list_of_mem0_is_pointed_to_the_command_that_reads_it(config: str, tmp_path: Path, content: str) -> None:
    """It has no sources, which an export of ours has."""
    file = tmp_path / "all.json"
    file.write_text(content, encoding="utf-8")
    done = run_gaia("memory", "import", "-u", "itay", "-c", config, str(file))
    told = " ".join(done.err.replace("│", " ").split())

    assert (done.code, "gaia memory add --file" in told) == (2, True)
