"""The benchmark of two versions runs, with this one on both sides."""

from __future__ import annotations

import pytest

from benchmarks import two_versions
from support.checkout import PACKAGE


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_version_is_measured_beside_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row has the times of both."""
    assert two_versions.main([str(PACKAGE.parent), "--turns", "5"]) == 0

    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [(int(due), clock.strip()) for due, clock, *_ in rows] == [
        (due, clock) for due in (0, 10) for clock in ("processor", "elapsed")
    ]
    assert all(float(cell.split()[0]) > 0 for row in rows for cell in row[2:4])
