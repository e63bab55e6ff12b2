"""The scale benchmark runs, and its ratios hold where they do not depend on the load of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scale

SMALL = ["--sizes", "200", "--users", "2", "--one-user", "100", "--stalled-by", "300", "--searches", "20"]
LEAST_WRITTEN = 5.0
"""How many times as many facts a second are written as by mem0, of a hundred: most of that is the transaction."""

MOST_MEMORY = 2.5
"""What the process holds over what mem0's does, nearly empty: ADK and the databases count most there."""


def measured(tmp_path: Path, *options: str) -> dict[str, Any]:
    out = tmp_path / "scale.json"
    assert scale.main([*options, "--json", str(out)]) == 0
    return dict(json.loads(out.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_benchmark_writes_its_figures_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It uses a few facts; even then ours are written many times as fast."""
    found = measured(tmp_path, *SMALL)

    sides = {(each["side"], each["facts"], each["users"]): each for each in found["figures"]}
    assert sorted(sides) == [("gaia", 100, 1), ("gaia", 200, 2), ("mem0", 100, 1), ("mem0", 200, 2)]
    assert all(0 < each["p50"] <= each["p95"] for each in found["figures"])
    ours, theirs = sides["gaia", 100, 1], sides["mem0", 100, 1]
    assert ours["written"] >= LEAST_WRITTEN * theirs["written"]
    assert ours["rss"] <= MOST_MEMORY * theirs["rss"]
    assert [each["while_"] for each in found["stalls"]][1:] == ["300 facts are added", "Chroma is filled beside it"]
    told = capsys.readouterr().out
    assert f"| 100 | 1 | {ours['written']:,.0f} | {theirs['written']:,.0f} |" in told
    assert "| 300 facts are added |" in told


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_search_in_ten_times_as_many_facts_takes_at_most_twice_as_long(tmp_path: Path) -> None:
    """The figure is the 95th percentile of a hundred searches for one user."""
    found = measured(tmp_path, "--sizes", "--one-user", "1000", "10000")

    late = {each["facts"]: each["p95"] for each in found["figures"] if each["side"] == "gaia"}
    assert late[10_000] <= 2 * late[1_000]
