"""The comparison runs, and its table stands in the docs."""

from __future__ import annotations

import pytest

from benchmarks import comparison


@pytest.mark.slow
def test_the_talks_are_asked_of_two_systems(capsys: pytest.CaptureFixture[str]) -> None:
    """The best figure of each row is bold."""
    assert comparison.main(["--no-long", "--systems", "adk-sqlite"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert lines[0] == "| | gaia | ADK SQLite service |"
    assert [line.split("|")[1].strip() for line in lines[2:]] == [f"twenty talks: {name}" for name in comparison.TALKS]
    assert all("**" in line for line in lines[2:])
