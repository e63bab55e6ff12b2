"""`gaia memory reindex`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gaia_memory.recall.index import rebuild_index as reindexing
from support.cli.cli_runner import gaia_home, run_gaia, write_offline_config
from support.servers.fake_gemini import Failure, FakeGemini, Vectors

TEXTS = [f"Keeps {word} in the cellar" for word in ("saffron", "quinces", "oats", "figs", "salt", "rye", "tea")]
GEMINI = "gemini/models/gemini-embedding-2/768"
OFFLINE = "offline/use-multilingual-3/512"


@pytest.fixture
def offline(tmp_path: Path) -> str:
    """Return a configuration with the offline embedder and facts in its home."""
    path = str(write_offline_config(tmp_path, "memory: {llm: {provider: offline}, embedder: {provider: offline}}"))
    run_gaia("memory", "add", "--user", "itay", "--config", path, *TEXTS)
    return path


@pytest.fixture
def other(tmp_path: Path, offline: str, gemini: FakeGemini) -> str:
    """Return a configuration of the same home with Gemini's embedder."""
    folder = tmp_path / "other"
    folder.mkdir()
    return str(write_offline_config(folder, "memory: {llm: {provider: offline}, embedder: {provider: gemini}}"))


def embedders() -> dict[str | None, int]:
    """Count the facts by the embedder of their vectors."""
    with sqlite3.connect(gaia_home() / "memory.db") as database:
        return dict(database.execute("SELECT embedder, count(*) FROM gaia_facts GROUP BY embedder"))


def test_after_a_change_of_the_embedder_reindex_moves_everything_to_the_new_one(other: str, gemini: FakeGemini) -> None:
    """The next start agrees; a second run sends no requests."""
    done = run_gaia("memory", "reindex", "--config", other)
    asked = [text for request in gemini.requests_of("embedder") for text in request.texts]
    again = run_gaia("memory", "reindex", "--config", other, "--json")
    doctor = run_gaia("doctor", "--config", other, "--json")

    assert (done.code, done.out) == (0, f"0 facts indexed by words; 7 embedded by {GEMINI}.\n")
    assert sorted(asked) == sorted(TEXTS)
    assert embedders() == {GEMINI: 7}
    assert again.json_output == {
        "indexed": 0,
        "embedded": 0,
        "refused": 0,
        "left": 0,
        "embedder": GEMINI,
        "error": None,
    }
    assert "vectors of" not in doctor.out


def test_doctor_recommends_reindex_for_outdated_vectors_or_words(other: str) -> None:
    """Words indexed by an older version, and vectors of the previous embedder."""
    with sqlite3.connect(gaia_home() / "memory.db") as database:
        database.execute("UPDATE gaia_facts SET form = 1 WHERE text LIKE '%figs%'")
    findings = {row["part"]: row for row in run_gaia("doctor", "--config", other, "--json").json_output["findings"]}
    words, vectors = findings["word index"], findings["embedder"]
    run_gaia("memory", "reindex", "--config", other)
    after = run_gaia("doctor", "--config", other, "--json").json_output["findings"]

    assert (words["state"], vectors["state"]) == ("warn", "warn")
    assert "another version indexed 1 fact" in words["says"]
    assert f"most facts carry vectors of {OFFLINE}" in vectors["says"]
    assert all("`gaia memory reindex`" in each["remedy"] for each in (words, vectors))
    assert not [row for row in after if "reindex" in row["remedy"]]


def test_a_search_hints_at_reindex_while_most_facts_have_vectors_of_another_embedder(other: str, offline: str) -> None:
    """Found or not: a meaning in other words is not found by words alone."""
    hint = "Facts that another embedder has embedded were found by their words alone: `gaia memory reindex`."
    found, missed = (
        run_gaia("memory", "search", "--user", "itay", "--config", other, words) for words in ("figs", "spaceship")
    )
    before = run_gaia("memory", "search", "--user", "itay", "--config", offline, "figs")
    run_gaia("memory", "reindex", "--config", other)
    after = run_gaia("memory", "search", "--user", "itay", "--config", other, "figs")

    assert "Keeps figs in the cellar" in found.out
    assert "Keeps" not in missed.out
    assert [hint in each.out for each in (found, missed, before, after)] == [True, True, False, False]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failing_embedder_is_reported_and_the_next_run_continues(
    other: str, gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """The command exits with 1, and finished work stays."""
    monkeypatch.setattr(reindexing, "VECTOR_BATCH_SIZE", 3)
    gemini.add("embedder", *[Vectors(lambda good: good)] * 2, Failure(403))
    gemini.set_default("embedder", Failure(403))
    failed = run_gaia("memory", "reindex", "--config", other, *(["--json"] if as_json else []))
    between = embedders()
    gemini.recover("embedder")
    done = run_gaia("memory", "reindex", "--config", other, "--json")

    assert failed.code == 1
    assert "403" in failed.err
    assert "run `gaia memory reindex` again" in failed.err
    if as_json:
        assert (failed.json_output["embedded"], "403" in failed.json_output["error"]) == (6, True)
    assert between == {GEMINI: 6, OFFLINE: 1}
    assert (done.code, done.json_output["embedded"]) == (0, 1)
    assert embedders() == {GEMINI: 7}


def test_with_auto_reindex_keeps_the_embedder_of_the_stored_vectors(
    offline: str, tmp_path: Path, gemini: FakeGemini
) -> None:
    """An added key alone sends no facts to a provider; the output says how to switch."""
    folder = tmp_path / "auto"
    folder.mkdir()
    auto = str(write_offline_config(folder, "memory: {llm: {provider: offline}}"))
    done = run_gaia("memory", "reindex", "--config", auto)

    assert done.out == f"0 facts indexed by words; 0 embedded by {OFFLINE}.\n"
    assert f"`memory.embedder` is auto, which is {OFFLINE} here" in done.err
    assert gemini.requests_of("embedder") == []


def test_only_what_another_version_indexed_is_indexed_again(offline: str) -> None:
    """With --anew every fact is."""
    with sqlite3.connect(gaia_home() / "memory.db") as database:
        database.execute("UPDATE gaia_facts SET form = 1 WHERE row <= 2")
    some = run_gaia("memory", "reindex", "--config", offline)
    none = run_gaia("memory", "reindex", "--config", offline)
    anew = run_gaia("memory", "reindex", "--config", offline, "--anew")

    indexed = [int(each.out.split()[0]) for each in (some, none, anew)]
    assert indexed == [2, 0, 7]


def test_with_memory_off_reindex_does_nothing(offline: str, tmp_path: Path) -> None:
    """No text is sent to a model."""
    folder = tmp_path / "off"
    folder.mkdir()
    done = run_gaia("memory", "reindex", "--config", str(write_offline_config(folder, "memory: {enabled: false}")))

    assert done.code == 1
    assert "memory is off" in done.err
