"""`gaia memory search --explain` shows how each score is composed, and which facts were dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli.cli_runner import CommandResult, run_gaia, write_offline_config

ASKED = ("what", "green", "tea", "does", "Noa", "like?")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration without a key, and three facts about a user."""
    path: Path = write_offline_config(tmp_path)
    run_gaia(
        "memory", "add", "-u", "itay", "-c", str(path), "Noa likes green tea", "Noa's dog", "Green hats? Green tea?"
    )
    return path


def search(config: Path, *options: str) -> CommandResult:
    return run_gaia("memory", "search", "-u", "itay", "-c", str(config), "--explain", *options, *ASKED)


def test_each_hit_is_shown_with_the_parts_of_its_score_by_size(config: Path) -> None:
    """They add up to its score; negative ones have a minus sign."""
    shown = search(config).out
    [best] = [line for line in shown.splitlines() if "Noa likes green tea" in line]

    assert float(best.split()[0]) > 0.9
    assert (float(best.split()[1]) > 0.3, best.split()[2]) == (True, "keywords")
    assert "subject" in best
    assert " - 0." in next(line for line in shown.splitlines() if "Green hats?" in line)
    assert "A score from 0 to 1 says how well a fact answers" in shown


def test_the_parts_in_json_add_up_to_the_score(config: Path) -> None:
    """In addition to the output of plain `--json`."""
    found = search(config, "--json").json_output

    assert set(found) == {"user", "query", "memories", "dropped", "limit", "missing", "added", "outdated"}
    assert (found["limit"], found["dropped"], found["missing"], found["added"]) == (5, [], [], [])
    for row in found["memories"]:
        assert sum(row["why"].values()) == pytest.approx(row["score"])
        sizes = [abs(part) for part in row["why"].values()]
        assert sizes == sorted(sizes, reverse=True)
    plain = run_gaia("memory", "search", "-u", "itay", "-c", str(config), "--json", *ASKED).json_output
    assert [row["id"] for row in plain["memories"]] == [row["id"] for row in found["memories"]]
    assert [{*row, "why"} for row in plain["memories"]] == [set(row) for row in found["memories"]]


def test_facts_dropped_by_the_threshold_are_in_json(config: Path) -> None:
    """With their scores."""
    config.write_text(f"{config.read_text()}\nmemory: {{score_threshold: 0.9}}\n")

    dropped = search(config, "--json").json_output["dropped"]
    assert "Green hats? Green tea?" in [each["text"] for each in dropped]


def test_a_failed_reranker_is_named(config: Path) -> None:
    """Without the reranker its part is missing, and the command says so."""
    with config.open("a") as file:
        file.write("\nmemory:\n  embedder: {provider: offline}\n")
        file.write("  reranker: {provider: llm_reranker, llm: {provider: openai}}\n")
    done = search(config)

    assert done.code == 0
    assert "These results are without the reranker, which did not answer" in done.out
    assert "recall goes on without reranker" in done.err
