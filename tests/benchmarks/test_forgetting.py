"""Forgetting a user is far faster than mem0's own way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import forgetting

LEAST = 50.0
"""How many times as long mem0 takes for 10,000 facts, at least."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_forgetting_ten_thousand_facts_is_fifty_times_as_fast_as_mem0(tmp_path: Path) -> None:
    """Time is measured until nothing shows the facts and the database no longer contains them."""
    out = tmp_path / "forgetting.json"
    forgetting.main(["--others", "1000", "--json", str(out)])

    assert json.loads(out.read_text(encoding="utf-8"))["ratio"] >= LEAST
