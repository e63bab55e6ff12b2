"""A small life, learned in shuffled order, is known without a mistake; a mistake would be counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import truth


@pytest.mark.parametrize(
    "is_keyed", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["with keys", "without keys"]
)
async def test_nothing_outdated_is_current_and_nothing_is_lost(tmp_path: Path, is_keyed: bool) -> None:
    """By keys and by a model that judges without a mistake, as of each day and as known on each."""
    found = await truth.measure(tmp_path, 60, is_keyed=is_keyed, seed=3)

    assert (found.outdated, found.ended, found.lost, found.differences) == (0, 0, 0, 0)
    assert found.statements == 60


@pytest.mark.slow
async def test_a_model_that_judges_wrongly_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that contradicts nothing leaves outdated facts current."""
    monkeypatch.setattr(truth, "contradicts", lambda text, other: False)
    found = await truth.measure(tmp_path, 60, is_keyed=False, seed=3)

    assert found.outdated > 0
    assert found.differences > 0
