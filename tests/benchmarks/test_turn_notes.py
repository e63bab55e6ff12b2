"""The benchmark of the notes runs, and they and the tools cost a turn little."""

from __future__ import annotations

import re

import pytest

from benchmarks import turn_notes


@pytest.mark.slow
@pytest.mark.timeout(900)
# google-genai's, where aiohttp is installed.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_notes_and_tools_are_a_small_part_of_a_turn(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured are an eighth of its processor time, 90 % of a prompt that repeat the one before, and short looks."""
    assert turn_notes.main(["--turns", "20", "--people", "100"]) == 0

    table, _, figures = capsys.readouterr().out.partition("\nreusable")
    rows = [row for line in table.splitlines()[2:] if (row := line.split("|")[1:-1])[1].strip() == "processor"]
    shares = [float(share) for share in re.findall(r"([\d.]+)%", figures)]
    looks = [float(look) for look in re.findall(r"([\d.]+) ms", figures)]
    assert [int(row[0]) for row in rows] == [0, 10]
    plain = [float(row[2].split()[0]) for row in rows]
    assert all(float(row[3].split()[0]) <= turn / 3 for row, turn in zip(rows, plain, strict=True))
    assert shares[0] >= 85
    assert shares[1] >= 75
    assert max(looks) <= max(plain)
