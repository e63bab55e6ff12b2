"""A small life, learned in shuffled order, is known without a mistake; a mistake would be counted."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import truth
from support.oracles.slot_life import Said


@pytest.mark.parametrize("is_keyed", [False, True], ids=["without keys", "with keys"])
async def test_nothing_outdated_is_current_and_nothing_is_lost(tmp_path: Path, is_keyed: bool) -> None:
    """By keys and by a model that judges without a mistake, as of each day and as known on each."""
    found = await truth.measure(tmp_path, 60, is_keyed=is_keyed, seed=3)

    assert (found.outdated, found.ended, found.lost, found.differences) == (0, 0, 0, 0)
    assert found.statements == 60


async def test_a_model_that_judges_wrongly_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that contradicts nothing leaves outdated facts current."""
    monkeypatch.setattr(truth, "contradicts", lambda text, other: False)
    found = await truth.measure(tmp_path, 60, is_keyed=False, seed=3)

    assert found.outdated > 0
    assert found.differences > 0


def test_statements_of_one_slot_contradict_each_other() -> None:
    """Another value, or the denial of the same; nothing else."""
    assert truth.contradicts("Ada books Oslo", "Ada books Rome")
    assert truth.contradicts("Ada no longer books Oslo", "Ada books Oslo")
    assert not truth.contradicts("Ada no longer books Oslo", "Ada books Rome")
    assert not truth.contradicts("Ada books Oslo", "Eve books Rome")
    assert truth.text_of(Said(0.0, "Ada books", "Ada books Oslo", True)) == "Ada no longer books Oslo"


def test_the_plot_is_a_drawing_of_both_runs() -> None:
    """With a line for each, and one for a memory that ends nothing."""
    runs = {
        name: truth.Figures(10, 0, 0, 0, 1, 1, 0, ((50.0, 1.0), (100.0, 0.0)), ((50.0, 3.0), (100.0, 9.0)))
        for name in ("without keys", "with keys")
    }
    lines = ElementTree.fromstring(truth.draw(runs)).iter("{http://www.w3.org/2000/svg}polyline")

    assert len(list(lines)) == 3
