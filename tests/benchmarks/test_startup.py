"""The startup benchmark runs, and what it starts loads nothing unnecessary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import startup


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_benchmark_writes_its_figures_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One round; ratios of medians are checked, not absolute times."""
    out = tmp_path / "startup.json"

    assert startup.main(["--repetitions", "1", "--json", str(out)]) == 0

    rows = {row["name"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}
    assert list(rows) == [case.name for case in startup.CASES]
    assert all(row["ratio"] == pytest.approx(row["ours"] / row["theirs"]) for row in rows.values())
    assert "| gaia --help |" in capsys.readouterr().out
    assert rows["import gaia_memory"]["loaded"] == []
    assert rows["gaia --help"]["loaded"] == []
    assert "google.adk" in rows["open_memory to its first turn"]["loaded"]
    assert rows["a fact, a recall, and the mem0 store in step"]["loaded"] == ["mem0", "chromadb", "sqlalchemy"]


def test_a_failing_program_raises_its_error() -> None:
    """It gives no figure."""
    broken = startup.Case("broken", "nothing", "raise SystemExit('boom')", "")

    with pytest.raises(RuntimeError, match="boom"):
        startup.measure(broken, 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "most"),
    [("from gaia_memory import MemoryPlugin, open_memory", 1.3), ("open_memory to its first turn", 1.8)],
)
def test_starting_takes_little_longer_than_adk_alone(name: str, most: float) -> None:
    """Both sides run by turns, so that other work on the machine meets both."""
    [case] = [case for case in startup.CASES if case.name == name]

    assert startup.measure(case, 7).ratio <= most
