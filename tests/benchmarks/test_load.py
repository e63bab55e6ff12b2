"""The load benchmark runs, and every message is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import load
from benchmarks.load import Figure


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("setting", ["sqlite 1", "postgresql 2"])
def test_no_turn_of_many_at_once_fails(setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With memory; what plain ADK does beside it is only shown."""
    out = tmp_path / "load.json"
    small = ["--settings", setting, "--users", "40", "--turns", "2", "--repetitions", "1"]

    assert load.main([*small, "--json", str(out)]) == 0

    figures = [Figure(**figure) for figure in json.loads(out.read_text(encoding="utf-8"))["figures"]]
    assert [(figure.arm, figure.turns) for figure in figures] == [("plain", 80), ("gaia", 80)]
    assert figures[1].failed == 0
    assert f"| {setting} |" in capsys.readouterr().out
