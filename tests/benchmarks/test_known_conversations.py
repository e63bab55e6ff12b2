"""The sweep benchmark runs, and the cost of a sweep depends on the due conversations only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import known_conversations
from benchmarks.known_conversations import CONVERSATION_COUNTS, DATABASES, Figure, ratios

MOST = 2.0
"""How many times longer a sweep may take with a hundred times as many known; measured is 1 on a machine at rest."""

MOST_OF_A_LOOK = 5.0
"""The same of a look alone, which takes a millisecond: one that read what is known would take a hundred."""


@pytest.mark.slow
def test_the_benchmark_writes_its_figures_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It uses one small mix on SQLite."""
    out = tmp_path / "known.json"
    small = ["--known", "20", "300", "--mixes", "parked", "--databases", "sqlite", "--repetitions", "1"]

    assert known_conversations.main([*small, "--json", str(out)]) == 0

    figures = [Figure(**figure) for figure in json.loads(out.read_text(encoding="utf-8"))["figures"]]
    assert [figure.known for figure in figures] == [20, 300]
    assert set(ratios(figures)) == {("sqlite", "parked")}
    assert "| parked | SQLite |" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", DATABASES)
def test_a_sweep_is_about_as_fast_with_a_hundred_times_as_many_known_conversations(
    tmp_path: Path, database: str
) -> None:
    """This holds for every mix and for a user's status; ratios are taken within one run."""
    out = tmp_path / "known.json"
    sizes = [str(size) for size in CONVERSATION_COUNTS]
    known_conversations.main(["--known", *sizes, "--databases", database, "--json", str(out)])
    figures = [Figure(**figure) for figure in json.loads(out.read_text(encoding="utf-8"))["figures"]]

    for mix, ratio in ratios(figures).items():
        assert ratio["sweep"] <= MOST, mix
        assert ratio["look"] <= MOST_OF_A_LOOK, mix
        assert ratio["status"] <= MOST_OF_A_LOOK, mix
